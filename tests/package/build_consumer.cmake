# SPDX-License-Identifier: MIT
# Configures the project in the folder `way`, builds it and runs its program, if it has one.
set(build "${scratch}/${way}")
file(REMOVE_RECURSE "${build}")
execute_process(COMMAND ${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/${way}" -B "${build}" -G "${generator}"
  "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_PREFIX_PATH=${scratch}/prefix" "-Dcordage_folder=${released}" "-Dcordage_archive=${archive}"
  -DCMAKE_CUDA_ARCHITECTURES=80 COMMAND_ERROR_IS_FATAL ANY)
if(NOT way STREQUAL "refusals")
  execute_process(COMMAND ${CMAKE_COMMAND} --build "${build}" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${build}/app" COMMAND_ERROR_IS_FATAL ANY)
endif()
