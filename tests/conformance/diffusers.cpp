// SPDX-License-Identifier: MIT
// diffusers.json: q rotated by the rotary classes of image, video and audio models, and by the recipes of
// docs/migrating.md.
#include "image_recipe.hpp"
#include "kinds.hpp"

namespace conformance {
namespace {

void check_image_rotation(const value& one_case, report& result) {
    const auto sizes = one_case["shape"].items();
    if (sizes.size() != 3) throw malformed(one_case.where() + ".shape must be [tokens, heads, head_dim]");
    const cordage::heads_shape shape{.tokens = sizes[0].size(), .heads = sizes[1].size(), .head_dim = sizes[2].size()};
    const auto x = recipe_input(shape);
    const recipe_output got = rotated_by(one_case["recipe"], shape, x);
    // The classes' products of position and frequency are rounded to double, and x is at most 3 in magnitude.
    result.near("y", got.y, one_case["y"].numbers(static_cast<index_t>(x.size())), 1e-14 + 4e-15 * got.largest_angle);
}

}  // namespace

std::span<const kind> diffusers_kinds() {
    static constexpr kind all[]{{"image_rotation", check_image_rotation}};
    return all;
}

}  // namespace conformance
