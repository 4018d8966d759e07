# SPDX-License-Identifier: MIT
# Reads the version from version.hpp, its single source.
function(cordage_read_version header result)
  cmake_path(NORMAL_PATH header)  # two spellings of one file are two rules to Ninja
  file(READ "${header}" text)
  set(parts "")
  foreach(part MAJOR MINOR PATCH)
    if(NOT text MATCHES "#define CORDAGE_VERSION_${part} ([0-9]+)")
      message(FATAL_ERROR "${header}: CORDAGE_VERSION_${part} must be a number")
    endif()
    list(APPEND parts "${CMAKE_MATCH_1}")
  endforeach()
  list(JOIN parts "." version)
  set(${result} "${version}" PARENT_SCOPE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
endfunction()
