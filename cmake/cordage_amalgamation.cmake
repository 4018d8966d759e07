# SPDX-License-Identifier: MIT
# The target cordage_amalgamation: cordage as one file, cordage_kernels.hpp, in the build's folder.
set(cordage_amalgamation "${PROJECT_BINARY_DIR}/amalgamation/cordage_kernels.hpp")
set(amalgamation_folder "${CMAKE_CURRENT_LIST_DIR}/amalgamation")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/amalgamation")
add_custom_command(OUTPUT "${cordage_amalgamation}"
  COMMAND "${amalgamation_folder}/one_file.sh" > "${cordage_amalgamation}"
  DEPENDS ${cordage_headers} "${PROJECT_SOURCE_DIR}/LICENSE" "${amalgamation_folder}/one_file.sh"
    "${amalgamation_folder}/amalgamate.awk" "${amalgamation_folder}/vectors.hpp"
  COMMENT "Generating cordage_kernels.hpp" VERBATIM)
add_custom_target(cordage_amalgamation DEPENDS "${cordage_amalgamation}")
