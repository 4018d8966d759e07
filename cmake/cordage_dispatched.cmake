# SPDX-License-Identifier: MIT
# The target cordage::dispatched: kernels for AVX-512, AVX2 and any x86-64, and the definition CORDAGE_DISPATCH by which
# the functions of rotate/ choose among them when they are first called. On other processors it is cordage::kernels.
#
#   CORDAGE_BUILD_DISPATCHED      build and install it (else it is built only where something links it)
#   CORDAGE_LIBRARY_OPTIMISATION  how its kernels and the C library are optimised, whatever the rest: at least -O1, at which
#                                 g++ 12 wrongly warns of the size of a memmove
set(CORDAGE_LIBRARY_OPTIMISATION "-O2" CACHE STRING "Optimisation of the kernels of cordage::dispatched and of the C library")
mark_as_advanced(CORDAGE_LIBRARY_OPTIMISATION)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" OR CORDAGE_NO_SIMD)
  add_library(cordage_dispatched INTERFACE)
  add_library(cordage::dispatched ALIAS cordage_dispatched)
  set_target_properties(cordage_dispatched PROPERTIES EXPORT_NAME dispatched)
  target_link_libraries(cordage_dispatched INTERFACE cordage_kernels)
  return()
endif()

if(CORDAGE_BUILD_DISPATCHED)
  add_library(cordage_dispatched STATIC)
else()
  add_library(cordage_dispatched STATIC EXCLUDE_FROM_ALL)
endif()
add_library(cordage::dispatched ALIAS cordage_dispatched)
set_target_properties(cordage_dispatched PROPERTIES EXPORT_NAME dispatched LINKER_LANGUAGE CXX)
target_compile_definitions(cordage_dispatched INTERFACE CORDAGE_DISPATCH)
target_link_libraries(cordage_dispatched PUBLIC cordage_kernels)

# Kernels for one instruction set; always optimised, as without the compiler leaves functions that name none.
function(cordage_add_kernels name)
  add_library(cordage_${name}_kernels OBJECT EXCLUDE_FROM_ALL "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/dispatched/kernels.cpp")
  set_target_properties(cordage_${name}_kernels PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(cordage_${name}_kernels PRIVATE cordage_kernels)
  target_compile_definitions(cordage_${name}_kernels PRIVATE
    CORDAGE_KERNELS=${name}_kernels "CORDAGE_KERNELS_NAME=\"${name}\"")
  target_compile_options(cordage_${name}_kernels PRIVATE ${CORDAGE_LIBRARY_OPTIMISATION} -march=x86-64 ${ARGN})
  target_sources(cordage_dispatched PRIVATE $<TARGET_OBJECTS:cordage_${name}_kernels>)
endfunction()
cordage_add_kernels(avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma -mf16c)
cordage_add_kernels(avx2 -mavx2 -mfma -mf16c)
cordage_add_kernels(baseline)
