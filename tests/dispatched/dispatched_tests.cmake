# SPDX-License-Identifier: MIT
# Kernels that are chosen when the program runs do what those do that a program is compiled with; and units built for
# different instruction sets make one program: none defines a function that the linker could give to another.
if(NOT TARGET cordage_avx2_kernels)
  return()
endif()

# With the kernels of the best table also compiled in, by its flags: a linker keeps one of two copies.
add_test_program(cordage_dispatched_tests "" dispatched/dispatched_test.cpp)
target_compile_options(cordage_dispatched_tests PRIVATE ${CORDAGE_LIBRARY_OPTIMISATION} -mtune=generic)
target_link_libraries(cordage_dispatched_tests PRIVATE cordage::dispatched)

# Tests of rotate/, whose default backend it is here, in a program for any x86-64.
if(CORDAGE_TEST_VARIANTS)
  set(of_rotation head_formats moves normalized_backward rows)
  list(TRANSFORM of_rotation REPLACE "(.+)" "rotate/\\1_test.cpp")
  add_test_program(cordage_dispatched_rotation_tests "dispatched/" ${of_rotation})
  target_compile_options(cordage_dispatched_rotation_tests PRIVATE -march=x86-64)
  target_link_libraries(cordage_dispatched_rotation_tests PRIVATE cordage::dispatched)
  call_building_blocks(cordage_dispatched_rotation_tests)
endif()
foreach(arch avx512 avx2)
  add_test(NAME "build: all that the ${arch} kernels define is named after ${arch}"
    COMMAND ${CMAKE_COMMAND} -D "nm=${CMAKE_NM}" -D "object=$<TARGET_OBJECTS:cordage_${arch}_kernels>" -D "arch=${arch}"
      -D least=20 -P "${CMAKE_CURRENT_SOURCE_DIR}/dispatched/symbols_name_arch.cmake")
endforeach()

if(CORDAGE_INSTALL)
  add_test(NAME "dispatched: the installed kernels are found by CMake"
    COMMAND ${CMAKE_COMMAND} -D "build=${PROJECT_BINARY_DIR}" -D "scratch=${CMAKE_CURRENT_BINARY_DIR}/dispatched_scratch"
      -D "source=${PROJECT_SOURCE_DIR}/examples/runtime_dispatch/main.cpp" -D "compiler=${CMAKE_CXX_COMPILER}"
      -D "generator=${CMAKE_GENERATOR}" -P "${CMAKE_CURRENT_SOURCE_DIR}/dispatched/installed.cmake")
  set_tests_properties("dispatched: the installed kernels are found by CMake" PROPERTIES
    PASS_REGULAR_EXPRESSION "(avx512|avx2|baseline) kernels: within [0-9.]+e-0[789] of the scalar ones")
endif()
