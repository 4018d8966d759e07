// SPDX-License-Identifier: MIT
// Non-owning views of q, k and of position_ids, and the questions that a door asks of them; serves angles and rotation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

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

    /// First element of one head.
    constexpr T* head(index_t batch, index_t token, index_t head_index) const noexcept {
        return data + batch * batch_stride + token * token_stride + head_index * head_stride;
    }

    constexpr operator heads_view<const T>() const noexcept requires(!std::is_const_v<T>) {
        return {data, shape, batch_stride, token_stride, head_stride};
    }
};

/// View of a dense [batch, tokens, heads, head_dim] array.
template <class T>
constexpr heads_view<T> token_major(T* data, const heads_shape& shape) {
    const index_t token = shape.heads * shape.head_dim;
    return {data, shape, shape.tokens * token, token, shape.head_dim};
}

/// View of a dense [batch, heads, tokens, head_dim] array, as transformers keeps it.
template <class T>
constexpr heads_view<T> head_major(T* data, const heads_shape& shape) {
    const index_t head = shape.tokens * shape.head_dim;
    return {data, shape, shape.heads * head, shape.head_dim, head};
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
    /// One row of positions, for every row of the batch.
    position_view(std::span<const P> row) : data(row.data()), tokens(static_cast<index_t>(row.size())) {}

    P at(index_t row, index_t token) const noexcept { return data[row * batch_stride + token]; }
};

namespace view_detail {

// One axis of a view: how many steps, how far each goes.
struct axis {
    index_t count;
    index_t stride;
};

// The axes of a view that have more than one step, widest stride first.
template <class T>
struct sorted_axes {
    std::array<axis, 3> axes;
    std::size_t count = 0;

    explicit sorted_axes(const heads_view<T>& v) : axes{} {
        for (const axis a : {axis{v.shape.batch, v.batch_stride}, axis{v.shape.tokens, v.token_stride},
                             axis{v.shape.heads, v.head_stride}}) {
            if (a.count > 1) axes[count++] = a;
        }
        std::sort(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(count),
                  [](axis a, axis b) { return a.stride > b.stride; });
    }
    std::span<const axis> all() const { return {axes.data(), count}; }
};

// Elements from the first to one past the last, for axes inside `axes` and rows of `row` elements.
inline index_t extent(std::span<const axis> axes, index_t row) {
    index_t last = row;
    for (const axis a : axes) last += (a.count - 1) * a.stride;
    return last;
}

// Whether each axis steps over all that lies inside it, so that no element has two indices.
inline bool is_nested(std::span<const axis> axes, index_t row) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].stride < extent(axes.subspan(i + 1), row)) return false;
    }
    return true;
}

// Whether two equal nested lattices of rows, one shifted by `delta` elements, share an element.
inline bool shifted_lattices_meet(std::span<const axis> axes, index_t row, index_t delta) {
    if (axes.empty()) return delta > -row && delta < row;
    const axis outer = axes.front();
    index_t near = delta / outer.stride;
    if (delta % outer.stride < 0) --near;  // floor
    for (const index_t steps : {near, near + 1}) {
        if (steps > -outer.count && steps < outer.count &&
            shifted_lattices_meet(axes.subspan(1), row, delta - steps * outer.stride)) {
            return true;
        }
    }
    return false;
}

}  // namespace view_detail

/// True if no two indices of the view name the same element (strides positive and nested in some order).
template <class T>
bool has_distinct_elements(const heads_view<T>& v) {
    return view_detail::is_nested(view_detail::sorted_axes(v).all(), v.shape.head_dim);
}

/// How two views of equal shape lie in memory.
enum class overlap { none, same, partial };

/// Exact for views with equal strides (two slices of one fused buffer are `none`); otherwise by their extents.
template <class A, class B>
overlap overlap_of(const heads_view<A>& a, const heads_view<B>& b) {
    static_assert(sizeof(A) == sizeof(B));
    const view_detail::sorted_axes axes_a(a);
    const view_detail::sorted_axes axes_b(b);
    const index_t row = a.shape.head_dim;
    const auto first_a = reinterpret_cast<std::intptr_t>(a.data), first_b = reinterpret_cast<std::intptr_t>(b.data);
    const auto size = static_cast<std::intptr_t>(sizeof(A));
    const bool apart = first_a + size * view_detail::extent(axes_a.all(), row) <= first_b ||
                       first_b + size * view_detail::extent(axes_b.all(), b.shape.head_dim) <= first_a;
    if (apart) return overlap::none;
    const bool equal_strides =
        a.shape == b.shape &&
        std::ranges::equal(axes_a.all(), axes_b.all(), [](view_detail::axis p, view_detail::axis q) {
            return p.count == q.count && p.stride == q.stride;
        });
    const std::intptr_t distance = first_b - first_a;
    if (!equal_strides || distance % size != 0 || !view_detail::is_nested(axes_a.all(), row)) return overlap::partial;
    if (distance == 0) return overlap::same;
    return view_detail::shifted_lattices_meet(axes_a.all(), row, distance / size) ? overlap::partial : overlap::none;
}

}  // namespace cordage
