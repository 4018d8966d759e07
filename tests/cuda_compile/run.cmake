# SPDX-License-Identifier: MIT
# Compiles a program, `unit` or else on_device.cu, and runs it.
if(NOT unit)
  set(unit "${source}/on_device.cu")
endif()
cmake_path(GET unit STEM name)
execute_process(COMMAND "${nvcc}" -std=c++20 --Werror all-warnings "-arch=sm_${arch}" "-I${include}"
  "${unit}" -o "${output_dir}/${name}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${output_dir}/${name}" COMMAND_ERROR_IS_FATAL ANY)
