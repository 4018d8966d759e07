// SPDX-License-Identifier: MIT
// Positions of several numbers each, such as (time, row, column) of an image's patch; stage positions.
#pragma once

#include "cordage/core/view.hpp"

namespace cordage {

/// View of position_ids [axes, batch, tokens], in elements and any order of strides.
template <position_type P>
struct axis_position_view {
    const P* data = nullptr;
    index_t axes = 1;
    index_t batch = 1;
    index_t tokens = 0;
    index_t axis_stride = 0;
    index_t batch_stride = 0;
    index_t token_stride = 1;

    P at(index_t axis, index_t row, index_t token) const noexcept {
        return data[axis * axis_stride + row * batch_stride + token * token_stride];
    }
};

/// View of a dense [axes, batch, tokens] array, as M-RoPE's processors make it. (Strides that 64 bits do not hold are
/// the largest number, which axis_angles refuses.)
template <position_type P>
axis_position_view<P> axis_major(const P* data, index_t axes, index_t batch, index_t tokens) {
    return {data, axes, batch, tokens, saturated_product(batch, tokens), tokens, 1};
}

/// View of a dense [batch, tokens, axes] array: the (row, column) of one patch after the other.
template <position_type P>
axis_position_view<P> axis_minor(const P* data, index_t axes, index_t batch, index_t tokens) {
    return {data, axes, batch, tokens, 1, saturated_product(tokens, axes), axes};
}

}  // namespace cordage
