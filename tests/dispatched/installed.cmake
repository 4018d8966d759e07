# SPDX-License-Identifier: MIT
# Installs the build in `build` with the kernels for every x86-64, moves what was installed, and builds and runs a program
# with it.
file(REMOVE_RECURSE "${scratch}")
foreach(component "" cordage_dispatched)
  set(of_component "")
  if(component)
    set(of_component --component ${component})
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} --install "${build}" ${of_component} --prefix "${scratch}/installed"
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(RENAME "${scratch}/installed" "${scratch}/prefix")
execute_process(COMMAND ${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/../package/dispatched" -B "${scratch}/consumer"
  -G "${generator}" "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_PREFIX_PATH=${scratch}/prefix" "-Dsource=${source}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build "${scratch}/consumer" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${scratch}/consumer/app" COMMAND_ERROR_IS_FATAL ANY)
