# SPDX-License-Identifier: MIT
# Compiles each of `sources` without CORDAGE_COMPILE_FAIL.
list(TRANSFORM include PREPEND -I)
foreach(source IN LISTS sources)
  execute_process(COMMAND "${compiler}" -std=c++20 ${include} -include "${headers}" -fsyntax-only "${source}"
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
