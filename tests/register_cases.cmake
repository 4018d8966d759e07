# SPDX-License-Identifier: MIT
# Lists the cases of a doctest program and makes each one a test of ctest, named prefix + case. Run after each link.
# Where `skip` is not empty, a case that writes it is skipped. A program for another processor runs in the emulator, a command and its arguments.
execute_process(COMMAND ${emulator} "${program}" --list-test-cases --no-version OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${emulator} "${program}" --count --no-version OUTPUT_VARIABLE count COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "current filters: ([0-9]+)" count "${count}")
set(cases "${CMAKE_MATCH_1}")

string(REGEX REPLACE "(^|\n)(\\[doctest\\]|===)[^\n]*" "" listing "${listing}")
# These characters would be changed on the way to doctest's filter or ctest, and the case would not run.
if(listing MATCHES "[*?;\"$\\\\]")
  message(FATAL_ERROR "${program}: names of cases must do without * ? ; \" $ and backslash:\n${listing}")
endif()

# An unmatched bracket would join the elements of a list, so brackets are replaced meanwhile.
string(ASCII 1 open)
string(ASCII 2 close)
string(REPLACE "[" "${open}" listing "${listing}")
string(REPLACE "]" "${close}" listing "${listing}")
string(REGEX MATCHALL "[^\n]+" names "${listing}")
list(REMOVE_DUPLICATES names)
list(LENGTH names registered)
if(NOT cases EQUAL registered)
  message(FATAL_ERROR "${program}: ${cases} cases under ${registered} names; names must differ:\n${listing}")
endif()

set(command "")
foreach(word IN LISTS emulator program)
  string(APPEND command " [==[${word}]==]")
endforeach()
set(script "")
foreach(name IN LISTS names)
  string(REPLACE "${open}" "[" name "${name}")
  string(REPLACE "${close}" "]" name "${name}")
  string(REPLACE "," "\\," filter "${name}")
  string(APPEND script "add_test([==[${prefix}${name}]==]${command} [==[--test-case=${filter}]==])\n")
  # doctest calls a filter that matches no case a success; here it is a failure.
  string(APPEND script
    "set_tests_properties([==[${prefix}${name}]==] PROPERTIES FAIL_REGULAR_EXPRESSION \"test cases: +0 \")\n")
  if(skip)
    string(APPEND script "set_tests_properties([==[${prefix}${name}]==] PROPERTIES SKIP_REGULAR_EXPRESSION [==[${skip}]==])\n")
  endif()
endforeach()
file(WRITE "${output}" "${script}")
