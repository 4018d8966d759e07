// SPDX-License-Identifier: MIT
// Heads in any format as units, each read or written by one thread; serves the CUDA kernel of the cache path.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cordage/backend/cuda/unit.hpp"
#include "cordage/core/bits.hpp"
#include "cordage/tensors/head_formats.hpp"

namespace cordage {

/// How a device reads and writes a format of whole heads. Defined for the library's formats; specialise it for your own
/// format of elements T. A head consists of groups of lanes that share a scale, and of units that one thread reads or
/// writes:
///
///   lanes_of_unit                                          constant; divides head_dim
///   lanes_of_scale(format, head_dim)                       lanes of a group; a multiple of lanes_of_unit
///   load(format, head, place, unit, lanes)                 the unit's lanes_of_unit floats
///   write_scale(format, largest, head, place, group)         called by one thread when all lanes are known. `largest`:
///                                                            the group's first lane of largest magnitude, with sign;
///                                                            NaN if the head has invalid input. Returns the `number`
///                                                            passed to `store`
///   store(format, lanes, number, head, unit)               the unit's lanes as elements
///
/// All are static and CORDAGE_HOST_DEVICE; head is a T* to the head's first element, place a head_place. A unit's lanes
/// are neighbours, from unit * lanes_of_unit on, unless it defines `lane(unit, i)`.
template <class Format>
struct device_format;

namespace backend {

/// Formats of whole heads that a device can read and write.
template <class Format, class T>
concept device_head_format = requires(const Format& f, const T* from, T* to, const head_place& at, float* lanes,
                                      index_t i, float number) {
    { device_format<Format>::lanes_of_unit } -> std::convertible_to<int>;
    { device_format<Format>::lanes_of_scale(f, i) } -> std::same_as<index_t>;
    device_format<Format>::load(f, from, at, i, lanes);
    { device_format<Format>::write_scale(f, number, to, at, i) } -> std::same_as<float>;
    device_format<Format>::store(f, lanes, number, to, i);
};

/// Loads a small integer from aligned memory in one instruction.
template <class Word>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Word load_word(const void* from) noexcept {
#if !defined(__CUDA_ARCH__)
    CORDAGE_ASSERT(is_aligned_to<Word>(from));
#endif
    Word word;
    std::memcpy(&word, __builtin_assume_aligned(from, sizeof(Word)), sizeof(Word));
    return word;
}
template <class Word>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE void store_word(Word word, void* to) noexcept {
#if !defined(__CUDA_ARCH__)
    CORDAGE_ASSERT(is_aligned_to<Word>(to));
#endif
    std::memcpy(__builtin_assume_aligned(to, sizeof(Word)), &word, sizeof(Word));
}

/// N elements; N is the elements of a piece, or 1.
template <class T, class Format, int N>
struct element_units {
    static constexpr int lanes_of_unit = N;

    CORDAGE_HOST_DEVICE static void load(const Format& format, const T* head, const head_place&, index_t unit,
                                         float* lanes) noexcept {
        if constexpr (N == 1) {
            lanes[0] = format.load(head[unit]);
        } else {
            unpack<T>(load_piece(head + unit * N), lanes);
        }
    }
    CORDAGE_HOST_DEVICE static void store(const Format& format, const float* lanes, float, T* head,
                                          index_t unit) noexcept {
        if constexpr (N == 1) {
            head[unit] = format.store(lanes[0]);
        } else {
            store_piece(packed<T>(lanes), head + unit * N);
        }
    }
};

/// N one-byte codes, read as a 4-byte word or as single bytes.
template <class Code, int N>
struct byte_units {
    using format = scaled_bytes<Code>;
    using code = tensors_detail::byte_code<Code>;
    using word = std::conditional_t<N == 4, std::uint32_t, std::uint8_t>;
    static constexpr int lanes_of_unit = N;

    CORDAGE_HOST_DEVICE static index_t lanes_of_scale(const format& f, index_t head_dim) noexcept {
        return f.lanes_of_scale == 0 ? head_dim : f.lanes_of_scale;
    }
    CORDAGE_HOST_DEVICE static void load(const format& f, const Code* head, const head_place& at, index_t unit,
                                         float* lanes) noexcept {
        const auto codes = load_word<word>(head + unit * N);
        const float scale = scale_at(f, at, f.lanes_of_scale == 0 ? 0 : divided(unit * N, f.lanes_of_scale).quotient);
        for (int i = 0; i < N; ++i) {
            lanes[i] = scale * code::template number_of<float>((std::uint32_t{codes} >> (8 * i)) & 0xffu);
        }
    }
    CORDAGE_HOST_DEVICE static float write_scale(const format& f, float largest, Code*, const head_place& at,
                                                 index_t group) noexcept {
        if (!f.makes_scales) return tensors_detail::quotient(1.0f, scale_at(f, at, group));
        const float scale = tensors_detail::made_scale<Code>(lane_memory<float>::magnitude(largest));
        f.scales.at(at)[group] = scale;
        return tensors_detail::quotient(1.0f, scale);
    }
    CORDAGE_HOST_DEVICE static void store(const format&, const float* lanes, float inverse, Code* head,
                                          index_t unit) noexcept {
        std::uint32_t codes = 0;
        for (int i = 0; i < N; ++i) codes |= (code::code_of(lanes[i] * inverse) & 0xffu) << (8 * i);
        store_word(static_cast<word>(codes), head + unit * N);
    }

