# SPDX-License-Identifier: MIT
# Makes the one file and compiles a program with it and nothing else.
set(folder "${scratch}/one_file")
file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
execute_process(COMMAND "${released}/cmake/amalgamation/one_file.sh" OUTPUT_FILE "${folder}/cordage_kernels.hpp"
  COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS "${folder}/cordage_kernels.hpp" title LIMIT_COUNT 1)
string(REGEX REPLACE "^.*/cordage-" "// cordage " wanted "${released}")
if(NOT title MATCHES "^${wanted},")
  message(FATAL_ERROR "the one file begins with '${title}', must begin with '${wanted},'")
endif()
execute_process(COMMAND "${compiler}" -std=c++20 -DCORDAGE_ONE_FILE -I "${folder}"
  "${CMAKE_CURRENT_LIST_DIR}/programs/rotate.cpp" -o "${folder}/app" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${folder}/app" COMMAND_ERROR_IS_FATAL ANY)
