// SPDX-License-Identifier: MIT
// Formats that store a head as a whole, with scales computed from its lanes: int8, fp8, ggml's blocks; stage tensors.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cordage/core/bits.hpp"
#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"
#include "cordage/pair/format.hpp"
#include "cordage/pair/fp8.hpp"
#include "cordage/tensors/lane_memory.hpp"

namespace cordage {

/// The indices of a head: row and token in a dense tensor, block and slot in a cache.
struct head_place {
    index_t row;
    index_t token;
    index_t head;
};

/// A format of whole heads: `lanes_of_element` lanes in each element T, and two functions that convert all lanes of one
/// head. Data beside the elements, such as a scale for each head, is found by the head's place.
///
///   load_head<Lane>(elements, place, lanes, count)   reads elements into `count` floats
///   store_head<Lane>(lanes, count, elements, place)  writes `count` floats as elements
///
/// Lane: float, or a vector of floats that a backend uses; a format may ignore it. A format may also have
///
///   bool copy_head(source, elements, place, to_elements, to_place, count)
///
/// which copies a head bit for bit from `source`, a format of the same type, and returns false where it cannot.
template <class F, class T>
concept head_format = requires(const F& format, const T* from, T* to, const head_place& at, float* lanes,
                               const float* numbers, index_t count) {
    { F::lanes_of_element } -> std::convertible_to<index_t>;
    requires std::is_trivially_copyable_v<F>;
    format.template load_head<float>(from, at, lanes, count);
    format.template store_head<float>(numbers, count, to, at);
};

/// Lanes of one element: 1, except in block formats.
template <class Format>
inline constexpr index_t lanes_of_element = 1;
/// The format's own lanes_of_element.
template <class Format>
    requires requires { Format::lanes_of_element; }
inline constexpr index_t lanes_of_element<Format> = Format::lanes_of_element;

/// Whether two formats are equivalent: of one type and, if they have data members, equal.
template <class A, class B>
constexpr bool is_same_format(const A& a, const B& b) noexcept {
    if constexpr (!std::same_as<A, B>) {
        return false;
    } else if constexpr (requires { a == b; }) {
        return a == b;
    } else {
        return std::is_empty_v<A>;
    }
}

/// Number of elements in a head of `lanes` lanes: `lanes`, except in block formats.
template <class Format>
constexpr index_t elements_of_head(index_t lanes) noexcept {
    return rounded_up_quotient(lanes, lanes_of_element<Format>);
}

/// A format that a tensor of elements T may have: of single elements, or of whole heads.
template <class F, class T>
concept tensor_format = format_of<F, T> || head_format<F, T>;

/// Largest head, in lanes, of a format of whole heads: heads are converted in buffers on the stack.
inline constexpr index_t most_lanes_of_head = 2048;

/// Scales of quantised heads: [rows, tokens, heads, groups], or [blocks, block_size, heads, groups] of a cache, with
/// any strides, which count scales; along a stride of 0 all share one scale. The groups of a head are dense.
template <class Scale>
struct scale_table_of {
    Scale* data = nullptr;
    index_t row_stride = 0;
    index_t token_stride = 0;
    index_t head_stride = 0;

