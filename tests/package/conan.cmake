# SPDX-License-Identifier: MIT
# Makes Conan's package in a home of its own, without a network: what cordage requires is this system's.
set(home "${scratch}/conan")
file(REMOVE_RECURSE "${home}")
set(ENV{CONAN_HOME} "${home}")
set(ENV{CXX} "${compiler}")
execute_process(COMMAND conan profile detect COMMAND_ERROR_IS_FATAL ANY)
file(APPEND "${home}/profiles/default" "
[platform_requires]
xsimd/8.1.0
eigen/3.4.0
nlohmann_json/3.11.2
[conf]
tools.cmake.cmaketoolchain:generator=${generator}
tools.cmake.cmake_layout:test_folder=${home}/test
")
execute_process(COMMAND conan remote disable * COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND conan create "${released}/cmake/conan" -s compiler.cppstd=20 -o "&:models=True"
  COMMAND_ERROR_IS_FATAL ANY)
