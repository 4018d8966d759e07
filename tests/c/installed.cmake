# SPDX-License-Identifier: MIT
# Installs the build in `build` with the shared library, moves what was installed, and builds the page's C program with
# it by CMake and by pkg-config.
file(REMOVE_RECURSE "${scratch}")
foreach(component "" cordage_c)
  set(of_component "")
  if(component)
    set(of_component --component ${component})
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} --install "${build}" ${of_component} --prefix "${scratch}/installed"
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(RENAME "${scratch}/installed" "${scratch}/prefix")

execute_process(COMMAND ${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/../package/c" -B "${scratch}/consumer"
  -G "${generator}" "-DCMAKE_C_COMPILER=${compiler}" "-DCMAKE_PREFIX_PATH=${scratch}/prefix" "-Dpage=${page}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build "${scratch}/consumer" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${scratch}/consumer/app" COMMAND_ERROR_IS_FATAL ANY)

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
