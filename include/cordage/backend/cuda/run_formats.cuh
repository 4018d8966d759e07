// SPDX-License-Identifier: MIT
// How runs of lanes are stored in each format: elements, scaled bytes, ggml's q8_0; serves the CUDA kernels.
#pragma once

#include "cordage/backend/cuda/pairs.cuh"
#include "cordage/core/bits.hpp"
#include "cordage/tensors/head_formats.hpp"

namespace cordage::backend {

/// Stores runs of L lanes. A format with scales has
///
///   made(format, largest, head, place, group, writes)   the number passed to `store`, from the largest magnitude of a
///                                                       group of lanes; one thread of the group writes the scale
///   given(format, place, group)                         that number where scales are given
template <class T, class Format>
struct run_format {
    static constexpr bool has_scales = false;

    template <int L>
    __device__ static void store(const Format&, T* head, std::int32_t lane, const float* x, float) {
        run_of<T, L>::packed(x).store(head + lane);
    }
};

namespace cuda_detail {

/// Two floats as codes of one byte each.
__device__ inline std::uint32_t two_codes(std::int8_t, float a, float b) {
    using code = tensors_detail::byte_code<std::int8_t>;
    return __byte_perm(code::code_of(a), code::code_of(b), 0x0040);
}
template <int MantissaBits>
__device__ std::uint32_t two_codes(fp8<MantissaBits>, float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    std::uint16_t both;
    if constexpr (MantissaBits == 3) {
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(b), "f"(a));
    } else {
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(b), "f"(a));
    }
    return both;
#else
    return fp8_bits<fp8<MantissaBits>>(a) | fp8_bits<fp8<MantissaBits>>(b) << 8;
#endif
}

}  // namespace cuda_detail

template <class Code>
struct run_format<Code, scaled_bytes<Code>> {
    using format = scaled_bytes<Code>;
    static constexpr bool has_scales = true;

    __device__ static bool makes_scales(const format& f) { return f.makes_scales; }
    __device__ static std::int32_t lanes_of_scale(const format& f) {
        return static_cast<std::int32_t>(f.lanes_of_scale);
    }
    __device__ static float made(const format& f, float largest, Code*, const head_place& at, std::int32_t group,
                                 bool writes) {
        const float scale = tensors_detail::made_scale<Code>(largest);
        if (writes) f.scales.at(at)[group] = scale;
        return tensors_detail::quotient(1.0f, scale);
    }
    /// NaN where the scale is NaN, infinite or 0.
    __device__ static float given(const format& f, const head_place& at, std::int32_t group) {
        const float scale = f.scales.at(at)[group];
        const bool is_scale = is_finite(scale) && scale != 0.0f;
        return is_scale ? tensors_detail::quotient(1.0f, scale) : lane_traits<float>::from_bits(0x7fff'ffffu);
    }
    template <int L>
    __device__ static void store(const format&, Code* head, std::int32_t lane, const float* x, float inverse) {
        static_assert(L % 4 == 0);
        run_of<Code, L> run;
        std::uint32_t words[L / 4];
#pragma unroll
        for (int i = 0; i < L; i += 4) {
            words[i / 4] = cuda_detail::two_codes(Code{}, x[i] * inverse, x[i + 1] * inverse) |
                           cuda_detail::two_codes(Code{}, x[i + 2] * inverse, x[i + 3] * inverse) << 16;
        }
        std::memcpy(run.part, words, L);
        run.store(head + lane);
    }
};

/// Codes go two at a time, as far as blocks of 34 bytes are aligned.
template <>
struct run_format<q8_0_block, q8_0> {
    static constexpr bool has_scales = true;

    __device__ static bool makes_scales(const q8_0&) { return true; }
    __device__ static std::int32_t lanes_of_scale(const q8_0&) { return 32; }
    __device__ static float made(const q8_0&, float largest, q8_0_block* head, const head_place&, std::int32_t group,
                                 bool writes) {
        const block_scale scale = q8_0::scale_of(largest);
        if (writes) head[group].d = scale.d;
        return scale.inverse;
    }
    __device__ static float given(const q8_0&, const head_place&, std::int32_t) { return 0.0f; }  // never asked for
    template <int L>
    __device__ static void store(const q8_0&, q8_0_block* head, std::int32_t lane, const float* x, float inverse) {
        auto* const codes =
            reinterpret_cast<std::uint16_t*>(reinterpret_cast<std::byte*>(head + lane / 32) + 2) + lane % 32 / 2;
#pragma unroll
        for (int i = 0; i < L; i += 2) {
            const std::uint32_t first = tensors_detail::rounded_half_away(x[i] * inverse);
            const std::uint32_t second = tensors_detail::rounded_half_away(x[i + 1] * inverse);
            codes[i / 2] = static_cast<std::uint16_t>(__byte_perm(first, second, 0x0040));
        }
    }
};

}  // namespace cordage::backend
