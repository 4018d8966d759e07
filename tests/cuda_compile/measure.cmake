# SPDX-License-Identifier: MIT
# Compiles measured_kernels.cu for compute capability 9.0 and lists registers and code size; fails if a kernel exceeds
# its bound or spills.
set(result "${output_dir}/measured_kernels")
execute_process(COMMAND "${nvcc}" -std=c++20 --Werror all-warnings -arch=sm_90 "-I${include}" -cubin -o "${result}.cubin"
  -Xptxas -v,-warn-spills,-warn-lmem-usage "${source}/measured_kernels.cu"
  OUTPUT_FILE "${result}.log" ERROR_FILE "${result}.log" RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  file(READ "${result}.log" log)
  message(FATAL_ERROR "${log}")
endif()
execute_process(COMMAND python3 "${source}/kernel_table.py" "${result}.log" "${result}.cubin" COMMAND_ERROR_IS_FATAL ANY)