    /// The scales of one row of tokens whose heads became rows.
    scale_table_of heads_as_rows() const noexcept { return {data, head_stride, token_stride, 0}; }
    friend bool operator==(const scale_table_of&, const scale_table_of&) noexcept = default;
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Scale* at(const head_place& place) const noexcept {
        return data + place.row * row_stride + place.token * token_stride + place.head * head_stride;
    }
};
/// Scales in float.
using scale_table = scale_table_of<float>;

/// Whether scales of a format may be given: whether makes_scales is a member and no constant.
template <class F>
inline constexpr bool may_have_given_scales = requires(F f) { f.makes_scales = false; };

namespace tensors_detail {

/// Copies elements bit for bit; source and destination may overlap.
template <class T>
CORDAGE_ALWAYS_INLINE void copy_elements(const T* from, T* to, index_t count) noexcept {
    std::memmove(static_cast<void*>(to), from, static_cast<std::size_t>(count) * sizeof(T));
}

/// A format for heads that became rows (heads_as_rows): one without members is the same, one that holds another has
/// that one changed, and any other says itself what it becomes.
template <class Format, class T>
inline constexpr bool has_heads_as_rows =
    !head_format<Format, T> || std::is_empty_v<Format> || requires(const Format& f) { f.heads_as_rows(); };
template <class Format, class T>
    requires requires(const Format& f) { f.inner; }
inline constexpr bool has_heads_as_rows<Format, T> =
    has_heads_as_rows<std::remove_cvref_t<decltype(std::declval<Format>().inner)>, T>;
template <class Format>
Format heads_as_rows(Format format) noexcept {
    if constexpr (requires { format.inner; }) {
        format.inner = heads_as_rows(format.inner);
    } else if constexpr (requires { format.heads_as_rows(); }) {
        format = format.heads_as_rows();
    }
    return format;
}

/// Converts a head, of elements or of a format of whole heads, to floats and back.
template <class Lane, class Format, class T>
CORDAGE_ALWAYS_INLINE void load_lanes(const Format& format, const T* from, const head_place& at, float* lanes,
                                      index_t count) noexcept {
    if constexpr (head_format<Format, T>) {
        format.template load_head<Lane>(from, at, lanes, count);
    } else {
        for (index_t i = 0; i < count; ++i) lanes[i] = format.load(from[i]);
    }
}
template <class Lane, class Format, class T>
CORDAGE_ALWAYS_INLINE void store_lanes(const Format& format, const float* lanes, index_t count, T* to,
                                       const head_place& at) noexcept {
    if constexpr (head_format<Format, T>) {
        format.template store_head<Lane>(lanes, count, to, at);
    } else {
        for (index_t i = 0; i < count; ++i) to[i] = format.store(lanes[i]);
    }
}
/// Copies a head bit for bit; false if the format cannot.
template <class Format, class T>
CORDAGE_ALWAYS_INLINE bool copy_lanes(const Format& source, const T* from, const head_place& from_at,
                                      const Format& format, T* to, const head_place& to_at, index_t count) noexcept {
    if constexpr (requires { format.copy_head(source, from, from_at, to, to_at, count); }) {
        return format.copy_head(source, from, from_at, to, to_at, count);
    } else if constexpr (head_format<Format, T>) {
        return false;
    } else {
        if (!is_same_format(format, source)) return false;
        copy_elements(from, to, count);
        return true;
    }
}

/// a / b rounded once, also under fast-math, which would multiply by a rounded 1 / b: computed in double. The bits keep
/// compilers from computing it in float all the same.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float quotient(float a, float b) noexcept {
#if defined(__CUDA_ARCH__)
    return __fdiv_rn(a, b);
#else
    const auto bits = lane_traits<double>::bits(static_cast<double>(a) / static_cast<double>(b));
    return static_cast<float>(lane_traits<double>::from_bits(bits));
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
    return lane_traits<Lane>::from_bits(lane_traits<Lane>::bits(a)) + b;
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

/// The q4_0 code of a lane, as a word, given 1 / d of its block; 0 for NaN.
template <class L>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE auto q4_0_code(const L& x, float inverse) noexcept {
    using memory = lane_memory<L>;
    const L shifted = sum_of_rounded<L>(L(x * L(inverse)), L(8.5f));
    return memory::truncated(memory::min(memory::max(shifted, L(0.0f)), L(15.0f)));
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

/// Calls f(its first scale, its first lane, its lanes) for each group of a head.
template <class Format, class F>
CORDAGE_ALWAYS_INLINE void for_each_group(const Format& format, const head_place& at, index_t count,
                                          const F& f) noexcept {
    const index_t each = format.lanes_of_scale == 0 ? count : format.lanes_of_scale;
    auto* scale = format.scales.at(at);
    for (index_t first = 0; first < count; first += each) f(scale++, first, each);
}
/// @throws shape_error, naming the field
template <class Format>
void check_groups(const Format& format, const char* function, const char* name, index_t head_dim) {
    if (format.scales.data == nullptr)
        fail<shape_error>({function, ": ", name, "'s scales.data nullptr must point to the scales"});
    constexpr index_t least = Format::lanes_of_element;
    const index_t each = format.lanes_of_scale;
    if (each < 0 || (each > 0 && (head_dim % each != 0 || each % least != 0))) {
        fail<shape_error>({function, ": ", name, "'s lanes_of_scale ", each, " must ", least > 1 ? "be even and " : "",
                           "divide head_dim ", head_dim, ", or be 0"});
    }
}
/// Heads of a group_format, read, written and copied.
template <class Lane, class Format, class Code>
CORDAGE_ALWAYS_INLINE void load_groups(const Format& format, const Code* from, const head_place& at, float* lanes,
                                       index_t count) noexcept {
    const auto load = [&](const std::uint8_t* codes) CORDAGE_ALWAYS_INLINE_LAMBDA {
        for_each_group(format, at, count,
                       [&](const auto* scale, index_t first, index_t some) CORDAGE_ALWAYS_INLINE_LAMBDA {
                           load_codes<Lane, Code>(codes + first, format.factor_of(*scale), lanes + first, some);
                       });
    };
    if constexpr (lanes_of_code<Code> == 1) {
        load(reinterpret_cast<const std::uint8_t*>(from));
    } else {
        alignas(64) std::uint8_t codes[most_lanes_of_head];
        unpack_fours(from, codes, count);
        load(codes);
    }
}
template <class Lane, class Format, class Code>
CORDAGE_ALWAYS_INLINE void store_groups(const Format& format, const float* lanes, index_t count, Code* to,
                                        const head_place& at) noexcept {
    const index_t each = format.lanes_of_scale == 0 ? count : format.lanes_of_scale;
    const auto store = [&](std::uint8_t* codes) CORDAGE_ALWAYS_INLINE_LAMBDA {
        write_groups<may_have_given_scales<Format>>(
            count / each,
            [&](index_t group) CORDAGE_ALWAYS_INLINE_LAMBDA {
                if (!format.makes_scales) return 0.0f;
                return largest_magnitude<Lane, Format::keeps_nan>(lanes + group * each, each);
            },
            [&, scales = format.scales.at(at)](index_t group, float largest)
                CORDAGE_ALWAYS_INLINE_LAMBDA { return format.write_scale(largest, scales + group); },
            [&](index_t group, float inverse) CORDAGE_ALWAYS_INLINE_LAMBDA {
                store_codes<Lane>(lanes + group * each, inverse, codes + group * each, each,
                                  [](const auto& x)
                                      CORDAGE_ALWAYS_INLINE_LAMBDA { return byte_code<Code>::code_of(x); });
            });
    };
    if constexpr (lanes_of_code<Code> == 1) {
        store(reinterpret_cast<std::uint8_t*>(to));
    } else {
        alignas(64) std::uint8_t codes[most_lanes_of_head];
        store(codes);
        pack_fours(codes, to, count);
    }
}
template <class Format, class Code>
CORDAGE_ALWAYS_INLINE bool copy_groups(const Format& source, const Code* from, const head_place& from_at,
                                       const Format& format, Code* to, const head_place& to_at,
                                       index_t count) noexcept {
    if (source.lanes_of_scale != format.lanes_of_scale) return false;
    const auto* of_source = source.scales.at(from_at);
    bool is_equal = true;
    for_each_group(format, to_at, count, [&](auto* scale, index_t, index_t) CORDAGE_ALWAYS_INLINE_LAMBDA {
        if (format.makes_scales) *scale = *of_source;
        if (!format.makes_scales && !(*scale == *of_source)) is_equal = false;
        ++of_source;
    });
    if (is_equal) copy_elements(from, to, count / lanes_of_code<Code>);
    return is_equal;
}

}  // namespace tensors_detail

/// Formats whose groups of lanes have a scale each in a table, and codes of one byte.
///
///   scales, lanes_of_scale                 the table, and the lanes of a group; 0: all lanes of the head
///   makes_scales                           whether scales are computed, or given; a constant where they never are
///   keeps_nan                              whether a NaN makes the whole group NaN
///   factor_of(scale)                       the factor of a group's codes
///   write_scale(largest magnitude, scale)  writes a computed scale; returns what lanes are multiplied by before they
///                                          are rounded to codes
template <class F>
concept group_format = requires(const F& f, float largest) {
    requires std::same_as<decltype(f.write_scale(largest, f.scales.data)), float>;
    requires std::same_as<decltype(f.factor_of(*f.scales.data)), float>;
    { f.lanes_of_scale } -> std::convertible_to<index_t>;
    { f.makes_scales } -> std::convertible_to<bool>;
    { F::keeps_nan } -> std::convertible_to<bool>;
};

/// Codes of one byte, int8 or fp8, times a float scale: x = scale * code.
///
///   scaled_bytes<std::int8_t>{.scales = {data, tokens * heads, heads, 1}}         one computed for each token and head
///   scaled_bytes<fp8_e4m3>{.scales = {&scale, 0, 0, 0}, .makes_scales = false}    one given for the tensor
///
/// A computed scale is the largest magnitude / 127 (448, 57344), at least 2^-126. Codes are rounded to nearest, ties to
/// even, and saturate.
template <class Code>
struct scaled_bytes {
    using compute = float;
    static constexpr index_t lanes_of_element = 1;

