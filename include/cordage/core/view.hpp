// SPDX-License-Identifier: MIT
// Non-owning views of q, k and of position_ids, and the questions that a door asks of them; serves angles and rotation.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"

namespace cordage {

/// Sizes of q, k or a gradient, slowest first: [batch, tokens, heads, head_dim].
struct heads_shape {
    index_t batch = 1;
    index_t tokens = 0;
    index_t heads = 0;
    index_t head_dim = 0;

    friend bool operator==(const heads_shape&, const heads_shape&) = default;
};

/// A view of [batch, tokens, heads, head_dim] elements. The last stride is 1; the others count elements and may come in
/// any order, so that [tokens, heads, head_dim], [heads, tokens, head_dim] and a slice of a fused qkv buffer are all
/// views.
template <class T>
struct heads_view {
    T* data = nullptr;
    heads_shape shape;
    index_t batch_stride = 0;
    index_t token_stride = 0;
    index_t head_stride = 0;

    /// First element of one head, counted from data.
    CORDAGE_HOST_DEVICE constexpr index_t offset(index_t batch, index_t token, index_t head_index) const noexcept {
        return batch * batch_stride + token * token_stride + head_index * head_stride;
    }
    /// First element of one head.
    CORDAGE_HOST_DEVICE constexpr T* head(index_t batch, index_t token, index_t head_index) const noexcept {
        return data + offset(batch, token, head_index);
    }

    template <std::same_as<const T> ToConst>  // a template, or nvcc warns of it where T is const already
    requires(!std::is_const_v<T>) constexpr operator heads_view<ToConst>() const noexcept {
        return {data, shape, batch_stride, token_stride, head_stride};
    }

    friend bool operator==(const heads_view&, const heads_view&) = default;
};

/// View of a dense [batch, tokens, heads, head_dim] array. (Strides that 64 bits do not hold are the largest number,
/// which a rotation refuses.)
template <class T>
constexpr heads_view<T> token_major(T* data, const heads_shape& shape) {
    const index_t token = saturated_product(shape.heads, shape.head_dim);
    return {data, shape, saturated_product(shape.tokens, token), token, shape.head_dim};
}

/// View of a dense [batch, heads, tokens, head_dim] array, as transformers keeps it.
template <class T>
constexpr heads_view<T> head_major(T* data, const heads_shape& shape) {
    const index_t head = saturated_product(shape.tokens, shape.head_dim);
    return {data, shape, saturated_product(shape.heads, head), shape.head_dim, head};
}

/// "[batch, tokens, heads, head_dim]" in numbers, for messages.
inline std::string describe(const heads_shape& s) {
    return message("[", s.batch, ", ", s.tokens, ", ", s.heads, ", ", s.head_dim, "]");
}

/// A position in a sequence: int32, int64, float or double; negative and fractional ones are positions like others.
template <class P>
concept position_type =
    std::same_as<P, std::int32_t> || std::same_as<P, std::int64_t> || std::same_as<P, float> || std::same_as<P, double>;

/// View of position_ids [batch, tokens]. A batch_stride of 0 gives every row of the batch the same positions.
template <position_type P>
struct position_view {
    const P* data = nullptr;
    index_t batch = 1;
    index_t tokens = 0;
    index_t batch_stride = 0;

    position_view() = default;
    position_view(const P* first, index_t rows, index_t count, index_t stride)
        : data(first), batch(rows), tokens(count), batch_stride(stride) {}
    /// One row of positions, for every row of the batch: a vector, an array, a span.
    template <class Row>
    requires std::convertible_to<const Row&, std::span<const P>> position_view(const Row& row)
        : position_view(std::span<const P>(row).data(), 1, std::ssize(row), 0) {}

    P at(index_t row, index_t token) const noexcept { return data[row * batch_stride + token]; }
};

namespace view_detail {

// One axis of two views with equal strides: how many steps each takes along it.
struct axis {
    index_t stride;
    index_t count_a;
    index_t count_b;

    index_t longest() const { return std::max(count_a, count_b); }
};

// The axes of a pair of views, widest stride first. `comparable` unless they step differently along an axis.
struct axis_pairs {
    bool comparable = true;  // before axes, whose making may clear it
    std::array<axis, 3> axes;

