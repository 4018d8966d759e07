# SPDX-License-Identifier: MIT
# The tests that run kernels, and those of the interpreter that they run in. nvcc compiles each unit once more, into the
# PTX of the kernels that it launches; no device is needed. Without nvcc what would run a kernel is skipped.
include(nvcc.cmake)

# The interpreter: optimised in every build, and each operation rounded by itself.
file(GLOB interpreter_files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/ptx/*.cpp")
list(FILTER interpreter_files EXCLUDE REGEX "_test.cpp$")
add_library(cordage_ptx_interpreter OBJECT ${interpreter_files})
target_link_libraries(cordage_ptx_interpreter PRIVATE cordage_warnings)
target_include_directories(cordage_ptx_interpreter PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
target_compile_features(cordage_ptx_interpreter PRIVATE cxx_std_20)
target_compile_options(cordage_ptx_interpreter PRIVATE -O2 -ffp-contract=off)

# Compiles each of the files into PTX: compile_kernels(RESULT FILES...), the paths in RESULT.
function(compile_kernels result)
  set(compiled "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file FILENAME name)
    cmake_path(IS_PREFIX CMAKE_CURRENT_SOURCE_DIR "${file}" is_ours)
    if(is_ours)
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE name)
      string(REPLACE "/" "-" name "${name}")
    endif()
    set(ptx "${CMAKE_CURRENT_BINARY_DIR}/kernels/${name}.ptx")
    add_custom_command(OUTPUT "${ptx}" DEPENDS "${file}" DEPFILE "${ptx}.d" VERBATIM COMMAND_EXPAND_LISTS
      COMMENT "Compiling the kernels of ${name}"
      COMMAND "${CORDAGE_NVCC}" -std=c++20 -arch=compute_90 -ptx --Werror all-warnings -MD -MF "${ptx}.d" -MT "${ptx}"
        -DCORDAGE_TEST_MAKES_PTX -DCORDAGE_NO_SIMD -DEIGEN_NO_CUDA
        "-I${PROJECT_SOURCE_DIR}/include" "-I${CMAKE_CURRENT_SOURCE_DIR}"
        "-I$<JOIN:$<TARGET_PROPERTY:doctest::doctest,INTERFACE_INCLUDE_DIRECTORIES>,;-I>"
        "-isystem;$<JOIN:$<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>,;-isystem;>"
        -x cu "${file}" -o "${ptx}")
    list(APPEND compiled "${ptx}")
  endforeach()
  set(${result} "${compiled}" PARENT_SCOPE)
endfunction()

# The program of these tests: add_kernel_tests(FILES...). The paths of the kernels' PTX, if there is nvcc, are in
# cordage_ptx_of_kernel_tests.
function(add_kernel_tests)
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/kernels")
  set(with_kernels "")
  set(others "")
  foreach(file IN LISTS ARGN)
    file(STRINGS "${file}" launches REGEX "cuda/(test_device|device_backend)\\.hpp" LIMIT_COUNT 1)
    if(launches)
      list(APPEND with_kernels "${file}")
    else()
      list(APPEND others "${file}")
    endif()
  endforeach()
  set(ptx_files "")
  set(own_kernels "")
  if(has_nvcc)
    batches_of(with_kernels cordage_kernel_tests ${with_kernels})
    compile_kernels(ptx_files ${with_kernels})
    compile_kernels(own_kernels "${CMAKE_CURRENT_SOURCE_DIR}/ptx/compiled_kernels.cu")
  else()
    message(STATUS "cordage: no nvcc >= 12: tests that run kernels are skipped")
    set(skip_text "skipped: no nvcc")
    foreach(file IN LISTS with_kernels)  # not compiled, for minutes, only to say so
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE name)
      add_test(NAME "kernels: ${name}" COMMAND ${CMAKE_COMMAND} -E echo "${skip_text}")
      set_tests_properties("kernels: ${name}" PROPERTIES SKIP_REGULAR_EXPRESSION "${skip_text}")
    endforeach()
    set(with_kernels "")
  endif()
  set_source_files_properties(ptx/compiled_test.cpp PROPERTIES COMPILE_DEFINITIONS "CORDAGE_TEST_COMPILED_KERNELS=\"${own_kernels}\"")
  batches_of(others cordage_interpreter_tests ${others})
  add_test_program(cordage_kernel_tests "" ${with_kernels} ${others} known_blocks.cpp backend/cuda/interpreted_device.cpp)
  target_link_libraries(cordage_kernel_tests PRIVATE cordage_ptx_interpreter)
  target_precompile_headers(cordage_kernel_tests PRIVATE precompiled.hpp)
  call_building_blocks(cordage_kernel_tests)
  string(REPLACE ";" ":" paths "${ptx_files}")
  set_source_files_properties(backend/cuda/interpreted_device.cpp PROPERTIES COMPILE_DEFINITIONS "CORDAGE_TEST_PTX=\"${paths}\"")
  add_custom_target(cordage_kernels_of_tests DEPENDS ${ptx_files} ${own_kernels})
  add_dependencies(cordage_kernel_tests cordage_kernels_of_tests)
  set(cordage_ptx_of_kernel_tests ${ptx_files} PARENT_SCOPE)
endfunction()
