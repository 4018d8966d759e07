#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# no_eigen.sh COMPILER [FLAGS]: kernels.hpp includes no file of Eigen, although Eigen can be found.
set -euo pipefail
includes_eigen() { grep '/Eigen/' <<<"$1"; }

eigen=$("$@" -M - <<<'#include <Eigen/Core>')
includes_eigen "$eigen" >/dev/null || { echo "Eigen is not in reach, so that nothing is shown"; exit 1; }
kernels=$("$@" -M - <<<'#include <cordage/kernels.hpp>')
[[ $kernels == *cordage/rotate/forward.hpp* ]] || { echo "no list of files: $kernels"; exit 1; }
! includes_eigen "$kernels"
