// SPDX-License-Identifier: MIT
// How each pairing lays pairs into vector lanes; serves the SIMD rotation, forward and backward.
#pragma once

#include <cstdint>
#include <xsimd/xsimd.hpp>

#include "cordage/backend/simd/multiply_add.hpp"
#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/core/pairing.hpp"

namespace cordage::backend {

/// x1, x0, x3, x2, ...: every lane's partner in an interleaved head.
template <class Arch>
CORDAGE_ALWAYS_INLINE floats<Arch> swap_neighbours(const floats<Arch>& x) noexcept {
    struct partner {
        static constexpr std::uint32_t get(std::uint32_t lane, std::uint32_t) { return lane ^ 1u; }
    };
    return xsimd::swizzle(x, xsimd::make_batch_constant<xsimd::batch<std::uint32_t, Arch>, partner>());
}

/// cos and sin of one vector of lanes, in registers for all heads of a token.
///
/// half_split:  `width` pairs; lanes i of two vectors, the second `pairs` further on.   cos = c, sin = s
/// interleaved: `width/2` pairs in one vector and its swap.    cos = c0 c0 c1 c1 ...    sin = -s0 s0 -s1 s1 ...
template <class Arch, pairing Pairing>
struct turn;

template <class Arch>
struct turn<Arch, half_split> {
    static constexpr index_t width = static_cast<index_t>(floats<Arch>::size);
    static constexpr index_t pairs_each = width;
    static constexpr std::size_t most_in_registers = 4;
    floats<Arch> cos, sin;

    void load(const float* c, const float* s, float cos_factor, float sin_factor) noexcept {
        cos = floats<Arch>::load_unaligned(c) * floats<Arch>(cos_factor);
        sin = floats<Arch>::load_unaligned(s) * floats<Arch>(sin_factor);
    }
    CORDAGE_ALWAYS_INLINE void apply(const float* x, float* y, index_t first, index_t pairs) const noexcept {
        const auto x0 = floats<Arch>::load_unaligned(x + first), x1 = floats<Arch>::load_unaligned(x + first + pairs);
        multiply_subtract<Arch>(cos, x0, sin * x1).store_unaligned(y + first);
        multiply_add<Arch>(cos, x1, sin * x0).store_unaligned(y + first + pairs);
    }
    /// grad_x, and adds dL/dangle of each lane to grad_angle and grad_y . y to dot.
    CORDAGE_ALWAYS_INLINE void backward(const float* g, const float* y, float* gx, index_t first, index_t pairs,
                                        floats<Arch>& grad_angle, floats<Arch>& dot) const noexcept {
        const auto g0 = floats<Arch>::load_unaligned(g + first), g1 = floats<Arch>::load_unaligned(g + first + pairs);
        const auto y0 = floats<Arch>::load_unaligned(y + first), y1 = floats<Arch>::load_unaligned(y + first + pairs);
        multiply_add<Arch>(cos, g0, sin * g1).store_unaligned(gx + first);
        multiply_subtract<Arch>(cos, g1, sin * g0).store_unaligned(gx + first + pairs);
        grad_angle = multiply_add<Arch>(g1, y0, subtract_product<Arch>(g0, y1, grad_angle));
        dot = multiply_add<Arch>(g0, y0, multiply_add<Arch>(g1, y1, dot));
    }
    static void store_grad_angle(const floats<Arch>& grad_angle, float* out) noexcept {
        grad_angle.store_unaligned(out);
    }
};

template <class Arch>
struct turn<Arch, interleaved> {
    static constexpr index_t width = static_cast<index_t>(floats<Arch>::size);
    static constexpr index_t pairs_each = width / 2;
    static constexpr std::size_t most_in_registers = width >= 16 ? 8 : 4;  // AVX-512 has twice the registers too
    floats<Arch> cos, sin;

    void load(const float* c, const float* s, float cos_factor, float sin_factor) noexcept {
        float cos_lanes[floats<Arch>::size], sin_lanes[floats<Arch>::size];
        for (index_t i = 0; i < pairs_each; ++i) {
            cos_lanes[2 * i] = cos_lanes[2 * i + 1] = c[i] * cos_factor;
            sin_lanes[2 * i] = -s[i] * sin_factor;
            sin_lanes[2 * i + 1] = s[i] * sin_factor;
        }
        cos = floats<Arch>::load_unaligned(cos_lanes);
        sin = floats<Arch>::load_unaligned(sin_lanes);
    }
    CORDAGE_ALWAYS_INLINE void apply(const float* x, float* y, index_t first, index_t) const noexcept {
        const auto v = floats<Arch>::load_unaligned(x + 2 * first);
        multiply_add<Arch>(cos, v, sin * swap_neighbours<Arch>(v)).store_unaligned(y + 2 * first);
    }
    CORDAGE_ALWAYS_INLINE void backward(const float* g, const float* y, float* gx, index_t first, index_t,
                                        floats<Arch>& grad_angle, floats<Arch>& dot) const noexcept {
        const auto gv = floats<Arch>::load_unaligned(g + 2 * first), yv = floats<Arch>::load_unaligned(y + 2 * first);
        subtract_product<Arch>(sin, swap_neighbours<Arch>(gv), cos * gv).store_unaligned(gx + 2 * first);
        grad_angle = multiply_add<Arch>(gv, swap_neighbours<Arch>(yv), grad_angle);  // g0 y1, g1 y0, ...
        dot = multiply_add<Arch>(gv, yv, dot);
    }
    static void store_grad_angle(const floats<Arch>& grad_angle, float* out) noexcept {
        float lanes[floats<Arch>::size];
        grad_angle.store_unaligned(lanes);
        for (index_t i = 0; i < pairs_each; ++i) out[i] = lanes[2 * i + 1] - lanes[2 * i];
    }
};

}  // namespace cordage::backend
