# SPDX-License-Identifier: MIT
# Installs the headers and a package for find_package(cordage).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(cordage_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/cordage")
install(TARGETS cordage EXPORT cordage_targets FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT cordage_targets NAMESPACE cordage:: DESTINATION "${cordage_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cordageConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(
  FILES
    "${CMAKE_CURRENT_LIST_DIR}/cordageConfig.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/cordage_dependencies.cmake"
    "${PROJECT_BINARY_DIR}/cordageConfigVersion.cmake"
  DESTINATION "${cordage_package_dir}")
