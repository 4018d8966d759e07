// SPDX-License-Identifier: MIT
// The tensors that one rotation reads and writes; serves rotation and its backends.
#pragma once

#include <concepts>
#include <type_traits>

#include "cordage/core/float16.hpp"
#include "cordage/core/view.hpp"

namespace cordage {

/// One tensor to turn: x is read, y is written. Both [batch, tokens, heads, head_dim]. The rotary_dim lanes that turn
/// begin at first_lane: 0 in most models, after the others in DeepSeek's heads.
///
///   head_dim 8, rotary_dim 4, first_lane 4:   interleaved [. . . . c s c s]   half_split [. . . . c c s s]
template <element T>
struct operand {
    heads_view<const T> x;
    heads_view<T> y;
    index_t first_lane = 0;

    CORDAGE_HOST_DEVICE const heads_shape& shape() const noexcept { return x.shape; }
};

/// x is overwritten.
template <element T>
operand<T> in_place(const heads_view<T>& x, index_t first_lane = 0) {
    return {x, x, first_lane};
}

/// x is left as it was. y may be x itself or apart from it.
template <class In, element T>
requires std::same_as<std::remove_const_t<In>, T> operand<T> from_to(const heads_view<In>& x, const heads_view<T>& y,
                                                                     index_t first_lane = 0) {
    return {x, y, first_lane};
}

/// True if an operand's x and y are one view.
template <element T>
bool is_in_place(const operand<T>& o) noexcept {
    return heads_view<const T>(o.y) == o.x;
}

/// One tensor of the backward pass: grad_y and y are read, grad_x is written. y is the forward's output.
template <element T>
struct backward_operand {
    heads_view<const T> grad_y;
    heads_view<const T> y;
    heads_view<T> grad_x;
    index_t first_lane = 0;  ///< as the forward's

    CORDAGE_HOST_DEVICE const heads_shape& shape() const noexcept { return grad_y.shape; }
};

/// One tensor of the backward pass, of its three views; grad_x may be grad_y or y.
template <class G, class Y, element T>
requires std::same_as<std::remove_const_t<G>, T> && std::same_as<std::remove_const_t<Y>, T> backward_operand<T>
grad_through(const heads_view<G>& grad_y, const heads_view<Y>& y, const heads_view<T>& grad_x, index_t first_lane = 0) {
    return {grad_y, y, grad_x, first_lane};
}

}  // namespace cordage
