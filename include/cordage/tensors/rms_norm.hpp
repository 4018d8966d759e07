// SPDX-License-Identifier: MIT
// RMSNorm of the heads of q and k, as part of an operand; stage tensors.
#pragma once

#include <cmath>

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/pair/format.hpp"

namespace cordage {

/// RMSNorm of every head, in the same pass as its rotation:
///
///   n_i = x_i r w_i,   r = 1 / sqrt(mean of x_i^2 + epsilon)        (Zhang & Sennrich 2019, eq. 4)
///
///   rotate_forward<half_split>(angles, in_place(q).normalized(rms_norm<>{.weight = q_norm.data()}), ...);
///
/// All lanes of a head are normalized, also those that are not rotated. Means are in float, for double in double.
template <element W = float>
struct rms_norm {
    const W* weight = nullptr;  ///< [head_dim], or [heads, head_dim] if is_over_all_heads; null: the factor is 1
    double epsilon = 1e-6;      ///< finite, >= 0
    bool adds_one = false;      ///< the factor is 1 + w (Gemma)
    /// One mean for all heads of a token, as in video models. Not supported with formats of whole heads
    /// (head_formats.hpp), which are processed a few heads at a time.
    bool is_over_all_heads = false;
    bool is_after_rotation = false;  ///< the norm follows the rotation, as in a few models
    /// The result of the first step, norm or rotation, is rounded to the element type of x, as two separate calls would
    /// do; the bits are theirs where y has the type of x, float or a format of whole heads; otherwise the last bit may
    /// differ. Between two 16-bit types it is slow (docs/cache_path.md).
    bool is_rounded_between = false;

    using element = W;

    /// Rows of weights, each of head_dim weights.
    CORDAGE_HOST_DEVICE index_t rows(index_t heads) const noexcept { return is_over_all_heads ? heads : 1; }
    /// The weights of a head, or null.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE const W* weight_of(index_t head, index_t head_dim) const noexcept {
        return weight != nullptr && is_over_all_heads ? weight + head * head_dim : weight;
    }
    /// Offset added to weights: 1 or 0.
    template <class Real>
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Real weight_offset() const noexcept {
        return adds_one ? Real(1) : Real(0);
    }
    /// The factor of a lane: w, or 1 + w.
    template <class Real>
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Real factor(index_t head, index_t lane, index_t head_dim) const noexcept {
        if (weight == nullptr) return Real(1);
        return weight_offset<Real>() + static_cast<Real>(element_traits<W>::load(weight_of(head, head_dim)[lane]));
    }
    /// r, given a sum of `count` squares.
    template <class Real>
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Real inverse_rms(Real squares, index_t count) const noexcept {
        return Real(1) / std::sqrt(squares / static_cast<Real>(count) + static_cast<Real>(epsilon));
    }
};

/// dL/dz of n = z r w, given t = dL/dn, for lanes that share a mean: r (t w - z r^2 mean of t w z).
template <class Real>
struct rms_norm_gradient {
    Real r;     ///< inverse_rms of z
    Real mean;  ///< of t w z

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Real operator()(Real z, Real t, Real w) const noexcept {
        return r * (t * w - z * r * r * mean);
    }
};

/// Norm type of an operand without a norm.
struct no_norm {};

}  // namespace cordage