 private:
    // An invalid given scale makes its lanes NaN.
    CORDAGE_HOST_DEVICE static float scale_at(const format& f, const head_place& at, index_t group) noexcept {
        const float scale = f.scales.at(at)[group];
        const bool is_scale = f.makes_scales || (is_finite(scale) && scale != 0.0f);
        return is_scale ? scale : lane_traits<float>::from_bits(0x7fff'ffffu);
    }
};

}  // namespace backend

/// Bytes and their scales.
template <class Code>
struct device_format<scaled_bytes<Code>> : backend::byte_units<Code, 1> {
    /// As words of 4 codes, if they are aligned and share a scale.
    using wide = backend::byte_units<Code, 4>;
    template <class T>
    static bool is_wide(const heads_view<T, scaled_bytes<Code>>& v) noexcept {
        return backend::has_whole_heads(v, 4, 4) && v.format.lanes_of_scale % 4 == 0;
    }
};

/// ggml's blocks, two codes at a time, as far as aligned.
template <>
struct device_format<q8_0> {
    using code = tensors_detail::byte_code<std::int8_t>;
    static constexpr int lanes_of_unit = 2;

    CORDAGE_HOST_DEVICE static index_t lanes_of_scale(const q8_0&, index_t) noexcept { return 32; }
    CORDAGE_HOST_DEVICE static void load(const q8_0&, const q8_0_block* head, const head_place&, index_t unit,
                                         float* lanes) noexcept {
        const q8_0_block& block = head[unit / 16];
        const std::uint32_t codes = backend::load_word<std::uint16_t>(bytes_of(block) + 2 * (unit % 16));
        const float d = element_traits<float16>::load(block.d);
        lanes[0] = d * code::number_of<float>(codes & 0xffu);
        lanes[1] = d * code::number_of<float>(codes >> 8);
    }
    CORDAGE_HOST_DEVICE static float write_scale(const q8_0&, float largest, q8_0_block* head, const head_place&,
                                                 index_t group) noexcept {
        const block_scale scale = q8_0::scale_of(lane_memory<float>::magnitude(largest));
        head[group].d = scale.d;
        return scale.inverse;
    }
    CORDAGE_HOST_DEVICE static void store(const q8_0&, const float* lanes, float inverse, q8_0_block* head,
                                          index_t unit) noexcept {
        const std::uint32_t first = tensors_detail::rounded_half_away(lanes[0] * inverse) & 0xffu;
        const std::uint32_t second = tensors_detail::rounded_half_away(lanes[1] * inverse) & 0xffu;
        backend::store_word(static_cast<std::uint16_t>(first | second << 8),
                            const_cast<std::uint8_t*>(bytes_of(head[unit / 16])) + 2 * (unit % 16));
    }

 private:
    // std::array's functions are host-only.
    CORDAGE_HOST_DEVICE static const std::uint8_t* bytes_of(const q8_0_block& block) noexcept {
        return reinterpret_cast<const std::uint8_t*>(&block.codes);
    }
};

/// q4_0: two bytes with two codes each, lanes 2j, 2j + 1, 2j + 16 and 2j + 17 of a block.
template <>
struct device_format<q4_0> {
    static constexpr int lanes_of_unit = 4;

