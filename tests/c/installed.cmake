# SPDX-License-Identifier: MIT
# The shared library, installed; and the page's C program built with it by pkg-config too.
set(component cordage_c)
set(project c)
set(settings "-DCMAKE_C_COMPILER=${compiler}" "-Dpage=${page}")
include("${CMAKE_CURRENT_LIST_DIR}/../package/installed_component.cmake")

find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE pc "${scratch}/prefix/cordage-c.pc")
  cmake_path(GET pc PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} "${folder}")
  execute_process(COMMAND "${pkg_config}" --cflags --libs cordage-c
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${pkg_config}" --variable=libdir cordage-c
    OUTPUT_VARIABLE libdir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  separate_arguments(libdir UNIX_COMMAND "${libdir}")  # spaces in it are quoted for a shell
  execute_process(COMMAND "${compiler}" -std=c99 "${page}" ${flags} -o "${scratch}/by_pkg_config"
    COMMAND_ERROR_IS_FATAL ANY)
  set(ENV{LD_LIBRARY_PATH} "${libdir}")
  execute_process(COMMAND "${scratch}/by_pkg_config" COMMAND_ERROR_IS_FATAL ANY)
endif()
