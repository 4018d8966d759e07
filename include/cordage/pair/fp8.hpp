// SPDX-License-Identifier: MIT
// fp8 in both layouts of the OCP standard, e4m3 (no infinity) and e5m2, and fp4, e2m1; register layer.
#pragma once

#include <cstdint>

#include "cordage/core/macros.hpp"
#include "cordage/pair/lane.hpp"

namespace cordage {

/// An 8-bit float: 1 sign bit, 7 - MantissaBits bits of exponent, MantissaBits bits of fraction.
///
///   e4m3   largest 448, a NaN (s1111111), no infinity       (torch.float8_e4m3fn)
///   e5m2   largest 57344, infinities, NaNs                  (torch.float8_e5m2)
template <int MantissaBits>
struct fp8 {
    std::uint8_t bits;

    fp8() = default;
    CORDAGE_HOST_DEVICE static constexpr fp8 from_bits(std::uint8_t bits) noexcept {
        fp8 x;
        x.bits = bits;
        return x;
    }
    static constexpr int shift = 23 - MantissaBits;  // from the fraction of a float to that of an fp8
    static constexpr std::uint32_t bias = MantissaBits == 3 ? 7 : 15;
    static constexpr std::uint32_t largest_bits = MantissaBits == 3 ? 0x7eu : 0x7bu;
    static constexpr float largest = MantissaBits == 3 ? 448.0f : 57344.0f;
    static constexpr std::uint32_t sign = 0x80u, nan = 0x7fu;
    CORDAGE_HOST_DEVICE friend constexpr bool operator==(fp8 a, fp8 b) noexcept { return a.bits == b.bits; }
};
/// fp8 with three bits of fraction, used for most fp8 weights and caches.
using fp8_e4m3 = fp8<3>;
/// fp8 with two bits of fraction and the range of float16.
using fp8_e5m2 = fp8<2>;

/// Two neighbouring lanes in fp4, e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; no NaN, no infinity. The lane
/// of even index is in the low four bits, as in torch.float4_e2m1fn_x2. Its constants are those of one number of 4
/// bits.
struct fp4_e2m1_x2 {
    std::uint8_t bits;

    static constexpr int shift = 22;
    static constexpr std::uint32_t bias = 1, largest_bits = 7;
    static constexpr float largest = 6.0f;
    static constexpr std::uint32_t sign = 8, nan = 7;  // as devices convert a NaN
    CORDAGE_HOST_DEVICE friend constexpr bool operator==(fp4_e2m1_x2 a, fp4_e2m1_x2 b) noexcept {
        return a.bits == b.bits;
    }
};

namespace pair_detail {

/// a where w < limit, else b; w and limit below 2^31.
template <class Lane, class Word = typename lane_traits<Lane>::word>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr Word where_below(const Word& w, std::uint32_t limit, const Word& a,
                                                                     const Word& b) noexcept {
    return lane_traits<Lane>::where_bit(w - Word(limit), 31, a, b);
}

#if defined(CORDAGE_HAS_FP8_INSTRUCTIONS)
/// fp8_bits of two numbers by one instruction, `low` in the low byte.
template <class Fp8>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint16_t two_fp8_bits(float low, float high) noexcept {
    std::uint16_t both;
    if constexpr (Fp8::shift == 20) {
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    } else {
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    }
    return both;
}
#endif

}  // namespace pair_detail

/// x rounded to fp8 or fp4, nearest, ties to even, as the low byte or four bits of a word. Values beyond the largest
/// number, infinities included, become the largest number, as in engines' cache stores. (torch's casts give NaN in e4m3
/// and infinity in e5m2.) Every NaN becomes 0x7f, in fp4 7: processors differ in the sign of a NaN that they compute.
/// Lane: one float or a vector of floats.
template <class Fp8, class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE auto fp8_bits(const Lane& x) noexcept {
    using lane = lane_traits<Lane>;
    using word = typename lane::word;
#if defined(CORDAGE_HAS_FP8_INSTRUCTIONS)
    if constexpr (Fp8::sign == 0x80u) return word(pair_detail::two_fp8_bits<Fp8>(x, 0.0f));  // same bits as below
#endif
    constexpr int shift = Fp8::shift;
    constexpr std::uint32_t smallest_normal = (128u - Fp8::bias) << 23;
    const word w = lane::bits(x), magnitude = w & word(0x7fff'ffffu);
    const word in_range = lane::smaller(magnitude, lane::bits(Lane(Fp8::largest)));
    // 2^shift times the power of two of x, or of the smallest normal number if that is larger: adding it to x
    // rounds x to a multiple of its last bit in fp8, and the last bits of the sum count those multiples.
    const word power = lane::larger(in_range & word(0x7f80'0000u), word(smallest_normal));
    const word unit = power + word(static_cast<std::uint32_t>(shift) << 23);
    const word count = lane::bits(Lane(lane::from_bits(in_range) + lane::from_bits(unit))) - unit;
    const word finite = count + (power >> shift) - word(smallest_normal >> shift);
    constexpr int sign_shift = Fp8::sign == 0x80u ? 24 : 28;
    const word number = finite | ((w >> sign_shift) & word(Fp8::sign));
    return word(pair_detail::where_below<Lane>(magnitude, 0x7f80'0001u, number, word(Fp8::nan)));
}

/// The number encoded in the low byte of a word, or in the low four bits for fp4.
template <class Fp8, class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Lane from_fp8_bits(const typename lane_traits<Lane>::word& code) noexcept {
    using lane = lane_traits<Lane>;
    using word = typename lane::word;
#if defined(CORDAGE_HAS_FP8_INSTRUCTIONS)
    if constexpr (Fp8::sign == 0x80u) {
        std::uint32_t halves;
        if constexpr (Fp8::shift == 20) {
            asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(code & 0xffu)));
        } else {
            asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(code & 0xffu)));
        }
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<std::uint16_t>(halves)));
        return Lane(x);
    }
#endif
    constexpr int shift = Fp8::shift, sign_shift = Fp8::sign == 0x80u ? 24 : 28;
    const word magnitude = code & word(Fp8::sign - 1u), sign = (code & word(Fp8::sign)) << sign_shift;
    constexpr std::uint32_t smallest = (128u - Fp8::bias - (23u - shift))
                                       << 23;  // value of a subnormal number, as a float
    const word small = lane::bits(Lane(lane::from_signed(magnitude) * lane::from_bits(word(smallest))));
    const word normal = (magnitude << shift) + word((127u - Fp8::bias) << 23);
    const word finite = pair_detail::where_below<Lane>(magnitude, 1u << (23 - shift), small, normal);
    if constexpr (Fp8::largest_bits == Fp8::sign - 1u) {
        return lane::from_bits(finite | sign);
    } else {
        // Codes above the largest number: e4m3's NaN; e5m2's infinity and NaNs, which keep their fraction.
        const word beyond = shift == 20 ? word(0x7fc0'0000u) : word((magnitude << shift) | word(0x7f80'0000u));
        return lane::from_bits(pair_detail::where_below<Lane>(magnitude, Fp8::largest_bits + 1u, finite, beyond) |
                               sign);
    }
}

}  // namespace cordage
