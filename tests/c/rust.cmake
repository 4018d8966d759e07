# SPDX-License-Identifier: MIT
# Compiles a program of Rust's with the library in `folder`, and runs it.
if(NOT rustc)
  message(STATUS "skipped: there is no rustc (Debian: rustc)")
  return()
endif()
cmake_path(REPLACE_EXTENSION source LAST_ONLY out OUTPUT_VARIABLE program)
execute_process(COMMAND "${rustc}" --edition 2021 -D warnings -L "${folder}" -C "link-arg=-Wl,-rpath,${folder}"
  -o "${program}" "${source}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${program}" COMMAND_ERROR_IS_FATAL ANY)
