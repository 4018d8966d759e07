#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# no_eigen.sh COMPILER [FLAGS]: kernels.hpp includes no file of Eigen, although Eigen can be found. By the macros that are
# defined behind it and not by the files' names, which say where this repository lies.
set -euo pipefail
eigen=$("$@" -E -dM - <<<'#include <Eigen/Core>')
[[ $eigen == *'#define EIGEN_'* ]] || { echo "Eigen is not in reach, so that nothing is shown"; exit 1; }
kernels=$("$@" -E -dM - <<<'#include <cordage/kernels.hpp>')
[[ $kernels == *'#define CORDAGE_'* ]] || { echo "no macros of cordage: $kernels"; exit 1; }
! grep '#define EIGEN_' <<<"$kernels"
