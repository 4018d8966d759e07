# SPDX-License-Identifier: MIT
# Checks of the headers: each compiles alone (CORDAGE_TEST_HEADERS), two units that include all link, includes have one
# direction.

# One unit for each header that includes it and nothing else. Those that need libtorch are left to preset libtorch.
set(alone_units "")
set(everything "// Every header there is.\n")
set(without_libtorch "")
set(header_names "")
foreach(header IN LISTS cordage_headers cordage_cuda_headers)
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/include" OUTPUT_VARIABLE name)
  list(APPEND header_names "${name}")
  if(name MATCHES "\\.cuh$")  # cuda_compile/
    continue()
  endif()
  file(STRINGS "${header}" torch_includes REGEX "^#include <(ATen|torch|c10)/" LIMIT_COUNT 1)
  if(torch_includes)
    list(APPEND without_libtorch "${name}")
    continue()
  endif()
  string(REPLACE ".hpp" ".cpp" unit "${CMAKE_CURRENT_BINARY_DIR}/alone/${name}")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "#include \"${name}\"\n")
  list(APPEND alone_units "${unit}")
  string(APPEND everything "#include \"${name}\"\n")
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/everything.hpp" CONTENT "${everything}")

if(CORDAGE_TEST_HEADERS AND NOT is_sanitized)
  add_library(cordage_headers_alone OBJECT ${alone_units})
  add_test(NAME "build: every header was compiled alone"
    COMMAND ${CMAKE_COMMAND} -D "include=${PROJECT_SOURCE_DIR}/include"
      -D "objects=$<TARGET_OBJECTS:cordage_headers_alone>" -D "left_out=${without_libtorch}"
      -P "${CMAKE_CURRENT_SOURCE_DIR}/every_header_is_compiled.cmake")
  target_link_libraries(cordage_headers_alone PRIVATE cordage::models cordage_warnings)
  target_compile_options(cordage_headers_alone PRIVATE -O0)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    target_compile_options(cordage_headers_alone PRIVATE -march=x86-64)  # there is less to read for it
  endif()
endif()

# Two units that include everything make one program: nothing is defined twice. They have one text, so it is compiled once,
# and the second is the first under another name.
add_library(cordage_everything OBJECT two_units/unit.cpp)
target_link_libraries(cordage_everything PRIVATE cordage::models cordage_warnings)
target_include_directories(cordage_everything PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
target_compile_options(cordage_everything PRIVATE -O0)
set(second_unit "${CMAKE_CURRENT_BINARY_DIR}/two_units_second${CMAKE_CXX_OUTPUT_EXTENSION}")
add_custom_command(OUTPUT "${second_unit}" DEPENDS $<TARGET_OBJECTS:cordage_everything>
  COMMAND "${CMAKE_OBJCOPY}" --redefine-sym pairs_by_first_unit=pairs_by_second_unit
    $<TARGET_OBJECTS:cordage_everything> "${second_unit}" VERBATIM)
add_executable(cordage_two_units two_units/main.cpp "${second_unit}")
target_link_libraries(cordage_two_units PRIVATE cordage_everything cordage::cordage cordage_warnings)
add_test(NAME "build: two units that include everything link" COMMAND cordage_two_units)

add_test(NAME "build: includes point one way"
  COMMAND awk -f "${CMAKE_CURRENT_SOURCE_DIR}/include_direction.awk" ${header_names}
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}/include")
