// SPDX-License-Identifier: MIT
// What most tests include of other projects, compiled once. Nothing of cordage is here: a header of ours that changes
// shall not make every test anew.
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