    CORDAGE_HOST_DEVICE static index_t lane(index_t unit, int i) noexcept {
        return unit / 8 * 32 + 2 * (unit % 8) + i % 2 + index_t{16} * (i / 2);
    }
    CORDAGE_HOST_DEVICE static index_t lanes_of_scale(const q4_0&, index_t) noexcept { return 32; }
    CORDAGE_HOST_DEVICE static void load(const q4_0&, const q4_0_block* head, const head_place&, index_t unit,
                                         float* lanes) noexcept {
        const q4_0_block& block = head[unit / 8];
        const std::uint32_t codes = backend::load_word<std::uint16_t>(bytes_of(block) + 2 * (unit % 8));
        const float d = element_traits<float16>::load(block.d);
        for (int i = 0; i < 4; ++i) {
            const auto code = static_cast<int>((codes >> (8 * (i % 2) + 4 * (i / 2))) & 15u);
            lanes[i] = static_cast<float>(code - 8) * d;
        }
    }
    CORDAGE_HOST_DEVICE static float write_scale(const q4_0&, float largest, q4_0_block* head, const head_place&,
                                                 index_t group) noexcept {
        const block_scale scale = q4_0::scale_of(largest);
        head[group].d = scale.d;
        return scale.inverse;
    }
    CORDAGE_HOST_DEVICE static void store(const q4_0&, const float* lanes, float inverse, q4_0_block* head,
                                          index_t unit) noexcept {
        std::uint32_t codes = 0;
        for (int i = 0; i < 4; ++i) {
            const auto code = static_cast<std::uint32_t>(tensors_detail::q4_0_code(lanes[i], inverse)) & 15u;
            codes |= code << (8 * (i % 2) + 4 * (i / 2));
        }
        backend::store_word(static_cast<std::uint16_t>(codes),
                            const_cast<std::uint8_t*>(bytes_of(head[unit / 8])) + 2 * (unit % 8));
    }

 private:
    CORDAGE_HOST_DEVICE static const std::uint8_t* bytes_of(const q4_0_block& block) noexcept {
        return reinterpret_cast<const std::uint8_t*>(&block.codes);
    }
};

namespace backend {

/// Both units of a view's format: `wide`, used if is_wide(view), and `narrow`.
template <class T, class Format>
struct units_of {
    using narrow = element_units<T, Format, 1>;
    static constexpr int size = [] {
        if constexpr (has_pieces<heads_view<T, Format>>) return piece_size<T>;
        return 1;
    }();
    using wide = element_units<T, Format, size>;
    template <class U>
    static bool is_wide(const heads_view<U, Format>& v) noexcept {
        return has_pieces<heads_view<T, Format>> && has_whole_heads(v, size, sizeof(piece));
    }
};
template <class T, head_format<T> Format>
struct units_of<T, Format> {
    using narrow = device_format<Format>;
    using wide = narrow;
    template <class U>
    static bool is_wide(const heads_view<U, Format>&) noexcept {
        return false;
    }
};
template <class T, head_format<T> Format>
requires requires { typename device_format<Format>::wide; }
struct units_of<T, Format> {
    using narrow = device_format<Format>;
    using wide = typename narrow::wide;
    template <class U>
    static bool is_wide(const heads_view<U, Format>& v) noexcept {
        return narrow::is_wide(v);
    }
};

/// Whether a unit's lanes are contiguous in the head's floats, in whole pieces.
template <class Units>
inline constexpr bool are_pieces = Units::lanes_of_unit % 4 == 0 && !requires(index_t unit) {
    Units::lane(unit, 0);
};

/// Calls f with one of a format's units as an empty tag.
template <class Both, class F>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE void with_units(bool is_wide, const F& f) noexcept {
    if constexpr (!std::same_as<typename Both::wide, typename Both::narrow>) {
        if (is_wide) return f(typename Both::wide{});
    }
    f(typename Both::narrow{});
}

/// Index in the head of lane i of a unit.
template <class Units>
CORDAGE_HOST_DEVICE std::int32_t lane_of(std::int32_t unit, int i) noexcept {
    if constexpr (requires { Units::lane(unit, i); }) {
        return static_cast<std::int32_t>(Units::lane(unit, i));
    } else {
        return unit * Units::lanes_of_unit + i;
    }
}

/// Copies the lanes of a unit from and to the floats of their head.
template <class Units>
CORDAGE_HOST_DEVICE void put_lanes(const float* lanes, std::int32_t unit, float* head) noexcept {
    constexpr int size = Units::lanes_of_unit;
    if constexpr (are_pieces<Units>) {
        const int first = unit * size;
        for (int i = 0; i < size; i += 4) store_shared_piece(packed<float>(lanes + i), head + first + i);
    } else {
        for (int i = 0; i < size; ++i) head[lane_of<Units>(unit, i)] = lanes[i];
    }
}
template <class Units>
CORDAGE_HOST_DEVICE void get_lanes(const float* head, std::int32_t unit, float* lanes) noexcept {
    constexpr int size = Units::lanes_of_unit;
    if constexpr (are_pieces<Units>) {
        const int first = unit * size;
        for (int i = 0; i < size; i += 4) unpack<float>(load_shared_piece(head + first + i), lanes + i);
    } else {
        for (int i = 0; i < size; ++i) lanes[i] = head[lane_of<Units>(unit, i)];
    }
}

}  // namespace backend

}  // namespace cordage
