// SPDX-License-Identifier: MIT
// Vector cos and sin of 32-bit phases; serves the SIMD rotation.
#pragma once

#include <cstdint>
#include <xsimd/xsimd.hpp>

#include "cordage/angles/cos_sin_polynomial.hpp"
#include "cordage/backend/simd/bits_as.hpp"
#include "cordage/backend/simd/multiply_add.hpp"
#include "cordage/core/macros.hpp"

namespace cordage::backend {

template <class Arch>
struct cos_sin_batch {
    xsimd::batch<float, Arch> cos;
    xsimd::batch<float, Arch> sin;
};

/// cos and sin of phase * 2^-32 turn, within 8e-8 absolute where multiply_add is fused.
///
/// The nearest quarter turn comes off in integers: t = phase + 1/8 turn, its two upper bits are the quarter, and y =
/// phase - quarter is at most an eighth of a turn. Quarters swap cos and sin of y and flip their signs by bits.
template <class Arch>
CORDAGE_ALWAYS_INLINE cos_sin_batch<Arch> cos_sin_of_phase32(const xsimd::batch<std::uint32_t, Arch>& phase) noexcept {
    using real = xsimd::batch<float, Arch>;
    using word = xsimd::batch<std::uint32_t, Arch>;
    const word t = phase + word(0x2000'0000u);
    const word quarter = t & word(0xc000'0000u);
    const auto folded = bits_as<xsimd::batch<std::int32_t, Arch>>(phase - quarter);
    const real y = xsimd::to_float(folded) * real(0x1p-32f);
    const auto fused = [](const real& a, const real& b, const real& c)
                           CORDAGE_ALWAYS_INLINE_LAMBDA { return multiply_add(a, b, c); };
    real c, s;
    cos_sin_polynomial(y, fused, c, s);
    const auto bits = [](const real& x) { return bits_as<word>(x); };
    word cos_bits, sin_bits;
#if defined(__AVX512F__)
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
        const __mmask16 is_odd = _mm512_test_epi32_mask(t, word(0x4000'0000u));
        cos_bits = word(_mm512_mask_mov_epi32(bits(c), is_odd, bits(s)));
        sin_bits = word(_mm512_mask_mov_epi32(bits(s), is_odd, bits(c)));
    } else
#endif
    {
        const word odd = word(0u) - ((t >> 30) & word(1u));  // all ones in odd quarters
        cos_bits = (bits(c) & ~odd) | (bits(s) & odd);
        sin_bits = (bits(s) & ~odd) | (bits(c) & odd);
    }
    const word top(0x8000'0000u);
    return {bits_as<real>(cos_bits ^ ((t + word(0x4000'0000u)) & top)), bits_as<real>(sin_bits ^ (t & top))};
}

}  // namespace cordage::backend
