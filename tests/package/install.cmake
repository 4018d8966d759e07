# SPDX-License-Identifier: MIT
# Installs cordage, and moves what was installed to where the consumers look for it.
file(REMOVE_RECURSE "${scratch}/build" "${scratch}/installed" "${scratch}/prefix")
execute_process(COMMAND ${CMAKE_COMMAND} -S "${released}" -B "${scratch}/build" -G "${generator}"
  "-DCMAKE_CXX_COMPILER=${compiler}" -DCORDAGE_BUILD_TESTS=OFF -DCORDAGE_BUILD_BENCHMARKS=OFF
  -DCORDAGE_BUILD_EXAMPLES=OFF COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --install "${scratch}/build" --prefix "${scratch}/installed"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${scratch}/installed" "${scratch}/prefix")
