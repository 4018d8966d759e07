// SPDX-License-Identifier: MIT
// Headers of other projects that most tests include, compiled once. None of cordage: a change of its headers must not
// recompile every test.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
#ifndef CORDAGE_NO_SIMD
#include <xsimd/xsimd.hpp>
#endif
