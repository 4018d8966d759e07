// SPDX-License-Identifier: MIT
// Unbiased integers and reals from any bit generator, the same on every platform; serves the samplers of positions.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include "cordage/core/bits.hpp"

namespace cordage {

/// What std::uniform_random_bit_generator asks for, without its header, which is dear to a compiler.
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
                  "cordage samplers: Generator must give 64 random bits a call, as std::mt19937_64 does");
    return generator();
}

/// An integer in [0, bound), bound >= 1, each equally likely (high half of a product, biased draws thrown away).
template <bit_generator Generator>
std::uint64_t draw_below(Generator& generator, std::uint64_t bound) {
    const std::uint64_t threshold = (0u - bound) % bound;
    wide_product product = multiply_wide(draw_bits(generator), bound);
    while (product.low < threshold) product = multiply_wide(draw_bits(generator), bound);
    return product.high;
}

/// A real in [low, high], of 53 random bits; high itself only by rounding. The fused multiply-add is written out, since
/// a compiler may make one of a product and a sum, or not, and then platforms would differ in the last bit.
template <bit_generator Generator>
double draw_real(Generator& generator, double low, double high) {
    return std::fma(high - low, static_cast<double>(draw_bits(generator) >> 11) * 0x1p-53, low);
}

}  // namespace cordage
