# SPDX-License-Identifier: MIT
# Compiles kernels.cu for `arch` by clang's CUDA, the host's side and the device's, with warnings as errors. Two are left
# out: that clang 19 does not know this CUDA, and not its __grid_constant__, which is why it keeps arguments on a stack.
cmake_path(GET nvcc PARENT_PATH bin)
file(REAL_PATH "${bin}/.." cuda)
set(compile "${clang}" -std=c++20 -x cuda "--cuda-path=${cuda}" "--cuda-gpu-arch=sm_${arch}" -Wall -Wextra -Wshadow -Werror
  -Wno-unknown-cuda-version -Wno-unknown-attributes -isystem "${source}/clang" "-I${include}" "${source}/kernels.cu")
set(result "${output_dir}/clang_sm_${arch}")
execute_process(COMMAND ${compile} --cuda-host-only -fsyntax-only COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${compile} --cuda-device-only -O1 -S -o "${result}.ptx" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${bin}/ptxas" "-arch=sm_${arch}" "${result}.ptx" -o "${result}.cubin" COMMAND_ERROR_IS_FATAL ANY)
