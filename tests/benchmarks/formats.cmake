# SPDX-License-Identifier: MIT
# Runs `program`, whose benchmarks have different counters, and reads its CSV (as output, as a file, and as the environment
# asks) and its JSON: every benchmark is there, with its own counters in their columns.
function(run)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env ${environment} "${program}" ${ARGN}
    OUTPUT_VARIABLE output ERROR_QUIET RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${program} ${ARGN} ended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(check_csv text)
  set(expected
    ",\"bytes/s\",\"common\",\"evaluations\""  # the header's last columns
    "\"first/[^\n]*,2.5,1,\n"
    "\"second/[^\n]*,,1,7\n"
    "\"third/[^\n]*,4.5,1,\n")
  foreach(line IN LISTS expected)
    if(NOT text MATCHES "${line}")
      message(FATAL_ERROR "no line ${line} in\n${text}")
    endif()
  endforeach()
  string(REGEX MATCHALL "/iterations" rows "${text}")
  list(LENGTH rows rows)
  if(NOT rows EQUAL 3)
    message(FATAL_ERROR "${rows} rows, not 3, in\n${text}")
  endif()
endfunction()

set(environment "")
run(--benchmark_format=csv)
check_csv("${output}")
run("--benchmark_out=${scratch}.csv" --benchmark_out_format=csv)
file(READ "${scratch}.csv" text)
check_csv("${text}")
run(--benchmark_format=json)
foreach(index_name_counter_value "0 first bytes/s 2.5" "1 second evaluations 7" "2 third bytes/s 4.5")
  separate_arguments(row UNIX_COMMAND "${index_name_counter_value}")
  list(GET row 0 index)
  list(GET row 1 name)
  list(GET row 2 counter)
  list(GET row 3 value)
  string(JSON found_name GET "${output}" benchmarks ${index} name)
  string(JSON found_value GET "${output}" benchmarks ${index} ${counter})
  if(NOT found_name MATCHES "^${name}/" OR NOT found_value EQUAL value)
    message(FATAL_ERROR "benchmark ${index} is ${found_name} with ${counter} ${found_value}")
  endif()
endforeach()
set(environment BENCHMARK_FORMAT=csv)
run()
check_csv("${output}")
