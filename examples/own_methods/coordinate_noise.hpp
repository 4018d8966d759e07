// SPDX-License-Identifier: MIT
// Random shift, stretch and scale of a training image's row and column positions.
#pragma once

#include <cmath>
#include <cstddef>

#include "cordage/core/error.hpp"
#include "cordage/models/positions/grid.hpp"
#include "cordage/positions/sampler.hpp"

namespace own {

using cordage::bit_generator, cordage::coordinate_noise, cordage::draw_real, cordage::grid_rule,
    cordage::validate_number;

/// The rule of one training image: its grid_positions are those of `rule`, changed by draws of `noise`
/// (augment_patches_center_coordinates of transformers 5.24). Always draws five numbers.
///
///   position = (position + shift_axis) jitter_axis rescale
///
/// @throws value_error  naming the field
template <bit_generator Generator>
grid_rule with_noise(Generator& generator, grid_rule rule, const coordinate_noise& noise) {
    validate_number({"with_noise: shift"}, noise.shift, noise.shift >= 0.0, {">= 0"});
    validate_number({"with_noise: jitter"}, noise.jitter, noise.jitter >= 1.0, {">= 1"});
    validate_number({"with_noise: rescale"}, noise.rescale, noise.rescale >= 1.0, {">= 1"});
    const auto around = [&](double most) { return draw_real(generator, -most, most); };
    for (std::size_t axis = 0; axis < 2; ++axis) rule.shift[axis] += around(noise.shift) / rule.factor[axis];
    for (std::size_t axis = 0; axis < 2; ++axis) rule.factor[axis] *= std::exp(around(std::log(noise.jitter)));
    const double rescaled = std::exp(around(std::log(noise.rescale)));
    for (double& factor : rule.factor) factor *= rescaled;
    return rule;
}

}  // namespace own
