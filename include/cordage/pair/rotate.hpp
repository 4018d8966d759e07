// SPDX-License-Identifier: MIT
// The rotation of a pair, its transpose and its gradients, on values in registers; register layer.
#pragma once

#include "cordage/pair/cos_sin.hpp"
#include "cordage/pair/lane.hpp"

namespace cordage {

/// The two numbers of a pair: x[i] and x[i + rotary_dim/2], or x[2i] and x[2i+1]. Lane: one number or a vector of them.
template <class Lane>
struct lane_pair {
    Lane first;
    Lane second;
};

/// c x0 - s x1, the first number of a rotated pair. (The second one is rotated_first of (x1, x0) with -s.)
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Lane rotated_first(const cos_sin<Lane>& at, const Lane& x0,
                                                             const Lane& x1) noexcept {
    using lane = lane_traits<Lane>;
    return lane::multiply_add(at.cos, x0, lane::negative(at.sin * x1));
}

/// (c x0 - s x1, s x0 + c x1) for c, s = at.cos, at.sin (Su et al. 2021, eq. 34).
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE lane_pair<Lane> rotated(const cos_sin<Lane>& at,
                                                                  const lane_pair<Lane>& x) noexcept {
    return {rotated_first(at, x.first, x.second), lane_traits<Lane>::multiply_add(at.cos, x.second, at.sin * x.first)};
}

/// cos and sin of the opposite angle: rotated(transposed(at), g) is the adjoint of rotated(at, x).
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE cos_sin<Lane> transposed(const cos_sin<Lane>& at) noexcept {
    return {at.cos, lane_traits<Lane>::negative(at.sin)};
}

/// sum + dL/dangle = sum + grad_y1 y0 - grad_y0 y1, with y = rotated(at, x) and g its gradient. Reads y, not x.
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Lane plus_grad_angle(const Lane& sum, const lane_pair<Lane>& g,
                                                               const lane_pair<Lane>& y) noexcept {
    using lane = lane_traits<Lane>;
    return lane::multiply_add(g.second, y.first, lane::multiply_add(lane::negative(g.first), y.second, sum));
}

/// sum + grad_y0 y0 + grad_y1 y1, which is sum + m dL/dm for the attention factor m in cos and sin.
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE Lane plus_grad_factor(const Lane& sum, const lane_pair<Lane>& g,
                                                                const lane_pair<Lane>& y) noexcept {
    using lane = lane_traits<Lane>;
    return lane::multiply_add(g.first, y.first, lane::multiply_add(g.second, y.second, sum));
}

}  // namespace cordage
