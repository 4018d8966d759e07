# SPDX-License-Identifier: MIT
# Finds what some of the headers include; the build and the installed package share it.
find_package(Threads REQUIRED)

# Puts the targets of the dependencies that this machine has into `result`.
function(cordage_find_dependencies result)
  set(found Threads::Threads)

  find_package(Eigen3 QUIET GLOBAL)
  if(Eigen3_FOUND AND Eigen3_VERSION VERSION_GREATER_EQUAL 3.4)
    list(APPEND found Eigen3::Eigen)
  else()
    message(STATUS "cordage: no Eigen >= 3.4, so do without cordage/clex/")
  endif()

  # Only the folder: the target of xsimd's own package links xtl, which nobody needs here and Debian does not install.
  find_path(XSIMD_INCLUDE_DIR xsimd/xsimd.hpp)
  mark_as_advanced(XSIMD_INCLUDE_DIR)
  if(XSIMD_INCLUDE_DIR)
    if(NOT TARGET cordage_xsimd)
      add_library(cordage_xsimd INTERFACE IMPORTED GLOBAL)
      target_include_directories(cordage_xsimd INTERFACE "${XSIMD_INCLUDE_DIR}")
    endif()
    list(APPEND found cordage_xsimd)
  else()
    message(STATUS "cordage: no xsimd, so do without cordage/backend/simd/")
  endif()

  set(${result} ${found} PARENT_SCOPE)
endfunction()
