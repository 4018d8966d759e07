# SPDX-License-Identifier: MIT
# Installs the build in `build` with the component of that name, moves what was installed to `scratch`/prefix, and builds
# and runs the program of the project tests/package/`project` with it; `settings` are those of the project.
file(REMOVE_RECURSE "${scratch}")
foreach(of_component IN ITEMS "" "--component;${component}")
  execute_process(COMMAND ${CMAKE_COMMAND} --install "${build}" ${of_component} --prefix "${scratch}/installed"
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(RENAME "${scratch}/installed" "${scratch}/prefix")

execute_process(COMMAND ${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/${project}" -B "${scratch}/consumer"
  -G "${generator}" "-DCMAKE_PREFIX_PATH=${scratch}/prefix" ${settings} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build "${scratch}/consumer" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${scratch}/consumer/app" COMMAND_ERROR_IS_FATAL ANY)
