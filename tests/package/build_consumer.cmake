# SPDX-License-Identifier: MIT
# Builds and runs consumer/ in an empty folder, with cordage found the given way.
file(REMOVE_RECURSE "${scratch}")
set(options -G Ninja "-DCMAKE_CXX_COMPILER=${compiler}" "-DCORDAGE_EXPECTED_VERSION=${version}")
if(way STREQUAL "find_package")
  execute_process(COMMAND ${CMAKE_COMMAND} --install "${cordage_binary}" --prefix "${scratch}/prefix"
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND options "-DCMAKE_PREFIX_PATH=${scratch}/prefix")
else()
  list(APPEND options "-DCORDAGE_SOURCE_DIR=${cordage_source}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${scratch}/build" ${options}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build "${scratch}/build" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${scratch}/build/consumer" COMMAND_ERROR_IS_FATAL ANY)
