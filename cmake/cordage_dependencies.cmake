# SPDX-License-Identifier: MIT
# What each component links beside the headers; the build and the installed package share it.
#
#   kernels  threads and xsimd >= 8.1, or with CORDAGE_NO_SIMD threads alone
#   cordage  kernels and Eigen >= 3.4
#   cuda     kernels and the CUDA toolkit >= 12
#   models   cordage and nlohmann-json

# Finds what the component links; `result` is a list, in words, of what this machine lacks.
function(cordage_find_dependencies component result)
  if(component STREQUAL "kernels")
    cordage_find_simd(lacks)
    find_package(Threads QUIET)
    if(NOT Threads_FOUND)
      list(APPEND lacks "threads")
    endif()
  elseif(component STREQUAL "cordage")
    cordage_find_dependencies(kernels lacks)
    if(NOT TARGET Eigen3::Eigen)
      find_package(Eigen3 QUIET)  # the version is compared here, as Eigen 5 says that it is not 3.4
      if(NOT Eigen3_FOUND OR Eigen3_VERSION VERSION_LESS 3.4)
        list(APPEND lacks "Eigen >= 3.4 (Debian: libeigen3-dev)")
      endif()
    endif()
  elseif(component STREQUAL "cuda")
    cordage_find_dependencies(kernels lacks)
    find_package(CUDAToolkit 12 QUIET)
    if(NOT CUDAToolkit_FOUND)
      list(APPEND lacks "the CUDA toolkit >= 12")
    endif()
  elseif(component STREQUAL "models")
    cordage_find_dependencies(cordage lacks)
    if(NOT TARGET nlohmann_json::nlohmann_json)
      find_package(nlohmann_json QUIET)
      if(NOT nlohmann_json_FOUND)
        list(APPEND lacks "nlohmann-json (Debian: nlohmann-json3-dev)")
      endif()
    endif()
  endif()
  set(${result} "${lacks}" PARENT_SCOPE)
endfunction()

# Makes the target cordage::simd: xsimd's folder, or CORDAGE_NO_SIMD. Only the folder, as the target of xsimd's own
# package may link xtl, which nobody needs here and Debian does not install.
function(cordage_find_simd result)
  set(${result} "" PARENT_SCOPE)
  if(TARGET cordage::simd)
    return()
  elseif(CORDAGE_NO_SIMD)
    add_library(cordage::simd INTERFACE IMPORTED GLOBAL)
    target_compile_definitions(cordage::simd INTERFACE CORDAGE_NO_SIMD)
    return()
  endif()

  if(TARGET xsimd)  # brought by the project that this one is a part of
    set(folder "$<TARGET_PROPERTY:xsimd,INTERFACE_INCLUDE_DIRECTORIES>")
  else()
    find_path(XSIMD_INCLUDE_DIR xsimd/xsimd.hpp)
    mark_as_advanced(XSIMD_INCLUDE_DIR)
    set(folder "${XSIMD_INCLUDE_DIR}")
    set(header "${folder}/xsimd/config/xsimd_config.hpp")
    set(version 0)
    if(EXISTS "${header}")
      file(STRINGS "${header}" numbers REGEX "define XSIMD_VERSION_(MAJOR|MINOR)")
      string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" version "${numbers}")
    endif()
    if(version VERSION_LESS 8.1)
      set(${result} "xsimd >= 8.1 (Debian: libxsimd-dev), or CORDAGE_NO_SIMD=ON for the scalar backend" PARENT_SCOPE)
      return()
    endif()
  endif()
  add_library(cordage::simd INTERFACE IMPORTED GLOBAL)
  target_include_directories(cordage::simd INTERFACE "${folder}")
endfunction()
