// SPDX-License-Identifier: MIT
// What the cases of both CLEX fields share.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cordage/ode/solve_adaptive.hpp"

namespace conformance {

/// Of solutions that are compared with ones of high precision.
inline constexpr cordage::tolerance tight{.relative = 1e-14, .absolute = 1e-14};

inline std::span<const double> row_of(const std::vector<double>& matrix, std::size_t row, std::size_t size) {
    return std::span(matrix).subspan(row * size, size);
}

}  // namespace conformance
