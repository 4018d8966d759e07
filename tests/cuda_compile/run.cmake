# SPDX-License-Identifier: MIT
# Compiles a program, `unit` or else on_device.cu, and runs it.
if(NOT unit)
  set(unit "${source}/on_device.cu")
endif()
# For the device, if there is one: code for older ones does not overlap.
if(nvidia_smi)
  execute_process(COMMAND "${nvidia_smi}" --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE capability ERROR_QUIET)
  if(capability MATCHES "^([0-9]+)\\.([0-9])")
    set(arch "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
  endif()
endif()
cmake_path(GET unit STEM name)
execute_process(COMMAND "${nvcc}" -std=c++20 --Werror all-warnings "-arch=sm_${arch}" "-I${include}"
  "${unit}" -o "${output_dir}/${name}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${output_dir}/${name}" COMMAND_ERROR_IS_FATAL ANY)
