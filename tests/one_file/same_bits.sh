#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles a program with the one file and with the headers by the same flags: the first, without a warning, reads no file
# but the one, its own and the compiler's, and both print the same.
#   same_bits.sh PROGRAM.cpp FOLDER_OF_THE_ONE_FILE FOLDER_OF_THE_HEADERS FOLDER_OF_XSIMD SCRATCH COMPILER FLAGS...
set -eu
program=$1 one_file=$2 headers=$3 xsimd=$4 scratch=$5
shift 5
# In a folder of its own and by relative paths, so that the names of what it reads do not depend on where this lies.
mkdir -p "$scratch/alone"
cp "$program" "$scratch/alone/program.cpp"
cp "$one_file/cordage_kernels.hpp" "$scratch/alone"
(cd "$scratch/alone" &&
    "$@" -std=c++20 -Wall -Wextra -Werror -DCORDAGE_ONE_FILE -I . -MD -MT read -MF read.d program.cpp -o ../one_file)
# Headers of libraries end in .hpp, but for Eigen's; those of compilers do not.
others=$(tr -s ' \\' '\n\n' <"$scratch/alone/read.d" | grep -E '\.hpp$|/Eigen/([A-Za-z]+|src/.*)$' |
    grep -v -x 'cordage_kernels\.hpp\|\./cordage_kernels\.hpp' || true)
if [ -n "$others" ] || ! grep -q -F cordage_kernels.hpp "$scratch/alone/read.d"; then
    printf 'must read cordage_kernels.hpp and no other header of a library, but read:\n%s\n' "$others"
    exit 1
fi
"$@" -std=c++20 -I "$headers" -idirafter "$xsimd" "$program" -o "$scratch/headers"
"$scratch/one_file" >"$scratch/one_file.txt"
"$scratch/headers" >"$scratch/headers.txt"
grep -q 'rebase double' "$scratch/headers.txt"
diff "$scratch/headers.txt" "$scratch/one_file.txt"
