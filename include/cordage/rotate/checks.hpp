// SPDX-License-Identifier: MIT
// The checks at the door of every rotation, all made before anything is written; stage rotation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "cordage/angles/angle_source.hpp"
#include "cordage/core/operand.hpp"

namespace cordage::rotate_detail {

template <class T>
void check_view(const char* who, const char* name, const heads_view<T>& v) {
    const heads_shape& s = v.shape;
    if (s.batch < 0 || s.tokens < 0 || s.heads < 0 || s.head_dim < 2) {
        fail<shape_error>({who, ": ", name, " ", describe(s), " must have head_dim >= 2 and no negative size"});
    }
    if (v.batch_stride < 0 || v.token_stride < 0 || v.head_stride < 0) {
        fail<shape_error>({who, ": ", name, " strides [", v.batch_stride, ", ", v.token_stride, ", ", v.head_stride,
                           ", 1] must not be negative"});
    }
    if (!is_addressable({s.batch, s.tokens, s.heads, s.head_dim}, {v.batch_stride, v.token_stride, v.head_stride, 1})) {
        fail<shape_error>({who, ": ", name, " ", describe(s), " with strides [", v.batch_stride, ", ", v.token_stride,
                           ", ", v.head_stride, ", 1] must span at most 2^58 elements"});
    }
    if (v.data == nullptr && !view_detail::is_empty(v)) {
        fail<shape_error>({who, ": ", name, ".data nullptr must point to ", describe(s), " elements"});
    }
}

template <class A, class B>
void check_same_shape(const char* who, const char* a_name, const heads_view<A>& a, const char* b_name,
                      const heads_view<B>& b) {
    if (!(a.shape == b.shape)) {
        fail<shape_error>(
            {who, ": ", b_name, " ", describe(b.shape), " must have the shape of ", a_name, ", ", describe(a.shape)});
    }
}

template <class T>
void check_output(const char* who, const char* name, const heads_view<T>& out) {
    if (!has_distinct_elements(out)) {
        fail<shape_error>({who, ": ", name, " ", describe(out.shape), " with strides [", out.batch_stride, ", ",
                           out.token_stride, ", ", out.head_stride, ", 1] must not overlap itself"});
    }
}

template <class A, class B>
void check_same_or_apart(const char* who, const char* in_name, const heads_view<A>& in, const char* out_name,
                         const heads_view<B>& out) {
    if (overlap_of(in, out) == overlap::partial) {
        fail<shape_error>(
            {who, ": ", out_name, " must be ", in_name, " itself or apart from it, and overlaps it partly"});
    }
}

template <class A, class B>
void check_apart(const char* who, const heads_view<A>& a, const heads_view<B>& b) {
    if (overlap_of(a, b) != overlap::none) {
        fail<shape_error>({who, ": operands ", describe(a.shape), " and ", describe(b.shape),
                           " must not overlap where one of them is written"});
    }
}

// A table is an aggregate that a host fills in.
template <class Table>
void check_table(const char* who, const Table& table) {
    if (table.rows < 1 || table.token_count < 0 || table.pair_count < 1) {
        fail<shape_error>({who, ": table [", table.rows, ", ", table.token_count, ", ", table.pair_count,
                           "] must have rows >= 1, tokens >= 0 and pairs >= 1"});
    }
    if (!is_addressable({table.rows, table.token_count, table.pair_count}, {0, 0, 0})) {
        fail<shape_error>({who, ": table [", table.rows, ", ", table.token_count, ", ", table.pair_count,
                           "] must have at most 2^58 entries"});
    }
    if ((table.cos_data == nullptr || table.sin_data == nullptr) && table.token_count > 0) {
        fail<shape_error>({who, ": table's cos_data and sin_data must not be nullptr"});
    }
    if (table.row_attention_factors == nullptr && !is_attention_factor(table.carried_attention_factor)) {
        fail<value_error>({who, ": table's carried_attention_factor ", table.carried_attention_factor,
                           " must be 2^-60 to 2^60 in magnitude"});
    }
    for (index_t row = 0; table.row_attention_factors != nullptr && row < table.rows; ++row) {
        if (const double m = table.row_attention_factors[row]; !is_attention_factor(m)) {
            fail<value_error>(
                {who, ": table's row_attention_factors[", row, "] ", m, " must be 2^-60 to 2^60 in magnitude"});
        }
    }
}

template <angles_of_tokens Source, class Operand>
void check_angles(const char* who, const Source& angles, const Operand& o) {
    const heads_shape& s = o.shape();
    const index_t rotary_dim = 2 * angles.pairs();
    if (rotary_dim > s.head_dim) {
        fail<shape_error>({who, ": rotary_dim ", rotary_dim, " must be <= head_dim ", s.head_dim});
    }
    if (o.first_lane < 0 || o.first_lane > s.head_dim - rotary_dim) {
        fail<shape_error>(
            {who, ": first_lane ", o.first_lane, " must be 0 to head_dim - rotary_dim = ", s.head_dim - rotary_dim});
    }
    if (angles.tokens() != s.tokens || (angles.batch() != 1 && angles.batch() != s.batch)) {
        fail<shape_error>({who, ": angles [", angles.batch(), ", ", angles.tokens(),
                           "] must be [1 or batch, tokens] of ", describe(s)});
    }
}

template <angles_of_tokens Source, class T>
void check(const char* who, const Source& angles, const operand<T>& o) {
    check_view(who, "x", o.x);
    check_angles(who, angles, o);
    if (!is_in_place(o)) {
        check_view(who, "y", o.y);
        check_same_shape(who, "x", o.x, "y", o.y);
        check_same_or_apart(who, "x", o.x, "y", o.y);
    }
    check_output(who, "y", o.y);
}

template <angles_of_tokens Source, class T>
void check(const char* who, const Source& angles, const backward_operand<T>& o) {
    check_view(who, "grad_y", o.grad_y);
    check_view(who, "y", o.y);
    check_view(who, "grad_x", o.grad_x);
    check_same_shape(who, "grad_y", o.grad_y, "y", o.y);
    check_same_shape(who, "grad_y", o.grad_y, "grad_x", o.grad_x);
    check_angles(who, angles, o);
    check_output(who, "grad_x", o.grad_x);
    check_same_or_apart(who, "grad_y", o.grad_y, "grad_x", o.grad_x);
    check_same_or_apart(who, "y", o.y, "grad_x", o.grad_x);
}

// The operands of one call share their tokens; what one writes, no other reads or writes.
template <class T>
void check_pair(const char* who, const operand<T>& a, const operand<T>& b) {
    check_apart(who, a.y, b.y);
    if (!is_in_place(b)) check_apart(who, a.y, b.x);
    if (!is_in_place(a)) check_apart(who, b.y, a.x);
}
template <class T>
void check_pair(const char* who, const backward_operand<T>& a, const backward_operand<T>& b) {
    check_apart(who, a.grad_x, b.grad_y);
    check_apart(who, a.grad_x, b.y);
    check_apart(who, a.grad_x, b.grad_x);
    check_apart(who, b.grad_x, a.grad_y);
    check_apart(who, b.grad_x, a.y);
}

template <angles_of_tokens Source, class Operand>
void check_all(const char* who, const Source& angles, std::span<const Operand> operands) {
    if constexpr (requires { angles.cos_data; }) check_table(who, angles);
    for (const Operand& o : operands) check(who, angles, o);
    for (std::size_t i = 0; i < operands.size(); ++i) {
        for (std::size_t j = i + 1; j < operands.size(); ++j) {
            const heads_shape &a = operands[i].shape(), &b = operands[j].shape();
            if (a.batch != b.batch || a.tokens != b.tokens) {
                fail<shape_error>(
                    {who, ": operands ", describe(a), " and ", describe(b), " must have the same batch and tokens"});
            }
            check_pair(who, operands[i], operands[j]);
        }
    }
    if constexpr (requires { angles.check_positions(who); }) angles.check_positions(who);
}

// Then there is nothing to do, however many tokens of no heads there are.
template <class Operand>
bool has_no_elements(std::span<const Operand> operands) {
    return std::all_of(operands.begin(), operands.end(), [](const Operand& o) {
        const heads_shape& s = o.shape();
        return s.batch == 0 || s.tokens == 0 || s.heads == 0;
    });
}

}  // namespace cordage::rotate_detail
