# SPDX-License-Identifier: MIT
# A program that makes an error aborts, prints the library's message and nothing after it.
execute_process(COMMAND "${program}" error OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE result)
set(expected "cordage: rotate_forward: x [1, 5, -2, 24] must be [batch, tokens, heads, head_dim] with head_dim >= 2 and no negative size\n")
if(NOT errors STREQUAL expected OR NOT output STREQUAL "" OR NOT result MATCHES "[Aa]bort")
  message(FATAL_ERROR "result: ${result}\nexpected: ${expected}errors: ${errors}output: ${output}")
endif()
