# SPDX-License-Identifier: MIT
# A port of the checkout that it is a part of, used with `vcpkg install cordage --overlay-ports=cmake/vcpkg`.
cmake_path(SET SOURCE_PATH NORMALIZE "${CURRENT_PORT_DIR}/../../..")
set(VCPKG_BUILD_TYPE release)  # there are only headers

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DCORDAGE_BUILD_TESTS=OFF -DCORDAGE_BUILD_BENCHMARKS=OFF -DCORDAGE_BUILD_EXAMPLES=OFF -DCORDAGE_INSTALL=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/cordage)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug" "${CURRENT_PACKAGES_DIR}/lib")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
