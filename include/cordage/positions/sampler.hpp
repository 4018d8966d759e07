// SPDX-License-Identifier: MIT
// Position extrapolation: draws the positions of a training sequence from any bit generator, with the same result on
// every platform; stage positions.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "cordage/core/bits.hpp"
#include "cordage/core/config.hpp"
#include "cordage/core/index.hpp"

namespace cordage {

/// The requirements of std::uniform_random_bit_generator, whose header is slow to compile.
template <class Generator>
concept bit_generator = requires(Generator& generator) {
    { generator() } -> std::unsigned_integral;
    { Generator::min() } -> std::unsigned_integral;
    { Generator::max() } -> std::unsigned_integral;
};

/// 64 random bits of a generator such as std::mt19937_64.
template <bit_generator Generator>
std::uint64_t draw_bits(Generator& generator) {
    static_assert(Generator::min() == 0 && Generator::max() == std::numeric_limits<std::uint64_t>::max(),
                  "cordage samplers: Generator must return 64 random bits per call, as std::mt19937_64 does");
    return generator();
}

/// An integer in [0, bound), bound >= 1, uniform (Lemire 2019: upper half of a product, biased draws rejected).
template <bit_generator Generator>
std::uint64_t draw_below(Generator& generator, std::uint64_t bound) {
    const std::uint64_t threshold = (0u - bound) % bound;
    wide_product product = multiply_wide(draw_bits(generator), bound);
    while (product.low < threshold) product = multiply_wide(draw_bits(generator), bound);
    return product.high;
}

/// Uniform in [low, high), of 53 random bits, rounded to double, so that high can occur. The fused multiply-add is
/// explicit, since compilers may or may not contract a product and a sum, and platforms would then differ in the last
/// bit.
template <bit_generator Generator>
double draw_real(Generator& generator, double low, double high) {
    return std::fma(high - low, static_cast<double>(draw_bits(generator) >> 11) * 0x1p-53, low);
}

/// The lengths that samplers use. A sampler returns [train_length] ascending positions and throws value_error naming a
/// length that is out of range.
struct sampled_range {
    index_t train_length = 0;      ///< number of positions, L_train
    double original_length = 0.0;  ///< L of the base model
    double t = 1.0;                ///< t' of this training step; positions reach t' * L
};

/// t' of one training step, uniform in [1, t_train] (CLEX, Algorithm 1, line 3).
template <bit_generator Generator>
double sample_ratio(Generator& generator, double t_train) {
    validate_ratio({"sample_ratio: t_train"}, t_train);
    return draw_real(generator, 1.0, t_train);
}

namespace positions_detail {

inline void check(const char* function, const sampled_range& range) {
    if (range.train_length < 1) {
        fail<value_error>({function, ": train_length ", range.train_length, " must be >= 1"});
    }
    validate_number({function, ": original_length"}, range.original_length, range.original_length >= 1.0, {">= 1"});
    validate_ratio({function, ": t"}, range.t);
    if (!(range.t * range.original_length <= 0x1p53)) {
        fail<value_error>({function, ": t * original_length ", range.t * range.original_length, " must be <= 2^53"});
    }
}

// `count` distinct integers of 1 ... last, sorted, every subset equally likely (Floyd's method).
template <class Generator>
std::vector<std::uint64_t> sorted_distinct(Generator& generator, std::uint64_t count, std::uint64_t last) {
    std::unordered_map<std::uint64_t, bool> chosen;  // used as a set; <functional> includes this header anyway
    std::vector<std::uint64_t> sorted;
    for (std::uint64_t top = last - count + 1; top <= last; ++top) {
        const std::uint64_t drawn = 1 + draw_below(generator, top);
        sorted.push_back(chosen.try_emplace(drawn).second ? drawn : top);
        chosen.try_emplace(sorted.back());
    }
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

}  // namespace positions_detail

/// Evenly stretched positions {s, 2s, ..., L_train s}, s = t' L / L_train (CLEX, section 3.3).
inline std::vector<double> uniform_positions(const sampled_range& range) {
    positions_detail::check("uniform_positions", range);
    const double step = range.t * range.original_length / static_cast<double>(range.train_length);
    std::vector<double> positions;
    for (index_t i = 1; i <= range.train_length; ++i) positions.push_back(static_cast<double>(i) * step);
    return positions;
}

/// L_train positions drawn from 1 ... floor(t' L) without replacement, sorted, every subset equally likely (CLEX,
/// section 3.3; the range and count printed in Algorithm 1 do not give one position for each training token).
///
/// If t' L < L_train there are not enough integers; then positions are drawn in the same way from the multiples of 1/m,
/// with the smallest integer m that gives L_train of them in (0, floor(t' L)].
template <bit_generator Generator>
std::vector<double> sorted_random_positions(Generator& generator, const sampled_range& range) {
    positions_detail::check("sorted_random_positions", range);
    const auto last = static_cast<std::uint64_t>(range.t * range.original_length);
    const auto count = static_cast<std::uint64_t>(range.train_length);
    const std::uint64_t per_unit = (count + last - 1) / last;
    std::vector<double> positions;
    for (const std::uint64_t drawn : positions_detail::sorted_distinct(generator, count, last * per_unit)) {
        positions.push_back(static_cast<double>(drawn) / static_cast<double>(per_unit));
    }
    return positions;
}

/// Positional skip-wise training (PoSE, Zhu et al. 2023): 0 ... train_length-1 is cut into chunks of consecutive
/// positions. The first chunk is unchanged; every other chunk is shifted by a skip, at least that of the preceding
/// chunk, such that positions stay below floor(t L), the target length:
///
///   skip_0 = 0,   skip_i uniform in skip_(i-1) ... floor(t L) - train_length
///
/// The authors' code has two chunks; the length of the first is uniform in 1 ... ceil(train_length/2). With more
/// chunks, here the length of each chunk but the last is uniform in 1 ... ceil(train_length/chunks), limited so that
/// every later chunk keeps at least one token. If floor(t L) <= train_length, positions are 0 ... train_length-1.
///
/// @param chunks  1 to train_length
template <bit_generator Generator>
std::vector<double> pose_positions(Generator& generator, const sampled_range& range, index_t chunks = 2) {
    positions_detail::check("pose_positions", range);
    if (chunks < 1 || chunks > range.train_length) {
        fail<value_error>({"pose_positions: chunks ", chunks, " must be 1 to train_length ", range.train_length});
    }
    const auto count = static_cast<std::uint64_t>(range.train_length), parts = static_cast<std::uint64_t>(chunks);
    const auto room = std::max(static_cast<std::uint64_t>(range.t * range.original_length), count) - count;
    const std::uint64_t longest = (count + parts - 1) / parts;
    std::vector<double> positions;
    std::uint64_t next = 0, skip = 0;
    for (std::uint64_t chunk = 0; chunk < parts; ++chunk) {
        const std::uint64_t later = parts - 1 - chunk, left = count - next;
        const std::uint64_t length = later == 0 ? left : 1 + draw_below(generator, std::min(longest, left - later));
        if (chunk > 0) skip += draw_below(generator, room + 1 - skip);
        for (const std::uint64_t end = next + length; next < end; ++next) {
            positions.push_back(static_cast<double>(next + skip));
        }
    }
    return positions;
}

/// RandomPos (Ruoss et al. 2023): train_length distinct integers of 1 ... floor(t L), sorted, every choice equally
/// likely, drawn anew for each sequence. t L is the longest sequence to be served; at test time positions are 1 ... n.
///
///   random_positions(generator, {.train_length = 40, .original_length = 2048})
///
/// Equal to sorted_random_positions, except that a range with fewer integers than train_length is an error, since the
/// method is not defined for it.
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

/// The settings of the sampler in CLEX's released code.
struct released_range {
    index_t train_length = 0;     ///< number of positions, at least 2
    index_t original_length = 0;  ///< max_position_embeddings
    index_t t = 1;                ///< the t of this training step, at least 1
    bool original_end = false;    ///< true: last position as in the released code; may be <= the one before it

