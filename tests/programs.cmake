# SPDX-License-Identifier: MIT
# Programs of pages and examples, each run as a test. With CORDAGE_TEST_BATCHES, but without CORDAGE_TEST_VARIANTS, those of
# a folder are one program, which reads their headers once and compiles once what several of them call.

# add_programs(NAME PREFIX FILES...): a program of each of the FILES, of the target NAME_FILE and the test "PREFIX: FILE
# runs". A file with conditions, with a specialisation or with arguments of main stays a program. All link `libraries`, a
# list of the caller's.
function(add_programs name prefix)
  set(headers "")
  set(bodies "")
  set(choices "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM program)
    set(alone TRUE)
    if(CORDAGE_TEST_BATCHES AND NOT CORDAGE_TEST_VARIANTS)
      file(STRINGS "${file}" alone LIMIT_COUNT 1 REGEX "^(#if|#define|template <>|namespace (cordage|std) |int main[(][^)])")
    endif()
    if(alone)
      add_executable(${name}_${program} "${file}")
      target_link_libraries(${name}_${program} PRIVATE ${libraries})
      add_test(NAME "${prefix}: ${program} runs" COMMAND ${name}_${program})
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(STRINGS "${file}" includes REGEX "^#include ")
    list(APPEND headers ${includes})
    # Only a main outside namespaces may end without a return.
    set(copy "${CMAKE_CURRENT_BINARY_DIR}/programs/${program}.cpp")
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/programs")
    execute_process(COMMAND awk "/^int main\\(/ { inside = 1 } inside && /^}/ { print \"    return 0;\"; inside = 0 } { print }" "${file}"
      OUTPUT_FILE "${copy}" COMMAND_ERROR_IS_FATAL ANY)
    string(APPEND bodies "namespace program_${program} {\n#include \"${copy}\"\n}\n")
    string(APPEND choices "    if (name == \"${program}\") return program_${program}::main();\n")
    add_test(NAME "${prefix}: ${program} runs" COMMAND ${name}_together ${program})
  endforeach()
  if(bodies)
    list(REMOVE_DUPLICATES headers)
    list(JOIN headers "\n" headers)
    file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}_together.cpp" @ONLY CONTENT
      "#include <string_view>\n@headers@\n@bodies@
int main(int, char** arguments) {
    const std::string_view name = arguments[1];
@choices@    return 2;
}\n")
    add_executable(${name}_together "${CMAKE_CURRENT_BINARY_DIR}/${name}_together.cpp")
    target_link_libraries(${name}_together PRIVATE ${libraries})
  endif()
endfunction()
