# SPDX-License-Identifier: MIT
# Of functions that several units define (weak symbols), a linker keeps one for all. So in an object built for an
# instruction set they must name it, and nothing of the object may run before main has looked at the processor. (Weak
# constants, of types V and u, hold the same bytes in every unit, and clang's call of std::terminate the same
# instructions. DW.ref is an address, no code.)
execute_process(COMMAND "${nm}" -P --defined-only "${object}" OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${listing}")

set(kernels 0)
set(shared "")
foreach(symbol IN LISTS symbols)
  if(symbol MATCHES "^(_GLOBAL__|__cxx_global)")
    string(APPEND shared "  ${symbol} (runs before main)\n")
  elseif(NOT symbol MATCHES " [Ww] " OR symbol MATCHES "^(DW\\.ref\\.|__clang_call_terminate )")
    continue()
  elseif(symbol MATCHES "^[^ ]*${arch}")
    math(EXPR kernels "${kernels} + 1")
  else()
    string(APPEND shared "  ${symbol}\n")
  endif()
endforeach()

if(shared)
  message(FATAL_ERROR "${object} defines for all units, compiled for ${arch} (docs/backends.md):\n${shared}")
endif()
if(NOT least)
  set(least 1)
endif()
if(kernels LESS least)
  message(FATAL_ERROR "${object} has ${kernels} functions that name ${arch}, must have at least ${least}")
endif()
message(STATUS "${kernels} functions, all of them named after ${arch}")
