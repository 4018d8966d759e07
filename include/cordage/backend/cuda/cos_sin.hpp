// SPDX-License-Identifier: MIT
// Positions as whole steps and a fraction, phases, and their cos and sin in floats; serves the CUDA kernels.
#pragma once

#include <cstdint>

#include "cordage/angles/cos_sin_polynomial.hpp"
#include "cordage/backend/cuda/element.hpp"
#include "cordage/core/bits.hpp"

namespace cordage::backend {

/// A position of any type: steps + rest * 2^-64, with a sign of its own where it is real.
struct split_position {
    std::uint64_t steps;
    std::uint64_t rest = 0;
    bool negative = false;
};
CORDAGE_HOST_DEVICE inline split_position split(std::int64_t position) noexcept {
    return {static_cast<std::uint64_t>(position)};
}
CORDAGE_HOST_DEVICE inline split_position split(double position) noexcept {
    const double magnitude = position < 0.0 ? -position : position;
    const auto steps = static_cast<std::uint64_t>(magnitude);
    const auto rest = static_cast<std::uint64_t>((magnitude - static_cast<double>(steps)) * 0x1p64);
    return {steps, rest, position < 0.0};
}

/// The phase of position * theta in units of 2^-64 turn, theta / 2 pi = whole + fraction * 2^-64: phase_of in
/// basis/turns.hpp says why it is exact. `whole` points to the whole turns, which whole positions do not need.
CORDAGE_HOST_DEVICE inline std::uint64_t phase_of(const split_position& p, std::uint64_t fraction,
                                                  const std::uint64_t* whole) noexcept {
    std::uint64_t phase = p.steps * fraction;
    if (p.rest != 0) phase += multiply_high(p.rest, fraction) + p.rest * *whole;
    return p.negative ? ~phase + 1u : phase;
}

struct cos_and_sin {
    float cos;
    float sin;
};

/// cos and sin of phase * 2^-32 turn, within 8e-8 absolute: as backend/simd/cos_sin.hpp, which explains it, one
/// phase at a time. Does not call sinf.
CORDAGE_HOST_DEVICE inline cos_and_sin cos_sin_of_phase32(std::uint32_t phase) noexcept {
    const std::uint32_t t = phase + 0x2000'0000u;
    const std::uint32_t quarter = t & 0xc000'0000u;
    const float y = static_cast<float>(static_cast<std::int32_t>(phase - quarter)) * 0x1p-32f;
    float c, s;
    cos_sin_polynomial(
        y, [](float a, float b, float d) { return fused(a, b, d); }, c, s);
    const bool is_odd = (t & 0x4000'0000u) != 0;
    const std::uint32_t cos_bits = bits_of(is_odd ? s : c), sin_bits = bits_of(is_odd ? c : s);
    constexpr std::uint32_t top = 0x8000'0000u;
    return {float_of(cos_bits ^ ((t + 0x4000'0000u) & top)), float_of(sin_bits ^ (t & top))};
}

}  // namespace cordage::backend
