// SPDX-License-Identifier: MIT
// How a device reads and writes formats of whole heads, unit by unit; serves the general CUDA kernel.
#pragma once

#include <cstdint>
#include <cstring>

#include "cordage/core/bits.hpp"
#include "cordage/tensors/block_scaled.hpp"
#include "cordage/tensors/ggml_blocks.hpp"
#include "cordage/tensors/hadamard.hpp"
#include "cordage/tensors/lane_groups.hpp"

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
///                                                            NaN if the head has invalid input, or, in a format whose
///                                                            keeps_nan is true, one lane is NaN. Returns the `number`
///                                                            passed to `store`
///   store(format, lanes, number, head, unit)               the unit's lanes as elements
///
/// All are static and CORDAGE_HOST_DEVICE; head is a T* to the head's first element, place a head_place. A unit's lanes
/// are neighbours, from unit * lanes_of_unit on, unless it defines `lane(unit, i)`.
template <class Format>
struct device_format;

namespace backend {

/// The format that stores the lanes: inside of groups and of a Hadamard transform, which are the kernel's.
template <class Format>
CORDAGE_HOST_DEVICE constexpr const Format& stored_format(const Format& format) noexcept {
    return format;
}
template <class Inner>
CORDAGE_HOST_DEVICE constexpr const Inner& stored_format(const hadamard<Inner>& format) noexcept {
    return format.inner;
}
template <class Inner>
CORDAGE_HOST_DEVICE constexpr const auto& stored_format(const lane_groups<Inner>& format) noexcept {
    return stored_format(format.inner);
}
/// The larger of two magnitudes. NaNs are skipped, unless the format keeps them.
template <class Format>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float larger_magnitude(float a, float b) noexcept {
    if constexpr (requires { requires Format::keeps_nan; }) return tensors_detail::at_least(a, b);
    return fmaxf(a, b);
}
/// Elements from where a lane's would lie in a head without groups to where it lies.
template <class Format>
CORDAGE_HOST_DEVICE constexpr index_t group_shift(const Format& f, index_t lane) noexcept {
    if constexpr (requires { f.group_stride; }) {
        return lane / Format::lanes_of_element / f.elements_of_group * (f.group_stride - f.elements_of_group);
    }
    return 0;
}

/// The codes of one of ggml's blocks; std::array's functions are for the host only.
template <class Block>
CORDAGE_HOST_DEVICE auto* codes_of(Block& block) noexcept {
    using byte = std::conditional_t<std::is_const_v<Block>, const std::uint8_t, std::uint8_t>;
    return reinterpret_cast<byte*>(&block.codes);
}

/// Formats of whole heads that a device can read and write.
template <class Format, class T>
concept device_head_format =
    requires(const Format& f, const T* from, T* to, const head_place& at, float* lanes, index_t i, float number) {
        { device_format<Format>::lanes_of_unit } -> std::convertible_to<int>;
        { device_format<Format>::lanes_of_scale(stored_format(f), i) } -> std::same_as<index_t>;
        device_format<Format>::load(stored_format(f), from, at, i, lanes);
        { device_format<Format>::write_scale(stored_format(f), number, to, at, i) } -> std::same_as<float>;
        device_format<Format>::store(stored_format(f), lanes, number, to, i);
    };

}  // namespace backend

/// Codes of one byte, with one lane or two, and a table of scales.
template <group_format Format>
struct device_format<Format> {
    static constexpr int lanes_of_unit = static_cast<int>(Format::lanes_of_element);

    CORDAGE_HOST_DEVICE static index_t lanes_of_scale(const Format& f, index_t head_dim) noexcept {
        return f.lanes_of_scale == 0 ? head_dim : f.lanes_of_scale;
    }
    template <class Code>
    CORDAGE_HOST_DEVICE static void load(const Format& f, const Code* head, const head_place& at, index_t unit,
                                         float* lanes) noexcept {
        const index_t group = f.lanes_of_scale == 0 ? 0 : unit * lanes_of_unit / f.lanes_of_scale;
        const float factor = f.factor_of(f.scales.at(at)[group]);
        std::uint32_t codes = __builtin_bit_cast(std::uint8_t, head[unit]);
        for (int i = 0; i < lanes_of_unit; ++i, codes >>= 4) {
            lanes[i] = factor * tensors_detail::byte_code<Code>::template number_of<float>(codes);
        }
    }
    template <class Code>
    CORDAGE_HOST_DEVICE static float write_scale(const Format& f, float largest, Code*, const head_place& at,
                                                 index_t group) noexcept {
        return f.write_scale(lane_memory<float>::magnitude(largest), f.scales.at(at) + group);
    }
    template <class Code>
    CORDAGE_HOST_DEVICE static void store(const Format&, const float* lanes, float inverse, Code* head,
                                          index_t unit) noexcept {
        std::uint32_t codes = 0;
        for (int i = 0; i < lanes_of_unit; ++i) {
            codes |= std::uint32_t{tensors_detail::byte_code<Code>::code_of(lanes[i] * inverse)} << (4 * i);
        }
        head[unit] = __builtin_bit_cast(Code, static_cast<std::uint8_t>(codes));
    }
};

