# SPDX-License-Identifier: MIT
# What find_package(cordage) reads: the target cordage::cordage, linked to the dependencies this machine has.
include("${CMAKE_CURRENT_LIST_DIR}/cordage_targets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/cordage_dependencies.cmake")
cordage_find_dependencies(_cordage_dependencies)
set_property(TARGET cordage::cordage APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${_cordage_dependencies})
unset(_cordage_dependencies)
