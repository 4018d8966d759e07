# SPDX-License-Identifier: MIT
# Compiles `source` with CORDAGE_COMPILE_FAIL, and searches the output for the expected texts.
set(ENV{LC_ALL} C)  # plain quotes in messages
list(TRANSFORM include PREPEND -I)
execute_process(
  COMMAND "${compiler}" -std=c++20 ${include} -include "${headers}" -fsyntax-only -DCORDAGE_COMPILE_FAIL "${source}"
  RESULT_VARIABLE result ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "must not compile with CORDAGE_COMPILE_FAIL")
endif()

file(STRINGS "${source}" expectations REGEX "^// expected: ")
if(NOT expectations)
  message(FATAL_ERROR "${source}: no line '// expected: TEXT'")
endif()
foreach(expectation IN LISTS expectations)
  string(REPLACE "// expected: " "" text "${expectation}")
  string(FIND "${output}" "${text}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "the compiler does not say '${text}' but:\n${output}")
  endif()
endforeach()
