# SPDX-License-Identifier: MIT
# Runs the portfile of vcpkg's port with functions that do what it asks of vcpkg's own, and finds what came of it. vcpkg
# itself is not run.
cmake_minimum_required(VERSION 3.25)

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH OPTIONS)
  execute_process(COMMAND ${CMAKE_COMMAND} -S "${arg_SOURCE_PATH}" -B "${home}/build" -G "${generator}"
    "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_install)
  execute_process(COMMAND ${CMAKE_COMMAND} --install "${home}/build" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_config_fixup)  # moves the package one folder up, and corrects where it looks for the headers
  cmake_parse_arguments(PARSE_ARGV 0 arg "" CONFIG_PATH "")
  set(package "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  file(RENAME "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}" "${package}")
  file(READ "${package}/cordage_targets.cmake" text)
  set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
  file(WRITE "${package}/cordage_targets.cmake" "${text}")
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" FILE_LIST)
  file(INSTALL ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}" RENAME copyright)
endfunction()

set(home "${scratch}/vcpkg")
file(REMOVE_RECURSE "${home}")
set(PORT cordage)
set(CURRENT_PORT_DIR "${released}/cmake/vcpkg/${PORT}")
set(CURRENT_PACKAGES_DIR "${home}/packages")
include("${CURRENT_PORT_DIR}/portfile.cmake")

foreach(name usage copyright cordageConfigVersion.cmake)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/share/${PORT}/${name}")
    message(FATAL_ERROR "the port must install share/${PORT}/${name}")
  endif()
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/kernels" -B "${home}/consumer" -G "${generator}"
  "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_PREFIX_PATH=${CURRENT_PACKAGES_DIR}" COMMAND_ERROR_IS_FATAL ANY)