    static constexpr bool keeps_nan = false;

    scale_table scales;
    index_t lanes_of_scale = 0;  ///< lanes that share a scale; 0: all lanes of the head
    bool makes_scales = true;    ///< false: scales are given, and read

    template <class Lane>
    CORDAGE_ALWAYS_INLINE void load_head(const Code* from, const head_place& at, float* lanes,
                                         index_t count) const noexcept {
        tensors_detail::load_groups<Lane>(*this, from, at, lanes, count);
    }
    template <class Lane>
    CORDAGE_ALWAYS_INLINE void store_head(const float* lanes, index_t count, Code* to,
                                          const head_place& at) const noexcept {
        tensors_detail::store_groups<Lane>(*this, lanes, count, to, at);
    }
    /// Copies codes and scales; returns false where scales are given and differ.
    CORDAGE_ALWAYS_INLINE bool copy_head(const scaled_bytes& source, const Code* from, const head_place& from_at,
                                         Code* to, const head_place& to_at, index_t count) const noexcept {
        return tensors_detail::copy_groups(source, from, from_at, *this, to, to_at, count);
    }

    /// The scale; NaN where a given one is invalid, as only a device meets it.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float factor_of(float scale) const noexcept {
        const bool is_usable = makes_scales || (is_finite(scale) && scale != 0.0f);
        return is_usable ? scale : lane_traits<float>::from_bits(0x7fff'ffffu);
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float write_scale(float largest, float* scale) const noexcept {
        if (!makes_scales) return tensors_detail::quotient(1.0f, factor_of(*scale));
        const float made = tensors_detail::made_scale<Code>(largest);
        *scale = made;
        return tensors_detail::quotient(1.0f, made);
    }

    scaled_bytes heads_as_rows() const noexcept { return {scales.heads_as_rows(), lanes_of_scale, makes_scales}; }
    friend bool operator==(const scaled_bytes&, const scaled_bytes&) noexcept = default;
    /// @throws shape_error, naming the field
    void check(const char* function, const char* name, index_t head_dim) const {
        tensors_detail::check_groups(*this, function, name, head_dim);
    }
};

/// ggml's block of 32 lanes: x = d * code, codes -127 to 127.
struct q8_0_block {
    float16 d;
    std::array<std::int8_t, 32> codes;
};
/// ggml's block of 32 lanes: x = d * (code - 8), codes 0 to 15; byte i holds lane i in its low bits and lane i + 16.
struct q4_0_block {
    float16 d;
    std::array<std::uint8_t, 16> codes;
};
static_assert(sizeof(q8_0_block) == 34 && sizeof(q4_0_block) == 18);

/// The scale of one of ggml's blocks, and its inverse.
struct block_scale {
    float16 d;
    float inverse;  ///< 1 / d, of d before it was rounded
};

/// Heads in blocks of q8_0, bit for bit those of ggml's quantize_row_q8_0_ref (halves away from 0).
struct q8_0 {
    using compute = float;
    static constexpr index_t lanes_of_element = 32;

