# SPDX-License-Identifier: MIT
# Installs the headers, a package for find_package(cordage), and one for pkg-config for each component without CUDA.
# Nothing of it says where it lies, so an installed copy can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(cordage_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/cordage")
install(TARGETS cordage_kernels cordage cordage_cuda cordage_models EXPORT cordage_targets
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT cordage_targets NAMESPACE cordage:: DESTINATION "${cordage_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cordageConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(
  FILES
    "${CMAKE_CURRENT_LIST_DIR}/cordageConfig.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/cordage_dependencies.cmake"
    "${PROJECT_BINARY_DIR}/cordageConfigVersion.cmake"
  DESTINATION "${cordage_package_dir}")

set(cordage_pkgconfig_dir "${CMAKE_INSTALL_DATADIR}/pkgconfig")
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${cordage_pkgconfig_dir}" OUTPUT_VARIABLE to_prefix)
cmake_path(APPEND includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
function(cordage_install_pc package description requires)
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/cordage.pc.in" "${PROJECT_BINARY_DIR}/${package}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${package}.pc" DESTINATION "${cordage_pkgconfig_dir}")
endfunction()
cordage_install_pc(cordage-kernels "Rotary position embeddings: angles and rotation (cordage/kernels.hpp)"
  "xsimd >= 8.1")
cordage_install_pc(cordage "Rotary position embeddings with continuous length scaling (cordage/cordage.hpp)"
  "cordage-kernels = ${PROJECT_VERSION}, eigen3 >= 3.4")
cordage_install_pc(cordage-models "cordage and the rules of models, read from their files (cordage/models.hpp)"
  "cordage = ${PROJECT_VERSION}, nlohmann_json")

# The kernels for every x86-64: with all else where they are built with all else, otherwise by --component
# cordage_dispatched.
set(of_dispatched COMPONENT cordage_dispatched)
if(NOT CORDAGE_BUILD_DISPATCHED)
  list(APPEND of_dispatched EXCLUDE_FROM_ALL)
endif()
install(TARGETS cordage_dispatched EXPORT cordage_dispatched_targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" ${of_dispatched})
install(EXPORT cordage_dispatched_targets NAMESPACE cordage:: DESTINATION "${cordage_package_dir}" ${of_dispatched})

# The shared library: likewise, by --component cordage_c.
if(NOT TARGET cordage_c)
  return()
endif()
set(of_c COMPONENT cordage_c)
if(NOT CORDAGE_BUILD_C)
  list(APPEND of_c EXCLUDE_FROM_ALL)
endif()
install(TARGETS cordage_c EXPORT cordage_c_targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ${of_c})
install(EXPORT cordage_c_targets NAMESPACE cordage:: DESTINATION "${cordage_package_dir}" ${of_c})
configure_file("${CMAKE_CURRENT_LIST_DIR}/c/cordage-c.pc.in" "${PROJECT_BINARY_DIR}/cordage-c.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/cordage-c.pc" DESTINATION "${cordage_pkgconfig_dir}" ${of_c})
