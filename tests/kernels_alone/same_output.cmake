# SPDX-License-Identifier: MIT
# Two programs print the same, and something.
foreach(name expected program)
  execute_process(COMMAND "${${name}}" OUTPUT_VARIABLE ${name}_output COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT expected_output MATCHES "forward.*backward.*inv_freq" OR NOT program_output STREQUAL expected_output)
  message(FATAL_ERROR "expected:\n${expected_output}\nprinted:\n${program_output}")
endif()