    template <class Lane>
    CORDAGE_ALWAYS_INLINE void load_head(const q8_0_block* from, const head_place&, float* lanes,
                                         index_t count) const noexcept {
        for (; count > 0; count -= 32, lanes += 32, ++from) {
            tensors_detail::load_codes<Lane, std::int8_t>(reinterpret_cast<const std::uint8_t*>(from->codes.data()),
                                                          to_float(from->d), lanes, 32);
        }
    }
    template <class Lane>
    CORDAGE_ALWAYS_INLINE void store_head(const float* lanes, index_t count, q8_0_block* to,
                                          const head_place&) const noexcept {
        tensors_detail::write_groups(
            count / 32,
            [&](index_t block) CORDAGE_ALWAYS_INLINE_LAMBDA {
                return tensors_detail::largest_magnitude<Lane>(lanes + 32 * block, 32);
            },
            [&](index_t block, float largest) CORDAGE_ALWAYS_INLINE_LAMBDA {
                const block_scale scale = scale_of(largest);
                to[block].d = scale.d;
                return scale.inverse;
            },
            [&](index_t block, float inverse) CORDAGE_ALWAYS_INLINE_LAMBDA {
                tensors_detail::store_codes<Lane>(
                    lanes + 32 * block, inverse, reinterpret_cast<std::uint8_t*>(to[block].codes.data()), 32,
                    [](const auto& x) CORDAGE_ALWAYS_INLINE_LAMBDA { return tensors_detail::rounded_half_away(x); });
            });
    }
    /// The scale of a block with this largest magnitude.
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE block_scale scale_of(float largest) noexcept {
        const float d = tensors_detail::quotient(largest, 127.0f);
        return {element_traits<float16>::store(d), tensors_detail::inverse_or_zero(d)};
    }
    CORDAGE_ALWAYS_INLINE bool copy_head(q8_0, const q8_0_block* from, const head_place&, q8_0_block* to,
                                         const head_place&, index_t count) const noexcept {
        tensors_detail::copy_elements(from, to, count / lanes_of_element);
        return true;
    }
    friend constexpr bool operator==(q8_0, q8_0) = default;
};

/// Heads in blocks of q4_0, bit for bit those of ggml's quantize_row_q4_0_ref.
struct q4_0 {
    using compute = float;
    static constexpr index_t lanes_of_element = 32;

