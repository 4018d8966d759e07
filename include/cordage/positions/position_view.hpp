// SPDX-License-Identifier: MIT
// Views of positions with one or several axes, such as (time, row, column); stage positions.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"
#include "cordage/pair/phase.hpp"

namespace cordage {

/// Whether a range outlives the call that it is passed to, so that a view of it may be kept: a named object or a view
/// such as a span, but not a temporary vector or array. Used by all views of the library. (As
/// std::ranges::borrowed_range, whose header takes as long to compile as all kernels.)
template <class R>
concept outlives_its_call = std::is_lvalue_reference_v<R> || std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>;

/// View of position_ids [axes, batch, tokens], with strides in elements and in any order. With a batch_stride of 0 all
/// rows of the batch have the same positions.
template <position_type P>
struct position_view {
    const P* data = nullptr;
    index_t batch = 1;
    index_t tokens = 0;
    index_t batch_stride = 0;
    index_t token_stride = 1;
    index_t axes = 1;
    index_t axis_stride = 0;

    position_view() = default;
    /// [rows, count] positions of one axis, rows `row_stride` elements apart.
    CORDAGE_ALWAYS_INLINE position_view(const P* first, index_t rows, index_t count, index_t row_stride)
        : data(first), batch(rows), tokens(count), batch_stride(row_stride) {}
    /// One row of positions, used for every row of the batch: a vector, an array, a span. (A position_view is not
    /// convertible to a span.)
    template <class Row>
        requires std::convertible_to<Row, std::span<const P>>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
    position_view(Row&& row) : position_view(std::span<const P>(row).data(), 1, std::ssize(row), 0) {
        static_assert(
            outlives_its_call<Row>,
            "cordage::position_view: positions must outlive the view: pass a named vector or array, not a temporary, "
            "which is destroyed before it is read");
    }

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE P at(index_t row, index_t token, index_t axis = 0) const noexcept {
        return data[axis * axis_stride + row * batch_stride + token * token_stride];
    }
};

/// View of a dense [axes, batch, tokens] array, the layout of M-RoPE processors. (A stride that overflows 64 bits
/// becomes the largest index_t, which angles reject.)
template <position_type P>
position_view<P> axis_major(const P* data, index_t axes, index_t batch, index_t tokens) {
    position_view<P> view(data, batch, tokens, tokens);
    view.axes = axes;
    view.axis_stride = saturated_product(batch, tokens);
    return view;
}

/// View of a dense [batch, tokens, axes] array, such as (row, column) for each patch.
template <position_type P>
position_view<P> axis_minor(const P* data, index_t axes, index_t batch, index_t tokens) {
    position_view<P> view(data, batch, tokens, saturated_product(tokens, axes));
    view.token_stride = view.axes = axes;
    view.axis_stride = 1;
    return view;
}

}  // namespace cordage
