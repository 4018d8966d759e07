# SPDX-License-Identifier: MIT
# Compiles on_device.cu and runs it.
execute_process(COMMAND "${nvcc}" -std=c++20 --Werror all-warnings "-arch=sm_${arch}" "-I${include}"
  "${source}/on_device.cu" -o "${output_dir}/on_device" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${output_dir}/on_device" COMMAND_ERROR_IS_FATAL ANY)