    /// Positions are multiples of 1/per_unit: train_length / original_length, rounded down, at least 1.
    index_t per_unit() const { return std::max<index_t>(1, train_length / std::max<index_t>(1, original_length)); }

    /// The position of a draw, (drawn + 1)/per_unit, rounded to float32 after each operation as in the released code.
    /// (The quotient in double, then rounded, equals the one in float, and -ffast-math cannot change it.)
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

/// t of one training step, uniform in 1 ... max_factor.
template <bit_generator Generator>
index_t sample_whole_ratio(Generator& generator, index_t max_factor) {
    if (max_factor < 1) fail<value_error>({"sample_whole_ratio: max_factor ", max_factor, " must be >= 1"});
    return 1 + static_cast<index_t>(draw_below(generator, static_cast<std::uint64_t>(max_factor)));
}

/// The positions for given draws. With n = train_length t and s = per_unit():
///
///   0, (drawn[0] + 1)/s, ..., (drawn[train_length - 3] + 1)/s, (n - 1)/s
///
/// The last position of the released code is floor(n/s) - 1 (original_end). It equals (n - 1)/s for s = 1, may repeat
/// the preceding position for s = 2, and may be less than it for s >= 3. (n - 1)/s is the largest multiple of 1/s below
/// n/s. Positions are rounded to float32 as in the released code, so that those beyond 2^24/s may repeat.
///
/// @param drawn  train_length - 2 integers of 0 ... n - 3, increasing
/// @throws value_error for the range or a draw; shape_error unless there are train_length - 2 draws
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
                               ", the draw before it, and <= train_length * t - 3 = ", count - 3});
        }
        before = draw;
        positions.push_back(range.position_of(draw));
    }
    const index_t whole_units = count / range.per_unit();
    positions.push_back(range.original_end ? double{static_cast<float>(whole_units - 1)}
                                           : range.position_of(count - 2));
    return positions;
}

/// As above with random draws: every choice of train_length - 2 integers equally likely.
template <bit_generator Generator>
std::vector<double> released_positions(Generator& generator, const released_range& range) {
    positions_detail::check("released_positions", range);
    const auto count = static_cast<std::uint64_t>(range.train_length - 2);
    const auto last = static_cast<std::uint64_t>(range.train_length * range.t - 2);
    std::vector<index_t> drawn;
    for (const std::uint64_t one : positions_detail::sorted_distinct(generator, count, last)) {
        drawn.push_back(static_cast<index_t>(one) - 1);  // draws are 1 ... last
    }
    return released_positions(range, drawn);
}

}  // namespace cordage
