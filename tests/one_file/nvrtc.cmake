# SPDX-License-Identifier: MIT
# Tests of what NVRTC compiles of the one file, without a device: in the interpreter of PTX.
file(GLOB installed "${PROJECT_SOURCE_DIR}/build/nvrtc/venv/lib/python3*/site-packages/nvidia/*/lib")  # by ./run check
find_library(CORDAGE_NVRTC NAMES libnvrtc.so.13 libnvrtc.so.12 PATHS /usr/local/cuda/lib64 ${installed})
find_program(python3 NAMES python3)
mark_as_advanced(CORDAGE_NVRTC python3)

# Compiles SOURCE into FOLDER/NAME.ptx: add_nvrtc_ptx(FOLDER NAME SOURCE DEPENDS OPTIONS...)
function(add_nvrtc_ptx folder name source depends)
  add_custom_command(OUTPUT "${folder}/${name}.ptx" WORKING_DIRECTORY "${folder}" VERBATIM
    DEPENDS "${source}" ${depends} "${cordage_amalgamation}" one_file/nvrtc.py COMMENT "Compiling ${name} by NVRTC"
    COMMAND "${python3}" "${CMAKE_CURRENT_SOURCE_DIR}/one_file/nvrtc.py" "${CORDAGE_NVRTC}" "${source}" "${folder}/${name}.ptx" ${ARGN})
endfunction()

function(add_tests_of_nvrtc)
  set(skip_text "skipped: no NVRTC")
  add_test_program(cordage_nvrtc_tests "" one_file/nvrtc.cpp)
  target_link_libraries(cordage_nvrtc_tests PRIVATE cordage_ptx_interpreter)
  if(NOT CORDAGE_NVRTC OR NOT python3)
    message(STATUS "cordage: no NVRTC >= 12: its tests are skipped")
    return()
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/nvrtc")
  set(example "${PROJECT_SOURCE_DIR}/examples/cupy_kernel")
  file(MAKE_DIRECTORY "${folder}")
  file(CREATE_LINK "${cordage_amalgamation}" "${folder}/cordage_kernels.hpp" SYMBOLIC)
  file(CREATE_LINK "${example}/rotate_heads.cu" "${folder}/rotate_heads.cu" SYMBOLIC)
  add_nvrtc_ptx("${folder}" cupy_kernel "${example}/main.py" "${example}/rotate_heads.cu")
  foreach(architecture 75 90)
    add_nvrtc_ptx("${folder}" registers_${architecture} "${CMAKE_CURRENT_SOURCE_DIR}/one_file/registers.cu" one_file/registers.hpp
      -std=c++20 -arch=compute_${architecture} "-I${folder}" "-I${CMAKE_CURRENT_SOURCE_DIR}")
  endforeach()
  add_custom_target(cordage_nvrtc_ptx
    DEPENDS "${folder}/cupy_kernel.ptx" "${folder}/registers_75.ptx" "${folder}/registers_90.ptx")
  add_dependencies(cordage_nvrtc_ptx cordage_amalgamation)
  add_dependencies(cordage_nvrtc_tests cordage_nvrtc_ptx)
  target_compile_definitions(cordage_nvrtc_tests PRIVATE CORDAGE_TEST_PTX="${folder}")
endfunction()
add_tests_of_nvrtc()
