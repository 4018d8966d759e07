# SPDX-License-Identifier: MIT
# Makes the archive that a release is, of the tree as it is without what git ignores, and unpacks it into the folder
# `released`. Outside of git, as in an unpacked archive, all files but build/ are taken.
cmake_path(GET released PARENT_PATH folder)
cmake_path(GET released FILENAME name)
file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")

find_program(git git)
set(top "")
if(git)
  execute_process(COMMAND "${git}" -C "${cordage_folder}" rev-parse --show-toplevel
    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(REAL_PATH "${cordage_folder}" cordage_folder)
if(top STREQUAL cordage_folder)
  # By an index of its own, so that files that are not yet added are in it and the user's index stays as it is.
  set(ENV{GIT_INDEX_FILE} "${folder}/index")
  execute_process(COMMAND "${git}" -C "${cordage_folder}" read-tree HEAD COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${git}" -C "${cordage_folder}" add --all COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${git}" -C "${cordage_folder}" write-tree
    OUTPUT_VARIABLE tree OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${git}" -C "${cordage_folder}" archive "--prefix=${name}/" "--output=${archive}" ${tree}
    COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE "${folder}/index")
else()
  file(GLOB parts "${cordage_folder}/*")
  list(REMOVE_ITEM parts "${cordage_folder}/build")
  file(COPY ${parts} DESTINATION "${folder}/copy/${name}")
  execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf "${archive}" "${name}"
    WORKING_DIRECTORY "${folder}/copy" COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE "${folder}/copy")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E tar xf "${archive}" WORKING_DIRECTORY "${folder}" COMMAND_ERROR_IS_FATAL ANY)
file(SIZE "${archive}" size)
message("${archive}: ${size} bytes")