    template <class Lane>
    CORDAGE_ALWAYS_INLINE void load_head(const q4_0_block* from, const head_place&, float* lanes,
                                         index_t count) const noexcept {
        for (; count > 0; count -= 32, lanes += 32, ++from) {
            const float d = to_float(from->d);
            tensors_detail::for_each_lane<Lane>(16, [&]<class L>(lane_memory<L>,
                                                                 index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
                using word = typename lane_traits<L>::word;
                const word both = lane_memory<L>::load_bytes(from->codes.data() + i);
                const auto store = [&](const word& code, index_t lane) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    lane_memory<L>::store(L(lane_traits<L>::from_signed(word(code - word(8u))) * L(d)), lanes + lane);
                };
                store(word(both & word(15u)), i);
                store(word(both >> 4), i + 16);
            });
        }
    }
    template <class Lane>
    CORDAGE_ALWAYS_INLINE void store_head(const float* lanes, index_t count, q4_0_block* to,
                                          const head_place&) const noexcept {
        tensors_detail::write_groups(
            count / 32,
            [&](index_t block)
                CORDAGE_ALWAYS_INLINE_LAMBDA { return tensors_detail::largest_lane<Lane>(lanes + 32 * block, 32); },
            [&](index_t block, float largest) CORDAGE_ALWAYS_INLINE_LAMBDA {
                const block_scale scale = scale_of(largest);
                to[block].d = scale.d;
                return scale.inverse;
            },
            [&](index_t block, float inverse) CORDAGE_ALWAYS_INLINE_LAMBDA {
                const auto pack = [&]<class L>(lane_memory<L>, index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    const auto code = [&](index_t lane) CORDAGE_ALWAYS_INLINE_LAMBDA {
                        return tensors_detail::q4_0_code(lane_memory<L>::load(lanes + 32 * block + lane), inverse);
                    };
                    lane_memory<L>::store_bytes(code(i) | (code(i + 16) << 4), to[block].codes.data() + i);
                };
                tensors_detail::for_each_lane<Lane>(16, pack);
            });
    }
    /// The scale of a block whose first lane of largest magnitude is `largest`, with its sign.
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE block_scale scale_of(float largest) noexcept {
        const float d = largest / -8.0f;
        // d = 0 / -8 = -0, whose sign fast-math may drop
        return {largest != 0.0f ? element_traits<float16>::store(d) : float16::from_bits(0x8000),
                tensors_detail::inverse_or_zero(d)};
    }
    CORDAGE_ALWAYS_INLINE bool copy_head(q4_0, const q4_0_block* from, const head_place&, q4_0_block* to,
                                         const head_place&, index_t count) const noexcept {
        tensors_detail::copy_elements(from, to, count / lanes_of_element);
        return true;
    }
    friend constexpr bool operator==(q4_0, q4_0) = default;
};
static_assert(head_format<scaled_bytes<std::int8_t>, std::int8_t> && head_format<scaled_bytes<fp8_e4m3>, fp8_e4m3>);
static_assert(head_format<q8_0, q8_0_block> && head_format<q4_0, q4_0_block>);

}  // namespace cordage
