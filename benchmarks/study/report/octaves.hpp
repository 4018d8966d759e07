// SPDX-License-Identifier: MIT
// Distances grouped in octaves [2^k, 2^(k+1)) for tables and pictures.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>

#include "statistics/results.hpp"

namespace demo {

/// The first distance of an octave; 0 for plain tokens.
inline index_t octave_of(index_t distance) {
    return static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(distance)));
}

/// The octaves with questions in windows of that length, and the number of questions in each.
inline std::map<index_t, index_t> octaves_of(const row_result& r, measure what, index_t length) {
    std::map<index_t, index_t> counts;
    for (const observation& o : r.observations) {
        if (o.what == what && o.length == length) ++counts[octave_of(o.distance)];
    }
    return counts;
}

inline place in_octave(measure what, index_t length, index_t from) {
    return {what, length, from, std::max<index_t>(1, 2 * from)};
}

}  // namespace demo
