// SPDX-License-Identifier: MIT
// Whether two views share elements; stage tensors.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "cordage/tensors/heads_view.hpp"

namespace cordage {

namespace tensors_detail {

// One axis of two views with equal strides: the stride, and the count of each view along it.
struct axis {
    index_t stride;
    index_t count_a;
    index_t count_b;

    index_t longest() const { return std::max(count_a, count_b); }
};

// The axes of a pair of views, largest stride first. Not `comparable` if the strides along an axis differ.
struct axis_pairs {
    bool comparable = true;  // declared before axes, whose initialisation may clear it
    std::array<axis, 4> axes;

    axis_pairs(const heads_memory& a, const heads_shape& a_shape, const heads_memory& b, const heads_shape& b_shape)
        : axes{merge(a.batch_stride, a_shape.batch, b.batch_stride, b_shape.batch),
               merge(a.token_stride, a_shape.tokens, b.token_stride, b_shape.tokens),
               merge(a.head_stride, a_shape.heads, b.head_stride, b_shape.heads),
               merge(a.group_stride, a.groups, b.group_stride, b.groups)} {
        const auto order = [this](std::size_t i, std::size_t j) {
            if (axes[i].stride < axes[j].stride) std::swap(axes[i], axes[j]);
        };
        order(0, 1), order(2, 3), order(0, 2), order(1, 3), order(1, 2);
    }
    /// Of rows of the batch, or blocks, each taken as one piece.
    axis_pairs(const heads_memory& a, index_t rows_a, const heads_memory& b, index_t rows_b)
        : axes{merge(a.batch_stride, rows_a, b.batch_stride, rows_b), axis{0, 1, 1}, axis{0, 1, 1}, axis{0, 1, 1}} {}

 private:
    axis merge(index_t stride_a, index_t count_a, index_t stride_b, index_t count_b) {
        if (count_a > 1 && count_b > 1 && stride_a != stride_b) comparable = false;
        if (count_a <= 1 && count_b <= 1) return {0, 1, 1};  // one entry: sorts last
        return {count_a > 1 ? stride_a : stride_b, std::max<index_t>(count_a, 1), std::max<index_t>(count_b, 1)};
    }
};

// Whether the stride of each axis exceeds the extent of all inner axes, so that no element has two indices.
inline bool is_nested(const std::array<axis, 4>& axes, index_t row) {
    index_t inside = row;
    for (std::size_t i = axes.size(); i-- > 0;) {
        if (axes[i].longest() == 1) continue;
        if (axes[i].stride < inside) return false;
        inside += (axes[i].longest() - 1) * axes[i].stride;
    }
    return true;
}

// Whether two nested lattices of rows share an element; the second one is shifted by `delta` elements.
inline bool lattices_meet(const axis* axes, const axis* end, index_t row_a, index_t row_b, index_t delta) {
    if (axes == end) return delta > -row_b && delta < row_a;
    const axis outer = *axes;
    if (outer.longest() == 1) return lattices_meet(axes + 1, end, row_a, row_b, delta);
    index_t near = delta / outer.stride;
    if (delta % outer.stride < 0) --near;  // floor
    for (const index_t steps : {near, near + 1}) {
        if (steps > -outer.count_b && steps < outer.count_a &&
            lattices_meet(axes + 1, end, row_a, row_b, delta - steps * outer.stride)) {
            return true;
        }
    }
    return false;
}

// Shape of all elements that a view may access: of the whole cache if tokens have slots.
inline heads_shape reach_of(const heads_memory& v) {
    heads_shape shape = v.shape;
    shape.head_dim = v.head_size;
    if (v.slots.entries != nullptr) {
        shape.batch = v.slots.blocks;
        shape.tokens = v.slots.block_size;
    }
    return shape;
}

inline bool is_empty(const heads_shape& s) { return s.batch == 0 || s.tokens == 0 || s.heads == 0 || s.head_dim == 0; }

// Elements, and bytes, from the first element of a view to the end of its last one; the strides of an empty view may be
// any numbers.
inline index_t span_of(const heads_memory& v, const heads_shape& reach) {
    if (is_empty(reach)) return 0;
    return (reach.batch - 1) * v.batch_stride + (reach.tokens - 1) * v.token_stride +
           (reach.heads - 1) * v.head_stride + (v.groups - 1) * v.group_stride + reach.head_dim;
}
inline std::intptr_t bytes_of(const heads_memory& v, const heads_shape& reach) {
    return v.element_size * span_of(v, reach);
}

}  // namespace tensors_detail

/// True if the strides nest in some order and none is negative, so that every element has one index. For a view with
/// slots: of its cache.
inline bool has_distinct_elements(const heads_memory& v) {
    const heads_shape s = tensors_detail::reach_of(v);
    const bool is_token_major = v.groups == 1 && v.head_stride >= s.head_dim &&
                                v.token_stride >= s.heads * v.head_stride &&
                                (s.batch == 1 || v.batch_stride >= s.tokens * v.token_stride);
    return is_token_major || tensors_detail::is_empty(s) ||
           tensors_detail::is_nested(tensors_detail::axis_pairs(v, s, v, s).axes, s.head_dim);
}

/// How the elements of two views overlap.
enum class overlap { none, same, partial };

/// Exact for elements of one size and equal strides that nest over the larger of both counts, so that two slices of one
/// fused buffer are `none`; so are two parts of a page, if the rows of the batch, or blocks, have one stride. Otherwise
/// conservative: views that share an element are never `none`. A view with slots stands for its whole cache. Strides
/// must not be negative.
inline overlap overlap_of(const heads_memory& a, const heads_memory& b) {
    using namespace tensors_detail;
    if (is_empty(a.shape) || is_empty(b.shape)) return overlap::none;
    if (a == b) return has_distinct_elements(a) ? overlap::same : overlap::partial;
    const heads_shape reach_a = reach_of(a), reach_b = reach_of(b);
    const auto first_a = reinterpret_cast<std::intptr_t>(a.data), first_b = reinterpret_cast<std::intptr_t>(b.data);
    if (first_a + bytes_of(a, reach_a) <= first_b || first_b + bytes_of(b, reach_b) <= first_a) return overlap::none;
    const std::intptr_t distance = first_b - first_a;
    if (a.element_size != b.element_size || distance % a.element_size != 0) return overlap::partial;
    const auto meet = [&](const axis_pairs& pairs, index_t row_a, index_t row_b) {
        return !pairs.comparable || !is_nested(pairs.axes, std::max(row_a, row_b)) ||
               lattices_meet(pairs.axes.data(), pairs.axes.data() + pairs.axes.size(), row_a, row_b,
                             distance / a.element_size);
    };
    if (!meet(axis_pairs(a, reach_a, b, reach_b), reach_a.head_dim, reach_b.head_dim)) return overlap::none;
    // Codes and the scales behind them in each page of a cache have different strides in the page.
    const auto span_of_row = [](const heads_memory& v, heads_shape reach) {
        reach.batch = 1;
        return span_of(v, reach);
    };
    const axis_pairs rows(a, reach_a.batch, b, reach_b.batch);
    return meet(rows, span_of_row(a, reach_a), span_of_row(b, reach_b)) ? overlap::partial : overlap::none;
}

}  // namespace cordage
