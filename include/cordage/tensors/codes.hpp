// SPDX-License-Identifier: MIT
// From lanes to codes of one byte or of four bits and back: largest magnitudes, scales, rounding; serves the formats of
// whole heads.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "cordage/core/bits.hpp"
#include "cordage/core/index.hpp"
#include "cordage/pair/fp8.hpp"
#include "cordage/tensors/lane_memory.hpp"

namespace cordage::tensors_detail {

/// x, of which the compiler does not know how it was computed: products are rounded before they are added, and numbers
/// computed in double stay doubles, whatever is optimised.
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Lane opaque(Lane x) noexcept {
#if !defined(__CUDA_ARCH__) && (defined(__x86_64__) || defined(__aarch64__))
    const auto hide = [](auto& number) CORDAGE_ALWAYS_INLINE_LAMBDA {
#if defined(__x86_64__)
        asm("" : "+x"(number));
#else
        asm("" : "+w"(number));
#endif
    };
    if constexpr (requires { x.data; }) {
        hide(x.data);
    } else {
        hide(x);
    }
    return x;
#else
    return lane_traits<Lane>::from_bits(lane_traits<Lane>::bits(x));
#endif
}

/// a / b rounded once, also under fast-math, which would multiply by a rounded 1 / b: computed in double.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float quotient(float a, float b) noexcept {
#if defined(__CUDA_ARCH__)
    return __fdiv_rn(a, b);
#else
    return static_cast<float>(opaque(static_cast<double>(a) / opaque(static_cast<double>(b))));
#endif
}
/// 1 / d, or 0 for d = 0: the factor of the lanes in ggml's blocks.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float inverse_or_zero(float d) noexcept {
    return d != 0.0f ? quotient(1.0f, d) : 0.0f;
}
/// x, or `least` if that is larger; both >= 0. NaN if x is NaN, also under fast-math.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float at_least(float x, float least) noexcept {
    using lane = lane_traits<float>;
    return lane::from_bits(lane::larger(lane::bits(x), lane::bits(least)));
}
/// The one of two lanes with the larger magnitude, with its sign; the first if equal. NaNs are skipped.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float larger_lane(float so_far, float x) noexcept {
    return lane_memory<float>::magnitude(x) > lane_memory<float>::magnitude(so_far) ? x : so_far;
}

/// The largest magnitude of `count` lanes. NaNs are skipped, or, if KeepsNan, the result is NaN where one lane is, and
/// at least 2^-126; by bits, since fast-math assumes that there are no NaNs.
template <class Lane, bool KeepsNan = false>
CORDAGE_ALWAYS_INLINE float largest_magnitude(const float* lanes, index_t count) noexcept {
    // Words in the order of magnitudes: their bits minus (bits of infinity + 1), so that numbers wrap below 0 and NaNs
    // do not; or their bits, where NaNs are the largest. Vectors are reduced as floats: with infinity added again, or
    // divided by 2, so that the NaNs are numbers.
    constexpr std::uint32_t from_bits = KeepsNan ? 0u : 0u - 0x7f80'0001u, least = KeepsNan ? 0x80'0000u : from_bits,
                            to_number = KeepsNan ? 0u - 0x80'0000u : 0x7f80'0001u;
    const auto add = [&]<class L>(auto& so_far, lane_memory<L>, index_t at) CORDAGE_ALWAYS_INLINE_LAMBDA {
        using word = typename lane_traits<L>::word;
        const auto magnitude = lane_traits<L>::bits(lane_memory<L>::magnitude(lane_memory<L>::load(lanes + at)));
        so_far = lane_traits<L>::larger(word(magnitude + word(from_bits)), so_far);
    };
    using lane = lane_traits<Lane>;
    using word = typename lane::word;
    constexpr index_t size = lane_memory<Lane>::size;
    word largest(least);
    index_t i = 0;
    if (count >= 4 * size) {
        word others[3]{largest, largest, largest};
        for (; i + 4 * size <= count; i += 4 * size) {
            add(largest, lane_memory<Lane>{}, i);
            for (index_t v = 0; v < 3; ++v) add(others[v], lane_memory<Lane>{}, i + (v + 1) * size);
        }
        largest = lane::larger(lane::larger(largest, others[0]), lane::larger(others[1], others[2]));
    }
    for (index_t left = (count - i) / size; left > 0; --left, i += size) add(largest, lane_memory<Lane>{}, i);
    const float of_vectors = lane_memory<Lane>::largest(lane::from_bits(word(largest + word(to_number))));
    std::uint32_t all = lane_traits<float>::bits(of_vectors) - to_number;
    for (; size > 1 && i < count; ++i) add(all, lane_memory<float>{}, i);
    return lane_traits<float>::from_bits(all - from_bits);
}

