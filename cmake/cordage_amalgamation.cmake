# SPDX-License-Identifier: MIT
# The target cordage_amalgamation: kernels.hpp as one file, cordage_kernels.hpp, in the build's folder.
set(cordage_amalgamation "${PROJECT_BINARY_DIR}/amalgamation/cordage_kernels.hpp")
set(cordage_amalgamation_script "${CMAKE_CURRENT_LIST_DIR}/amalgamate.awk")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/amalgamation")
add_custom_command(OUTPUT "${cordage_amalgamation}"
  COMMAND awk -v "root=${PROJECT_SOURCE_DIR}/include" -v "version=${PROJECT_VERSION}"
    -v "license=${PROJECT_SOURCE_DIR}/LICENSE" -f "${cordage_amalgamation_script}" cordage/kernels.hpp
    > "${cordage_amalgamation}"
  DEPENDS ${cordage_headers} "${cordage_amalgamation_script}" "${PROJECT_SOURCE_DIR}/LICENSE"
  COMMENT "Generating cordage_kernels.hpp" VERBATIM)
add_custom_target(cordage_amalgamation DEPENDS "${cordage_amalgamation}")
