# SPDX-License-Identifier: MIT
# CORDAGE_NVCC, and whether it is there and new enough: has_nvcc.
if(CORDAGE_NVCC AND NOT EXISTS "${CORDAGE_NVCC}")  # it was removed
  unset(CORDAGE_NVCC CACHE)
endif()
find_program(CORDAGE_NVCC NAMES ${CMAKE_CUDA_COMPILER} nvcc PATHS /usr/local/cuda/bin)
mark_as_advanced(CORDAGE_NVCC)
set(has_nvcc FALSE)
if(CORDAGE_NVCC)
  execute_process(COMMAND "${CORDAGE_NVCC}" --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
  if(nvcc_version MATCHES "release ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12)
    set(has_nvcc TRUE)
  endif()
endif()