/// ggml's blocks.
template <>
struct device_format<q8_0> {
    using code = tensors_detail::byte_code<std::int8_t>;
    static constexpr int lanes_of_unit = 2;

    CORDAGE_HOST_DEVICE static index_t lanes_of_scale(const q8_0&, index_t) noexcept { return 32; }
    CORDAGE_HOST_DEVICE static void load(const q8_0&, const q8_0_block* head, const head_place&, index_t unit,
                                         float* lanes) noexcept {
        const q8_0_block& block = head[unit / 16];
        const float d = element_traits<float16>::load(block.d);
        for (int i = 0; i < 2; ++i)
            lanes[i] = d * code::number_of<float>(std::uint32_t{backend::codes_of(block)[2 * (unit % 16) + i]});
    }
    CORDAGE_HOST_DEVICE static float write_scale(const q8_0&, float largest, q8_0_block* head, const head_place&,
                                                 index_t group) noexcept {
        const block_scale scale = q8_0::scale_of(lane_memory<float>::magnitude(largest));
        head[group].d = scale.d;
        return scale.inverse;
    }
    CORDAGE_HOST_DEVICE static void store(const q8_0&, const float* lanes, float inverse, q8_0_block* head,
                                          index_t unit) noexcept {
        auto* const codes = backend::codes_of(head[unit / 16]) + 2 * (unit % 16);
        for (int i = 0; i < 2; ++i) {
            codes[i] = static_cast<std::uint8_t>(tensors_detail::rounded_half_away(lanes[i] * inverse));
        }
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
        const float d = element_traits<float16>::load(block.d);
        for (int i = 0; i < 4; ++i) {
            const auto code =
                static_cast<int>((backend::codes_of(block)[2 * (unit % 8) + i % 2] >> (4 * (i / 2))) & 15u);
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
        auto* const bytes = backend::codes_of(head[unit / 8]) + 2 * (unit % 8);
        const auto code = [&](int i) {
            return static_cast<std::uint32_t>(tensors_detail::q4_0_code(lanes[i], inverse)) & 15u;
        };
        for (int i = 0; i < 2; ++i) bytes[i] = static_cast<std::uint8_t>(code(i) | code(i + 2) << 4);
    }
};

/// As the format inside, which is passed (stored_format); the kernel transforms the lanes (hadamard_size) and finds the
/// elements of groups (group_shift).
template <class Inner>
struct device_format<hadamard<Inner>> : device_format<Inner> {};
template <class Inner>
struct device_format<lane_groups<Inner>> : device_format<Inner> {};

/// Single elements, inside of groups and transforms and beside a norm.
template <class Format>
    requires requires { typename Format::compute; } && (!requires { Format::lanes_of_element; })
struct device_format<Format> {
    static constexpr int lanes_of_unit = 1;

    CORDAGE_HOST_DEVICE static index_t lanes_of_scale(const Format&, index_t head_dim) noexcept { return head_dim; }
    template <class T>
    CORDAGE_HOST_DEVICE static void load(const Format& f, const T* head, const head_place&, index_t unit,
                                         float* lanes) noexcept {
        lanes[0] = f.load(head[unit]);
    }
    template <class T>
    CORDAGE_HOST_DEVICE static float write_scale(const Format&, float, T*, const head_place&, index_t) noexcept {
        return 1.0f;
    }
    template <class T>
    CORDAGE_HOST_DEVICE static void store(const Format& f, const float* lanes, float, T* head, index_t unit) noexcept {
        head[unit] = f.store(lanes[0]);
    }
};

namespace backend {

/// Lanes that a format transforms together before they are stored; 0: none.
template <class Format>
CORDAGE_HOST_DEVICE constexpr index_t hadamard_size(const Format& format) noexcept {
    if constexpr (requires { format.elements_of_group; }) {
        return hadamard_size(format.inner);
    } else if constexpr (requires { format.inner; }) {
        return format.size;
    } else {
        return 0;
    }
}

/// Index in the head of lane i of a unit.
template <class Units>
CORDAGE_HOST_DEVICE index_t lane_of(index_t unit, int i) noexcept {
    if constexpr (requires { Units::lane(unit, i); }) return Units::lane(unit, i);
    return unit * Units::lanes_of_unit + i;
}

}  // namespace backend

}  // namespace cordage
