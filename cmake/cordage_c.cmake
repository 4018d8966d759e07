# SPDX-License-Identifier: MIT
# The target cordage::c: the shared library of the C interface, libcordage_c.so, which C programs link and need no header
# of C++ for. On x86-64 it has kernels for AVX-512, AVX2 and any processor, and chooses when it is first called.
#
#   CORDAGE_BUILD_C  build and install it (else it is built only where something links it)
set(cordage_abi_version 2)  # CORDAGE_ABI of cordage.h

if(CORDAGE_BUILD_C)
  add_library(cordage_c SHARED "${CMAKE_CURRENT_LIST_DIR}/c/implementation.cpp")
else()
  add_library(cordage_c SHARED EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/c/implementation.cpp")
endif()
add_library(cordage::c ALIAS cordage_c)
set(exports "${CMAKE_CURRENT_LIST_DIR}/c/exports.map")
set_target_properties(cordage_c PROPERTIES
  EXPORT_NAME c VERSION ${PROJECT_VERSION} SOVERSION ${cordage_abi_version} LINK_DEPENDS "${exports}"
  LINKER_LANGUAGE CXX CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_link_options(cordage_c PRIVATE "LINKER:--version-script,${exports}" "LINKER:--no-undefined")
target_include_directories(cordage_c INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>")
target_link_libraries(cordage_c PRIVATE "$<BUILD_INTERFACE:cordage_json>")
target_compile_options(cordage_c PRIVATE -O2)

# Kernels for one instruction set, those for double or not; always optimised, as without the compiler leaves functions
# that name no instruction set.
function(cordage_add_c_kernels name with_doubles)
  add_library(cordage_c_${name} OBJECT EXCLUDE_FROM_ALL "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/c/kernels.cpp")
  set_target_properties(cordage_c_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(cordage_c_${name} PRIVATE "$<BUILD_INTERFACE:cordage_kernels>")
  target_compile_definitions(cordage_c_${name} PRIVATE 
    CORDAGE_C_KERNELS=${name}_kernels "CORDAGE_C_NAME=\"${name}\"" CORDAGE_C_DOUBLES=${with_doubles})
  target_compile_options(cordage_c_${name} PRIVATE -O2 -march=x86-64 ${ARGN})
  target_sources(cordage_c PRIVATE $<TARGET_OBJECTS:cordage_c_${name}>)
endfunction()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND NOT CORDAGE_NO_SIMD)
  target_compile_definitions(cordage_c PRIVATE CORDAGE_C_DISPATCH)
  target_compile_options(cordage_c PRIVATE -march=x86-64)
  cordage_add_c_kernels(avx512 false -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma -mf16c)
  cordage_add_c_kernels(avx2 false -mavx2 -mfma -mf16c)
  cordage_add_c_kernels(baseline true)
endif()
