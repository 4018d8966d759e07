// SPDX-License-Identifier: MIT
// The positions that CLEX's released code trains on, its faults mended unless asked for; stage positions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cordage/core/index.hpp"
#include "cordage/positions/sampler.hpp"

namespace cordage {

/// What the released sampler works with.
struct released_range {
    index_t train_length = 0;     ///< positions to make, at least 2
    index_t original_length = 0;  ///< max_position_embeddings
    index_t t = 1;                ///< the t of this training step, at least 1
    bool original_end = false;    ///< true: the last position as released, which may repeat or lie below the one before

    /// Positions are multiples of 1/per_unit: as often as train_length holds original_length, at least 1.
    index_t per_unit() const { return std::max<index_t>(1, train_length / original_length); }

    /// The position of a draw, (drawn + 1)/per_unit, rounded to float32 where the released code does: after each
    /// operation. (A quotient in double, rounded then, is the one in float, and -ffast-math cannot change it.)
    double position_of(index_t drawn) const {
        const float numerator = static_cast<float>(double{static_cast<float>(drawn)} + 1.0);
        return double{static_cast<float>(double{numerator} / static_cast<double>(per_unit()))};
    }
};

namespace positions_detail {

inline void check(const char* function, const released_range& range) {
    const auto at_least = [function](const char* name, index_t value, index_t least) {
        if (value < least) fail<value_error>({function, ": ", name, " ", value, " must be >= ", least});
    };
    at_least("train_length", range.train_length, 2);
    at_least("original_length", range.original_length, 1);
    at_least("t", range.t, 1);
    if (range.t > (index_t{1} << 53) / range.train_length) {
        fail<value_error>({function, ": t ", range.t, " * train_length ", range.train_length, " must be at most 2^53"});
    }
}

}  // namespace positions_detail

/// t of one training step, each of 1 ... max_factor equally likely.
template <bit_generator Generator>
index_t sample_whole_ratio(Generator& generator, index_t max_factor) {
    if (max_factor < 1) fail<value_error>({"sample_whole_ratio: max_factor ", max_factor, " must be >= 1"});
    return 1 + static_cast<index_t>(draw_below(generator, static_cast<std::uint64_t>(max_factor)));
}

/// The positions that belong to given draws. With n = train_length t and s = per_unit():
///
///   0, (drawn[0] + 1)/s, ..., (drawn[train_length - 3] + 1)/s, (n - 1)/s
///
/// The released code ends at floor(n/s) - 1 instead (original_end). That is the same for s = 1, but for s = 2 it may
/// repeat the position before it, and for s >= 3 lie below it; the multiples of 1/s up to n/s end where this one ends.
/// All are float32 numbers, as released, so that those beyond 2^24/s may repeat.
///
/// @param drawn  train_length - 2 integers of 0 ... n - 3, increasing
/// @throws value_error for the range or a draw; shape_error for their number
inline std::vector<double> released_positions(const released_range& range, std::span<const index_t> drawn) {
    positions_detail::check("released_positions", range);
    if (static_cast<index_t>(drawn.size()) != range.train_length - 2) {
        fail<shape_error>(
            {"released_positions: drawn size ", drawn.size(), " must be train_length - 2 = ", range.train_length - 2});
    }
    const index_t count = range.train_length * range.t;
    std::vector<double> positions{0.0};
    index_t before = -1;
    for (const index_t draw : drawn) {
        if (draw <= before || draw > count - 3) {
            fail<value_error>({"released_positions: drawn ", draw, " must be > ", before,
                               ", the one before it, and <= train_length * t - 3 = ", count - 3});
        }
        before = draw;
        positions.push_back(range.position_of(draw));
    }
    const index_t whole_units = count / range.per_unit();
    positions.push_back(range.original_end ? double{static_cast<float>(whole_units - 1)}
                                           : range.position_of(count - 2));
    return positions;
}

/// As above, drawn here: every choice of train_length - 2 integers equally likely.
template <bit_generator Generator>
std::vector<double> released_positions(Generator& generator, const released_range& range) {
    positions_detail::check("released_positions", range);
    const auto count = static_cast<std::uint64_t>(range.train_length - 2);
    const auto last = static_cast<std::uint64_t>(range.train_length * range.t - 2);
    std::vector<index_t> drawn;
    for (const std::uint64_t one : positions_detail::sorted_distinct(generator, count, last)) {
        drawn.push_back(static_cast<index_t>(one) - 1);  // they are of 1 ... last
    }
    return released_positions(range, drawn);
}

}  // namespace cordage
