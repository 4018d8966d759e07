#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints cordage as one file that needs a compiler and nothing else: all that cordage.hpp has but for CLEX's ODE, whose
# matrices are Eigen's, of which NVRTC compiles the register layer; or, with --registers, the register layer alone,
# without comments.
#   cmake/amalgamation/one_file.sh > cordage_kernels.hpp
set -eu
cd "$(dirname "$0")/../.."
if [ "${1-}" = --registers ]; then
    set -- cordage/pair/phase.hpp cordage/pair/cos_sin.hpp cordage/pair/rotate.hpp
    bare=1
else
    # shellcheck disable=SC2046 # one word a header
    set -- $(cd include && echo cordage/pair/*.hpp cordage/core/pairing.hpp cordage/basis/basis_view.hpp) --host $(sed -n 's|^#include "\(cordage/[^"]*\)".*|\1|p' include/cordage/cordage.hpp | grep -v '^cordage/\(clex\|ode\)/')
    bare=0
fi
version=$(sed -n 's/^#define CORDAGE_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/cordage/version.hpp | paste -s -d .)
awk -v root=include -v "version=$version" -v license=LICENSE -v standard=cmake/amalgamation/standard.hpp \
    -v vectors=cmake/amalgamation/vectors.hpp -v bare="$bare" -f cmake/amalgamation/amalgamate.awk "$@"
