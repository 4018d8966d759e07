# SPDX-License-Identifier: MIT
# A program by one call of the compiler, with the flags that pkg-config gives; and each package is whole.
set(ENV{PKG_CONFIG_PATH} "${scratch}/prefix/share/pkgconfig:$ENV{PKG_CONFIG_PATH}")
foreach(package cordage-models cordage cordage-kernels)
  execute_process(COMMAND pkg-config --cflags --libs "${package}"
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND pkg-config --modversion "${package}"
    OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT released MATCHES "/cordage-${version}$")
    message(FATAL_ERROR "${package} says version ${version}, but the archive is ${released}")
  endif()
  message("${package}: ${flags}")
endforeach()
separate_arguments(flags UNIX_COMMAND "${flags}")
execute_process(COMMAND "${compiler}" -std=c++20 "${CMAKE_CURRENT_LIST_DIR}/programs/rotate.cpp" ${flags}
  -o "${scratch}/pkg_config_app" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${scratch}/pkg_config_app" COMMAND_ERROR_IS_FATAL ANY)
