// SPDX-License-Identifier: MIT
// Heads in formats of whole heads, a few at a time through floats on the stack; serves the CPU backends.
#pragma once

#include <algorithm>

#include "cordage/angles/angle_source.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

namespace staged_detail {

/// Floats of a stage, 8 heads of 128 lanes, which fit the L1 cache.
inline constexpr index_t stage_size = 1024;

/// View of some heads of one token; ignores its row and token arguments.
template <class T, class Format>
CORDAGE_ALWAYS_INLINE heads_view<T, Format> some_heads(const heads_view<T, Format>& all, T* first,
                                                       index_t heads) noexcept {
    return {first, {1, 1, heads, all.shape.head_dim}, 0, 0, all.head_stride, {}, all.format};
}

}  // namespace staged_detail

/// Calls rotate(operand) for a few heads of a token at a time. The operand's tensors have formats of single elements:
/// those of o, or floats on the stack that are loaded from x and then stored to y. Heads that do not change keep their
/// bytes, in place or copied between equal formats.
///
/// @param is_identity  says of (row, token) whether its rotation changes nothing
template <class Lane, class IsIdentity, operand_type Operand, class Rotate>
CORDAGE_ALWAYS_INLINE void rotate_staged(const IsIdentity& is_identity, const Operand& o, index_t row, index_t token,
                                         const Rotate& rotate) noexcept {
    using namespace staged_detail;
    const auto lanes = o.lanes_of(row, token);
    if (lanes.x == nullptr) return;
    const bool is_changed = Operand::is_normalized || (o.is_rotated() && !is_identity(row, token));
    if (o.is_in_place() && !is_changed) return;
    const auto* x = lanes.x - o.first_lane;  // to the first lane of the head
    auto* y = lanes.y - o.first_lane;
    const index_t heads = o.shape().heads, head_dim = o.shape().head_dim;
    const index_t at_once = std::max<index_t>(stage_size / head_dim, 1);
    head_place from = o.x.place(row, token), to = o.y.place(row, token);
    index_t head = 0;
    if constexpr (requires { o.y.format.copy_head(o.x.format, x, from, y, to, head_dim); }) {
        for (; !is_changed && head < heads; ++head, ++from.head, ++to.head) {
            if (!o.y.format.copy_head(o.x.format, x + head * o.x.head_stride, from, y + head * o.y.head_stride, to,
                                      head_dim)) {
                break;
            }
        }
    }
    alignas(64) float stage[std::max(stage_size, most_lanes_of_head)];
    const heads_view<float> staged = token_major(stage, {1, 1, at_once, head_dim});
    for (; head < heads; head += at_once) {
        const index_t some = std::min(at_once, heads - head);
        const heads_view<float> here = some_heads(staged, stage, some);
        const auto load = [&] {
            if constexpr (head_format<decltype(o.x.format), std::remove_cvref_t<decltype(*x)>>) {
                for (index_t h = 0; h < some; ++h, ++from.head) {
                    o.x.format.template load_head<Lane>(x + (head + h) * o.x.head_stride, from, stage + h * head_dim,
                                                        head_dim);
                }
                return heads_view<const float>(here);
            } else {
                return some_heads(o.x, x + head * o.x.head_stride, some);
            }
        };
        const auto source = load();
        if constexpr (head_format<decltype(o.y.format), std::remove_cvref_t<decltype(*y)>>) {
            rotate(operand(source, here, o.first_lane, o.norm, o.is_rotated()));
            for (index_t h = 0; h < some; ++h, ++to.head) {
                o.y.format.template store_head<Lane>(stage + h * head_dim, head_dim, y + (head + h) * o.y.head_stride,
                                                     to);
            }
        } else {
            rotate(operand(source, some_heads(o.y, y + head * o.y.head_stride, some), o.first_lane, o.norm,
                           o.is_rotated()));
        }
    }
}

}  // namespace cordage::backend