/// The lane of largest magnitude with its sign, the first of equals. NaNs are skipped.
template <class Lane>
CORDAGE_ALWAYS_INLINE float largest_lane(const float* lanes, index_t count) noexcept {
    using memory = lane_memory<Lane>;
    using word = typename lane_traits<Lane>::word;
    Lane above(0.0f), below(0.0f);
    index_t i = 0;
    for (; i + memory::size <= count; i += memory::size) {
        const auto bits = lane_traits<Lane>::bits(memory::load(lanes + i));
        const Lane x = lane_traits<Lane>::from_bits(pair_detail::where_below<Lane>(
            bits & word(0x7fff'ffffu), 0x7f80'0001u, bits, word(0u)));  // without NaNs, also under fast-math
        above = memory::max(x, above);
        below = memory::max(lane_traits<Lane>::negative(x), below);
    }
    float largest = memory::largest(above);
    const float other = memory::largest(below);
    if (largest < other) largest = -other;
    if (largest == other) i = 0, largest = 0.0f;  // of equal magnitudes: first one, searched lane by lane
    for (; i < count; ++i) largest = larger_lane(largest, lanes[i]);
    return largest;
}

/// a + b, where a is rounded before even if it is a product: compilers, those of devices too, may otherwise compute
/// both in one instruction with one rounding, and a code would differ between machines.
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Lane sum_of_rounded(const Lane& a, const Lane& b) noexcept {
#if defined(__CUDA_ARCH__)
    return __fadd_rn(a, b);
#else
    return opaque(a) + b;
#endif
}

/// x, |x| <= 2^22, rounded to an integer, nearest, ties to even, as a word: the last bits of x + 1.5 * 2^23.
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE auto nearest_integer(const Lane& x) noexcept {
    using lane = lane_traits<Lane>;
    using word = typename lane::word;
    return word(lane::bits(sum_of_rounded<Lane>(x, Lane(0x1.8p+23f))) - word(0x4b40'0000u));
}

/// x, |x| < 2^22, rounded to an integer, halves away from 0. Adding the largest float below one half and truncating
/// rounds halves away from 0 and leaves numbers just below a half at the lower integer.
template <class L>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE auto rounded_half_away(const L& x) noexcept {
    using lane = lane_traits<L>;
    using word = typename lane::word;
    const word half = (lane::bits(x) & word(0x8000'0000u)) | lane::bits(L(0x1.fffffep-2f));  // with the sign of x
    return lane_memory<L>::truncated(sum_of_rounded<L>(x, lane::from_bits(half)));
}

/// Conversion between a float divided by its scale and a code of one byte: int8, fp8, or a number of fp4.
template <class Code>
struct byte_code {
    static constexpr float largest = Code::largest;
    template <class Lane>
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE auto code_of(const Lane& x) noexcept {
        return fp8_bits<Code>(x);
    }
    template <class Lane>
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE Lane
    number_of(const typename lane_traits<Lane>::word& code) noexcept {
        return from_fp8_bits<Code, Lane>(code);
    }
};
template <>
struct byte_code<std::int8_t> {
    static constexpr float largest = 127.0f;
    template <class Lane>
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE auto code_of(const Lane& x) noexcept {
        return nearest_integer<Lane>(lane_memory<Lane>::min(lane_memory<Lane>::max(x, Lane(-largest)), Lane(largest)));
    }
    template <class Lane>
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE Lane
    number_of(const typename lane_traits<Lane>::word& code) noexcept {
        using word = typename lane_traits<Lane>::word;
        return lane_traits<Lane>::from_signed(word((code ^ word(0x80u)) - word(0x80u)));
    }
};

/// The scale for a group's largest magnitude; NaN for NaN.
template <class Code>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float made_scale(float largest) noexcept {
    const float scale = quotient(largest, byte_code<Code>::largest);
    return scale < 0x1p-126f ? 0x1p-126f : scale;
}

/// Calls f(Lane tag, i) over `count` lanes: whole vectors, then single floats.
template <class Lane, class F>
CORDAGE_ALWAYS_INLINE void for_each_lane(index_t count, const F& f) noexcept {
    index_t i = 0;
    if constexpr (!std::same_as<Lane, float>) {
        constexpr index_t size = lane_memory<Lane>::size;
        for (; i + 4 * size <= count; i += 4 * size) {
            for (index_t v = 0; v < 4; ++v) f(lane_memory<Lane>{}, i + v * size);
        }
        for (; i + size <= count; i += size) f(lane_memory<Lane>{}, i);
    }
    for (; i < count; ++i) f(lane_memory<float>{}, i);
}

/// Lanes of a code of one byte: 1, in fp4 2.
template <class Code>
inline constexpr index_t lanes_of_code = std::same_as<Code, fp4_e2m1_x2> ? 2 : 1;

/// Copies the codes of `count` lanes, an even number, from one byte each to four bits each, and back.
CORDAGE_ALWAYS_INLINE void pack_fours(const std::uint8_t* codes, fp4_e2m1_x2* packed, index_t count) noexcept {
    const auto pack = [&](index_t i) {
        packed[i].bits = static_cast<std::uint8_t>(codes[2 * i] | codes[2 * i + 1] << 4);
    };
    index_t i = 0;
    for (; i + 32 <= count / 2; i += 32) {
        for (index_t j = i; j < i + 32; ++j) pack(j);  // a constant number, for vectors
    }
    for (; i < count / 2; ++i) pack(i);
}
CORDAGE_ALWAYS_INLINE void unpack_fours(const fp4_e2m1_x2* packed, std::uint8_t* codes, index_t count) noexcept {
    const auto unpack = [&](index_t i) {
        codes[2 * i] = packed[i].bits & 15u;
        codes[2 * i + 1] = packed[i].bits >> 4;
    };
    index_t i = 0;
    for (; i + 32 <= count / 2; i += 32) {
        for (index_t j = i; j < i + 32; ++j) unpack(j);
    }
    for (; i < count / 2; ++i) unpack(i);
}

/// lanes = scale * codes, for `count` codes, one in each byte.
template <class Lane, class Code>
CORDAGE_ALWAYS_INLINE void load_codes(const std::uint8_t* codes, float scale, float* lanes, index_t count) noexcept {
    for_each_lane<Lane>(count, [&]<class L>(lane_memory<L>, index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const auto code = lane_memory<L>::load_bytes(codes + i);
        lane_memory<L>::store(L(scale) * byte_code<Code>::template number_of<L>(code), lanes + i);
    });
}
/// codes = code_of(lanes * inverse); code_of maps floats of a lane type to its words.
template <class Lane, class CodeOf>
CORDAGE_ALWAYS_INLINE void store_codes(const float* lanes, float inverse, std::uint8_t* codes, index_t count,
                                       const CodeOf& code_of) noexcept {
    for_each_lane<Lane>(count, [&]<class L>(lane_memory<L>, index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const L x = lane_memory<L>::load(lanes + i) * L(inverse);
        lane_memory<L>::store_bytes(code_of(x), codes + i);
    });
}

/// Writes the groups of a head in three steps, of several groups each, so that a processor finds their scales at the
/// same time: number = largest(group), number = scale(group, number), codes(group, number). IsOftenOne: heads usually
/// have one group, for which this is more code and less time.
template <bool IsOftenOne = false, class Largest, class Scale, class Codes>
CORDAGE_ALWAYS_INLINE void write_groups(index_t groups, const Largest& largest, const Scale& scale,
                                        const Codes& codes) noexcept {
    if (IsOftenOne && groups == 1) return codes(0, scale(0, largest(0)));
    constexpr index_t most = 8;
    float numbers[most];
    for (index_t first = 0; first < groups; first += most) {
        const index_t some = std::min(most, groups - first);
        for (index_t i = 0; i < some; ++i) numbers[i] = largest(first + i);
        for (index_t i = 0; i < some; ++i) numbers[i] = scale(first + i, numbers[i]);
        for (index_t i = 0; i < some; ++i) codes(first + i, numbers[i]);
    }
}

}  // namespace cordage::tensors_detail
