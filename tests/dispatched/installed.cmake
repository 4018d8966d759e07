# SPDX-License-Identifier: MIT
# The kernels for every x86-64, installed.
set(component cordage_dispatched)
set(project dispatched)
set(settings "-DCMAKE_CXX_COMPILER=${compiler}" "-Dsource=${source}")
include("${CMAKE_CURRENT_LIST_DIR}/../package/installed_component.cmake")
