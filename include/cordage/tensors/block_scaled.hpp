// SPDX-License-Identifier: MIT
// Block-scaled formats: MXFP8, MXFP4 (OCP MX v1.0) and NVFP4, whose groups of lanes have a scale of one byte; stage
// tensors.
#pragma once

#include <bit>
#include <cstdint>

#include "cordage/tensors/group_formats.hpp"

namespace cordage {

/// A scale of one byte without sign or fraction, as in torch.float8_e8m0fnu: 2^(bits - 127), and NaN for 255.
struct e8m0 {
    std::uint8_t bits;

    CORDAGE_HOST_DEVICE constexpr bool is_nan() const noexcept { return bits == 255; }
    /// The number as a float. 2^-127 is below the normal floats: 0 for a processor set to flush such numbers.
    CORDAGE_HOST_DEVICE constexpr float value() const noexcept { return power(bits); }
    /// 1 / value().
    CORDAGE_HOST_DEVICE constexpr float inverse() const noexcept { return power(is_nan() ? 255u : 254u - bits); }
    /// The largest one that is at most x / 2^exponent, x >= 0; the smallest one, 2^-127, if x is smaller.
    CORDAGE_HOST_DEVICE static constexpr e8m0 below(float x, std::uint32_t exponent) noexcept {
        const std::uint32_t w = lane_traits<float>::bits(x), power = w >> 23;
        if (w > infinity) return {255};
        return {static_cast<std::uint8_t>(power < exponent ? 0 : power - exponent)};
    }
    /// The smallest one that is at least x, x >= 0; the largest one, 2^127, if x is larger.
    CORDAGE_HOST_DEVICE static constexpr e8m0 above(float x) noexcept {
        const std::uint32_t w = lane_traits<float>::bits(x), up = (w + 0x7f'ffffu) >> 23;
        if (w > infinity) return {255};
        return {static_cast<std::uint8_t>(w <= 0x40'0000u ? 0 : up > 254 ? 254 : up)};
    }
    CORDAGE_HOST_DEVICE friend constexpr bool operator==(e8m0 a, e8m0 b) noexcept { return a.bits == b.bits; }

 private:
    static constexpr std::uint32_t infinity = 0x7f80'0000u;
    CORDAGE_HOST_DEVICE static constexpr float power(std::uint32_t biased) noexcept {
        const std::uint32_t w = biased == 255 ? 0x7fc0'0000u : biased == 0 ? 0x40'0000u : biased << 23;
        return lane_traits<float>::from_bits(w);
    }
};

/// How the power of two of a group is rounded.
///
///   down   2^floor(log2(largest magnitude)) / 2^floor(log2(largest code)): OCP MX v1.0, section 6.3. Lanes between the
///          largest code and the next power of two saturate.
///   up     2^ceil(log2(largest magnitude / largest code)): no lane saturates. As devices convert (cvt.rp.ue8m0x2).
enum class scale_rounding : std::uint8_t { down, up };

/// Codes in fp8 or fp4 times a power of two for each group of lanes: x = scale * code.
///
///   mxfp8_e4m3{.scales = {data, 4 * heads, 4 * heads, 4}}       heads of 128 lanes, 4 groups of 32
///
/// Codes are rounded to nearest, ties to even, and saturate. A NaN makes the scale of its group NaN. A group of zeros
/// has the scale 2^-127.
/// @tparam Code  fp8_e4m3, fp8_e5m2, or fp4_e2m1_x2, in which an element holds two lanes
template <class Code>
struct mx_blocks {
    using compute = float;
    static constexpr index_t lanes_of_element = tensors_detail::lanes_of_code<Code>;
    static constexpr bool makes_scales = true, keeps_nan = true;

    scale_table_of<e8m0> scales;
    index_t lanes_of_scale = 32;  ///< a divisor of head_dim; in fp4 even
    scale_rounding rounding = scale_rounding::down;
    float least = 0.0f;  ///< a group's largest magnitude counts as at least this; positive, or 0

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
    CORDAGE_ALWAYS_INLINE bool copy_head(const mx_blocks& source, const Code* from, const head_place& from_at, Code* to,
                                         const head_place& to_at, index_t count) const noexcept {
        return tensors_detail::copy_groups(source, from, from_at, *this, to, to_at, count);
    }

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float factor_of(e8m0 scale) const noexcept { return scale.value(); }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float write_scale(float largest, e8m0* scale) const noexcept {
        constexpr std::uint32_t power = Code::largest_bits >> (23 - Code::shift), exponent = power - Code::bias;
        largest = tensors_detail::at_least(largest, least);
        const bool is_up = rounding == scale_rounding::up;
        *scale = is_up ? e8m0::above(tensors_detail::quotient(largest, Code::largest)) : e8m0::below(largest, exponent);
        // What torch stores beside a NaN: zeros if rounded down, else NaN.
        return scale->is_nan() && !is_up ? 0.0f : scale->inverse();
    }

    mx_blocks heads_as_rows() const noexcept { return {scales.heads_as_rows(), lanes_of_scale, rounding, least}; }
    friend bool operator==(const mx_blocks&, const mx_blocks&) noexcept = default;
    /// @throws shape_error, value_error, naming the field
    void check(const char* function, const char* name, index_t head_dim) const {
        tensors_detail::check_groups(*this, function, name, head_dim);
        if (std::bit_cast<std::uint32_t>(least) > 0x7f7f'ffffu)  // also of -0
            fail<value_error>({function, ": ", name, "'s least ", least, " must be finite and not negative"});
    }
};
/// OCP MX v1.0: 32 lanes share a power of two. In torchao's MXTensor, rounding down is FLOOR, and up is RCEIL.
using mxfp8_e4m3 = mx_blocks<fp8_e4m3>;
using mxfp8_e5m2 = mx_blocks<fp8_e5m2>;  ///< the same, of more range
using mxfp4 = mx_blocks<fp4_e2m1_x2>;    ///< the same, of 4 bits

/// NVIDIA's fp4: groups of 16 lanes with a scale in e4m3, and a float of the tensor: x = tensor_scale * scale * code.
/// A scale is the largest magnitude of its group / 6 / tensor_scale in e4m3, at least 2^-6, at most 448. A NaN makes
/// the scale of its group NaN. Engines choose tensor_scale = largest magnitude of the tensor / (6 * 448).
struct nvfp4 {
    using compute = float;
    static constexpr index_t lanes_of_element = 2, lanes_of_scale = 16;
    static constexpr bool makes_scales = true, keeps_nan = true;

    scale_table_of<fp8_e4m3> scales;
    float tensor_scale = 1.0f;  ///< positive

    template <class Lane>
    CORDAGE_ALWAYS_INLINE void load_head(const fp4_e2m1_x2* from, const head_place& at, float* lanes,
                                         index_t count) const noexcept {
        tensors_detail::load_groups<Lane>(*this, from, at, lanes, count);
    }
    template <class Lane>
    CORDAGE_ALWAYS_INLINE void store_head(const float* lanes, index_t count, fp4_e2m1_x2* to,
                                          const head_place& at) const noexcept {
        tensors_detail::store_groups<Lane>(*this, lanes, count, to, at);
    }
    /// Copies codes and scales; returns false where tensor_scale differs.
    CORDAGE_ALWAYS_INLINE bool copy_head(const nvfp4& source, const fp4_e2m1_x2* from, const head_place& from_at,
                                         fp4_e2m1_x2* to, const head_place& to_at, index_t count) const noexcept {
        return source.tensor_scale == tensor_scale &&
               tensors_detail::copy_groups(source, from, from_at, *this, to, to_at, count);
    }

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float factor_of(fp8_e4m3 scale) const noexcept {
        return tensor_scale * from_fp8_bits<fp8_e4m3, float>(scale.bits);
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float write_scale(float largest, fp8_e4m3* scale) const noexcept {
        using tensors_detail::quotient;
        const float of_group = quotient(quotient(largest, 6.0f), tensor_scale);
        const auto bits = fp8_bits<fp8_e4m3>(tensors_detail::at_least(of_group, 0x1p-6f));
        *scale = fp8_e4m3::from_bits(static_cast<std::uint8_t>(bits));
        return quotient(quotient(1.0f, tensor_scale), from_fp8_bits<fp8_e4m3, float>(scale->bits));
    }

    nvfp4 heads_as_rows() const noexcept { return {scales.heads_as_rows(), tensor_scale}; }
    friend bool operator==(const nvfp4&, const nvfp4&) noexcept = default;
    /// @throws shape_error, value_error, naming the field
    void check(const char* function, const char* name, index_t head_dim) const {
        tensors_detail::check_groups(*this, function, name, head_dim);
        if (!(tensor_scale > 0.0f) || !is_finite(tensor_scale) || !is_finite(1.0f / tensor_scale))
            fail<value_error>({function, ": ", name, "'s tensor_scale ", tensor_scale,
                               " must be positive and finite, and so must its inverse"});
    }
};

static_assert(head_format<mxfp8_e4m3, fp8_e4m3> && head_format<mxfp4, fp4_e2m1_x2> && head_format<nvfp4, fp4_e2m1_x2>);
static_assert(group_format<mxfp8_e5m2> && group_format<nvfp4> && group_format<scaled_bytes<std::int8_t>>);

}  // namespace cordage
