// SPDX-License-Identifier: MIT
// A basis that restarts for every axis of a position, as in vision encoders; stage policy at t -> basis.
#pragma once

#include <utility>
#include <vector>

#include "cordage/basis/basis.hpp"
#include "cordage/positions/sections.hpp"

namespace cordage {

/// The frequencies of several axes, concatenated, for contiguous_axes; each axis may have its own policy and t.
///
///   const basis of_time = make_basis(model_of_time, ntk_aware{}, 2.0), of_side = ...;
///   const basis all = axial_basis({&of_time, &of_side, &of_side});
///
/// @param per_axis  bases with equal attention factors; at least one, none null
/// @returns a basis of as many pairs as all axes together
/// @throws value_error  if per_axis is empty or has a null pointer, or if attention factors differ
inline basis axial_basis(const std::vector<const basis*>& per_axis) {
    if (per_axis.empty()) fail<value_error>({"axial_basis: bases [] must have at least one entry"});
    for (std::size_t axis = 0; axis < per_axis.size(); ++axis) {
        if (per_axis[axis] == nullptr)
            fail<value_error>({"axial_basis: bases[", axis, "] nullptr must point to a basis"});
    }
    const double m = per_axis[0]->attention_factor();
    std::vector<double> inv_freq;
    for (std::size_t axis = 0; axis < per_axis.size(); ++axis) {
        const basis& b = *per_axis[axis];
        if (b.attention_factor() != m) {
            fail<value_error>({"axial_basis: attention factor ", b.attention_factor(), " of axis ", axis,
                               " must be that of axis 0, ", m});
        }
        inv_freq.insert(inv_freq.end(), b.inv_freq().begin(), b.inv_freq().end());
    }
    return basis(std::move(inv_freq), m);
}

/// The frequencies of one axis, repeated for each axis, with the same attention factor. 2-D axial RoPE of head_dim d
/// (Qwen2-VL's vision encoder) has frequencies theta_base^(-2i/(d/2)), i < d/4, for rows and again for columns:
///
///   const rope_config of_an_axis{.head_dim = d, .rotary_dim = d / 2, .original_length = 64};
///   const basis both = axial_basis(make_basis(of_an_axis, unscaled{}, 1.0), 2);
///   const auto axes = contiguous_axes({d / 4, d / 4});      // rows rotate the first half of the pairs
///
/// dL/dinv_freq of per_axis is the sum over its copies.
/// @param per_axis  [pairs of an axis]
/// @param axes      1 to 256
/// @returns a basis of axes * pairs of an axis
/// @throws value_error  if axes is out of range
inline basis axial_basis(const basis& per_axis, index_t axes) {
    if (axes < 1 || axes > most_axes) fail<value_error>({"axial_basis: axes ", axes, " must be 1 to ", most_axes});
    return axial_basis(std::vector<const basis*>(static_cast<std::size_t>(axes), &per_axis));
}

/// The unscaled frequencies of axes of different width, theta_base^(-2i/width) each, for contiguous_axes(sections):
///
///   const std::vector<index_t> sections{8, 28, 28};     // Flux: 16, 56 and 56 lanes
///   const basis all = axial_basis(sections, 256.0);     // Z-Image's base
///
/// @param sections  pairs of each axis
/// @throws value_error  for an invalid section, or unless theta_base > 1
inline basis axial_basis(const std::vector<index_t>& sections, double theta_base) {
    positions_detail::pairs_of_sections("axial_basis", sections);
    validate_number({"axial_basis: theta_base"}, theta_base, theta_base > 1.0, {"> 1"});
    std::vector<double> inv_freq;
    for (const index_t pairs : sections) {
        const rope_config of_an_axis{.rotary_dim = 2 * pairs, .theta_base = theta_base};
        for (index_t pair = 0; pair < pairs; ++pair) inv_freq.push_back(of_an_axis.inv_freq(pair));
    }
    return basis(std::move(inv_freq));
}

}  // namespace cordage
