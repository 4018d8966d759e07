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
target_link_libraries(cordage_c PRIVATE "$<BUILD_INTERFACE:cordage_models>")
target_compile_options(cordage_c PRIVATE ${CORDAGE_LIBRARY_OPTIMISATION})

# With the kernels of cordage::dispatched in it.
target_link_libraries(cordage_c PRIVATE $<BUILD_INTERFACE:cordage_dispatched>)
if(TARGET cordage_avx2_kernels)
  target_compile_options(cordage_c PRIVATE -march=x86-64)
endif()