    template <class A, class B>
    axis_pairs(const heads_view<A>& a, const heads_view<B>& b)
        : axes{merge(a.batch_stride, a.shape.batch, b.batch_stride, b.shape.batch),
               merge(a.token_stride, a.shape.tokens, b.token_stride, b.shape.tokens),
               merge(a.head_stride, a.shape.heads, b.head_stride, b.shape.heads)} {
        const auto order = [this](std::size_t i, std::size_t j) {
            if (axes[i].stride < axes[j].stride) std::swap(axes[i], axes[j]);
        };
        order(0, 1), order(1, 2), order(0, 1);
    }

 private:
    axis merge(index_t stride_a, index_t count_a, index_t stride_b, index_t count_b) {
        if (count_a > 1 && count_b > 1 && stride_a != stride_b) comparable = false;
        if (count_a <= 1 && count_b <= 1) return {0, 1, 1};  // nobody steps along it: sorts last
        return {count_a > 1 ? stride_a : stride_b, std::max<index_t>(count_a, 1), std::max<index_t>(count_b, 1)};
    }
};

// Whether each axis steps over all that lies inside it, so that no element has two indices.
inline bool is_nested(const std::array<axis, 3>& axes, index_t row) {
    index_t inside = row;
    for (std::size_t i = axes.size(); i-- > 0;) {
        if (axes[i].longest() == 1) continue;
        if (axes[i].stride < inside) return false;
        inside += (axes[i].longest() - 1) * axes[i].stride;
    }
    return true;
}

// Whether two nested lattices of rows share an element, the second shifted by `delta` elements against the first.
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

// Elements from a view's first to one past its last.
template <class T>
index_t extent(const heads_view<T>& v) {
    return (v.shape.batch - 1) * v.batch_stride + (v.shape.tokens - 1) * v.token_stride +
           (v.shape.heads - 1) * v.head_stride + v.shape.head_dim;
}

template <class T>
bool is_empty(const heads_view<T>& v) {
    return v.shape.batch == 0 || v.shape.tokens == 0 || v.shape.heads == 0 || v.shape.head_dim == 0;
}

}  // namespace view_detail

/// True if no two indices of the view name the same element (strides nested in some order, none negative).
template <class T>
bool has_distinct_elements(const heads_view<T>& v) {
    const heads_shape& s = v.shape;
    const bool is_token_major = v.head_stride >= s.head_dim && v.token_stride >= s.heads * v.head_stride &&
                                (s.batch == 1 || v.batch_stride >= s.tokens * v.token_stride);
    return is_token_major || view_detail::is_empty(v) ||
           view_detail::is_nested(view_detail::axis_pairs(v, v).axes, s.head_dim);
}

/// How two views lie in memory.
enum class overlap { none, same, partial };

/// Exact for equal strides that nest over the larger of both counts, so that two slices of one fused buffer are `none`;
/// otherwise never `none` for views that meet. Strides must not be negative.
template <class A, class B>
overlap overlap_of(const heads_view<A>& a, const heads_view<B>& b) {
    static_assert(sizeof(A) == sizeof(B));
    if (view_detail::is_empty(a) || view_detail::is_empty(b)) return overlap::none;
    constexpr auto size = static_cast<std::intptr_t>(sizeof(A));
    const auto first_a = reinterpret_cast<std::intptr_t>(a.data), first_b = reinterpret_cast<std::intptr_t>(b.data);
    if (first_a + size * view_detail::extent(a) <= first_b || first_b + size * view_detail::extent(b) <= first_a) {
        return overlap::none;
    }
    const view_detail::axis_pairs pairs(a, b);
    const std::intptr_t distance = first_b - first_a;
    const index_t longest_row = std::max(a.shape.head_dim, b.shape.head_dim);
    if (!pairs.comparable || distance % size != 0 || !view_detail::is_nested(pairs.axes, longest_row)) {
        return overlap::partial;
    }
    if (distance == 0 && a.shape == b.shape) return overlap::same;
    return view_detail::lattices_meet(pairs.axes.data(), pairs.axes.data() + pairs.axes.size(), a.shape.head_dim,
                                      b.shape.head_dim, distance / size)
               ? overlap::partial
               : overlap::none;
}

}  // namespace cordage
