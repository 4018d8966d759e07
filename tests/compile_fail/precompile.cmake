# SPDX-License-Identifier: MIT
# Compiles `headers` into the .gch that g++ and clang++ take in their place where they are included first.
list(TRANSFORM include PREPEND -I)
execute_process(COMMAND "${compiler}" -std=c++20 ${include} -x c++-header "${headers}" -o "${headers}.gch"
  COMMAND_ERROR_IS_FATAL ANY)
