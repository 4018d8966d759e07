// SPDX-License-Identifier: MIT
// A basis that starts anew for every axis of a position, as vision encoders have it; stage policy at t -> basis.
#pragma once

#include "cordage/basis/basis.hpp"

namespace cordage {

/// The frequencies of one axis once for each axis, one after the other, with the same attention factor. 2-D axial RoPE
/// of head_dim d (Qwen2-VL's vision encoder) has frequencies theta_base^(-2i/(d/2)), i < d/4, for rows, and again for
/// columns:
///
///   const rope_config of_an_axis{.head_dim = d, .rotary_dim = d / 2, .original_length = 64};
///   const basis both = axial_basis(make_basis(of_an_axis, unscaled{}, 1.0), 2);
///   const auto axes = contiguous_axes({d / 4, d / 4});      // rows turn the first half of the pairs
///
/// dL/dinv_freq of the one axis is the sum over its copies.
/// @param per_axis  [pairs of an axis]
/// @param axes      1 to 256
/// @returns [axes * pairs of an axis]
/// @throws value_error
inline basis axial_basis(const basis& per_axis, index_t axes) {
    if (axes < 1 || axes > most_axes) fail<value_error>({"axial_basis: axes ", axes, " must be 1 to ", most_axes});
    std::vector<double> inv_freq;
    inv_freq.reserve(static_cast<std::size_t>(axes * per_axis.pairs()));
    for (index_t axis = 0; axis < axes; ++axis) {
        inv_freq.insert(inv_freq.end(), per_axis.inv_freq().begin(), per_axis.inv_freq().end());
    }
    return basis(std::move(inv_freq), per_axis.attention_factor());
}

}  // namespace cordage
