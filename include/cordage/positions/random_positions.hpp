// SPDX-License-Identifier: MIT
// RandomPos: training positions drawn from a range much longer than the sequence; stage positions.
#pragma once

#include "cordage/positions/sampler.hpp"

namespace cordage {

/// RandomPos (Ruoss et al. 2023): train_length distinct integers of 1 ... floor(t L), sorted, every choice equally
/// likely. The range is that of the longest sequence to come, and is drawn from anew for each sequence; at test time
/// positions are 1 ... n.
///
///   random_positions(generator, {.train_length = 40, .original_length = 2048})
///
/// It is sorted_random_positions, but for a range that holds fewer integers than are wanted, which the method does not
/// have: that is refused here.
/// @throws value_error
template <bit_generator Generator>
std::vector<double> random_positions(Generator& generator, const sampled_range& range) {
    positions_detail::check("random_positions", range);
    const double last = std::floor(range.t * range.original_length);
    if (!(static_cast<double>(range.train_length) <= last)) {
        fail<value_error>(
            {"random_positions: train_length ", range.train_length, " must be <= floor(t * original_length) ", last});
    }
    return sorted_random_positions(generator, range);
}

}  // namespace cordage
