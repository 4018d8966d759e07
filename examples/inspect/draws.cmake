# SPDX-License-Identifier: MIT
# Lets cordage_inspect draw, and looks for what the picture must show.
file(REMOVE "${picture}")
execute_process(COMMAND "${program}" "${config}" --plot "${picture}" COMMAND_ERROR_IS_FATAL ANY)
file(READ "${picture}" drawing)
foreach(text "self-extending range" "t = 1<" "t = 8<" "t = 32<")
  string(FIND "${drawing}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "${picture} does not show '${text}'")
  endif()
endforeach()
