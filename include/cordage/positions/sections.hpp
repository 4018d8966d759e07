// SPDX-License-Identifier: MIT
// The position axis by which each pair is rotated, as a table of bytes; stage positions.
#pragma once

#include <cstdint>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage {

namespace positions_detail {

inline std::size_t pairs_of_sections(const char* function, const std::vector<index_t>& sections) {
    if (sections.empty() || sections.size() > std::size_t{most_axes}) {
        fail<value_error>({function, ": sections has ", sections.size(), " entries, must have 1 to ", most_axes});
    }
    constexpr index_t most = index_t{1} << 20;
    index_t pairs = 0;
    for (std::size_t axis = 0; axis < sections.size(); ++axis) {
        if (sections[axis] < 0 || sections[axis] > most) {
            fail<value_error>({function, ": sections[", axis, "] ", sections[axis], " must be 0 to ", most, " pairs"});
        }
        pairs += sections[axis];
    }
    return static_cast<std::size_t>(pairs);
}

}  // namespace positions_detail

/// Contiguous blocks of pairs, one for each axis: M-RoPE of Qwen2-VL, with sections {16, 24, 24} for time, row and
/// column. Equal sections, {20, 20}, over a basis that restarts for every axis (axial_basis) are 2-D axial RoPE.
///
///   {2, 3, 3}:  0 0 1 1 1 2 2 2
///
/// @param sections  pairs of each axis, sum rotary_dim/2
/// @returns the axis of every pair, [rotary_dim/2]
/// @throws value_error  unless there are 1 to 256 sections of 0 to 2^20 pairs
inline std::vector<std::uint8_t> contiguous_axes(const std::vector<index_t>& sections) {
    std::vector<std::uint8_t> axis_of_pair;
    axis_of_pair.reserve(positions_detail::pairs_of_sections("contiguous_axes", sections));
    for (std::size_t axis = 0; axis < sections.size(); ++axis) {
        for (index_t i = 0; i < sections[axis]; ++i) axis_of_pair.push_back(static_cast<std::uint8_t>(axis));
    }
    return axis_of_pair;
}

/// Pairs assigned to the axes in turn: M-RoPE of Qwen3-VL, with sections {24, 20, 20}, or {11, 11, 10}. Pair i belongs
/// to axis i mod n, n axes, while i < n sections[axis]; every other pair belongs to axis 0 (transformers 5.24,
/// apply_interleaved_mrope, for n = 3).
///
///   {4, 2, 2}:  0 1 2 0 1 2 0 0
///
/// @param sections  pairs of each axis, sum rotary_dim/2
/// @returns the axis of every pair, [rotary_dim/2]
/// @throws value_error  also if an axis has fewer pairs than its section, as for {2, 3, 3}
inline std::vector<std::uint8_t> interleaved_axes(const std::vector<index_t>& sections) {
    std::vector<std::uint8_t> axis_of_pair(positions_detail::pairs_of_sections("interleaved_axes", sections), 0);
    const std::size_t axes = sections.size();
    for (std::size_t axis = 1; axis < axes; ++axis) {
        const auto pairs = static_cast<std::size_t>(sections[axis]);
        if (pairs > 0 && axis + axes * (pairs - 1) >= axis_of_pair.size()) {
            fail<value_error>({"interleaved_axes: sections[", axis, "] ", pairs, " must be at most ",
                               (axis_of_pair.size() + axes - 1 - axis) / axes, ", one in ", axes, " of all ",
                               axis_of_pair.size(), " pairs"});
        }
        for (std::size_t i = 0; i < pairs; ++i) axis_of_pair[axis + axes * i] = static_cast<std::uint8_t>(axis);
    }
    return axis_of_pair;
}

}  // namespace cordage
