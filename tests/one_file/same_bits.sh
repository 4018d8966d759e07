#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles a program with the one file and with the headers by the same flags: the first reads no file but the one, its
# own and the compiler's, and both print the same.
#   same_bits.sh PROGRAM.cpp FOLDER_OF_THE_ONE_FILE FOLDER_OF_THE_HEADERS FOLDER_OF_XSIMD SCRATCH COMPILER FLAGS...
set -eu
program=$1 one_file=$2 headers=$3 xsimd=$4 scratch=$5
shift 5
mkdir -p "$scratch"
"$@" -std=c++20 -DCORDAGE_ONE_FILE -I "$one_file" -MD -MF "$scratch/read.d" "$program" -o "$scratch/one_file"
# Headers of libraries end in .hpp or have no ending and lie in a folder of their own; those of compilers do not.
others=$(tr -s ' \\' '\n\n' <"$scratch/read.d" | grep -E '\.hpp$|/(xsimd|eigen3?|Eigen|nlohmann|cordage)/' |
    grep -v -x -F "$one_file/cordage_kernels.hpp" | grep -v -x -F "$program" || true)
if [ -n "$others" ] || ! grep -q -F "$one_file/cordage_kernels.hpp" "$scratch/read.d"; then
    printf 'must read %s/cordage_kernels.hpp and no other header of a library, but read:\n%s\n' "$one_file" "$others"
    exit 1
fi
"$@" -std=c++20 -I "$headers" -idirafter "$xsimd" "$program" -o "$scratch/headers"
"$scratch/one_file" >"$scratch/one_file.txt"
"$scratch/headers" >"$scratch/headers.txt"
grep -q 'rebase double' "$scratch/headers.txt"
diff "$scratch/headers.txt" "$scratch/one_file.txt"
