// SPDX-License-Identifier: MIT
// Formats whose groups of lanes have a scale each in a table: int8 and fp8 here, block_scaled.hpp has others; stage
// tensors.
#pragma once

#include <concepts>
#include <cstdint>

#include "cordage/core/error.hpp"
#include "cordage/tensors/codes.hpp"
#include "cordage/tensors/head_formats.hpp"

namespace cordage {

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
static_assert(head_format<scaled_bytes<std::int8_t>, std::int8_t> && head_format<scaled_bytes<fp8_e4m3>, fp8_e4m3>);

}  // namespace cordage
