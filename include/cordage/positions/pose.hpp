// SPDX-License-Identifier: MIT
// PoSE: a training sequence cut into chunks, each moved further on than the one before; stage positions.
#pragma once

#include "cordage/positions/sampler.hpp"

namespace cordage {

/// Positional skip-wise training (PoSE, Zhu et al. 2023): 0 ... train_length-1 cut into chunks of neighbours. The first
/// stays, every other one is moved by a skip that is no smaller than the one before it, so that positions stay below
/// floor(t L), the length to extend to:
///
///   skip_0 = 0,   skip_i uniform in skip_(i-1) ... floor(t L) - train_length
///
/// The authors' code has two chunks, the first of a length uniform in 1 ... ceil(train_length/2); with more of them,
/// every chunk but the last has one in 1 ... ceil(train_length/chunks), at most what leaves each later chunk a token
/// (ours: their code stops at two). Where floor(t L) <= train_length there is no room, and nothing moves.
///
/// two_contiguous_runs differs: its first run moves too, and may be almost the whole sequence.
///
/// @param chunks  1 to train_length
/// @throws value_error
template <bit_generator Generator>
std::vector<double> pose_positions(Generator& generator, const sampled_range& range, index_t chunks = 2) {
    positions_detail::check("pose_positions", range);
    if (chunks < 1 || chunks > range.train_length) {
        fail<value_error>({"pose_positions: chunks ", chunks, " must be 1 to train_length ", range.train_length});
    }
    const auto count = static_cast<std::uint64_t>(range.train_length), parts = static_cast<std::uint64_t>(chunks);
    const std::uint64_t room = std::max(static_cast<std::uint64_t>(range.t * range.original_length), count) - count;
    const std::uint64_t longest = (count + parts - 1) / parts;
    std::vector<double> positions;
    std::uint64_t next = 0, skip = 0;
    for (std::uint64_t chunk = 0; chunk < parts; ++chunk) {
        const std::uint64_t later = parts - 1 - chunk, left = count - next;
        const std::uint64_t length = later == 0 ? left : 1 + draw_below(generator, std::min(longest, left - later));
        if (chunk > 0) skip += draw_below(generator, room - skip + 1);
        for (const std::uint64_t end = next + length; next < end; ++next) {
            positions.push_back(static_cast<double>(next + skip));
        }
    }
    return positions;
}

}  // namespace cordage
