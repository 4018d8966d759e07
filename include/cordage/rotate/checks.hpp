// SPDX-License-Identifier: MIT
// The checks of every rotation, all made before anything is written; stage rotation.
#pragma once

#include <cstddef>
#include <vector>

#include "cordage/angles/angle_source.hpp"
#include "cordage/tensors/operand.hpp"
#include "cordage/tensors/overlap.hpp"

namespace cordage::rotate_detail {

/// Whether what the pointers point to can be read here, or lies on a device.
enum class memory { host, device };

template <class View>
std::string strides_of(const View& v) {
    return message("[", v.batch_stride, ", ", v.token_stride, ", ", v.head_stride, ", 1]");
}

/// The slots of a view, each below the cache's, and each once where they are written.
template <class View>
void check_slots(const char* function, const char* name, const View& v, bool is_written) {
    const slot_table& s = v.slots;
    if (s.entries == nullptr) return;
    const index_t entries = rounded_up_quotient(v.shape.tokens, s.tokens_of_entry);
    const index_t end = s.blocks * (s.block_size / s.tokens_of_entry);
    const char* const kind = s.tokens_of_entry == 1 ? "slot" : "block";
    std::vector<bool> is_used(is_written ? static_cast<std::size_t>(end) : 0);
    for (index_t row = 0; row < v.shape.batch; ++row) {
        for (index_t i = 0; i < entries; ++i) {
            const index_t entry = s.entry(row * s.row_stride + i);
            if (entry < 0) continue;
            if (entry >= end) {
                fail<value_error>({function, ": ", name, "'s ", kind, " [", row, ", ", i, "] ", entry,
                                   " must be below the cache's ", end, " ", kind, "s, or -1 to leave it out"});
            }
            if (!is_written) continue;
            if (is_used[static_cast<std::size_t>(entry)]) {
                fail<value_error>({function, ": ", name, "'s ", kind, " [", row, ", ", i, "] ", entry,
                                   " must be listed once, or two tokens are written there"});
            }
            is_used[static_cast<std::size_t>(entry)] = true;
        }
    }
}

template <class View>
void check_view(const char* function, const char* name, const View& v) {
    const heads_shape& s = v.shape;
    if (s.batch < 0 || s.tokens < 0 || s.heads < 0 || s.head_dim < 2) {
        fail<shape_error>({function, ": ", name, " ", describe(s), " must have head_dim >= 2 and no negative size"});
    }
    if (v.batch_stride < 0 || v.token_stride < 0 || v.head_stride < 0) {
        fail<shape_error>({function, ": ", name, " strides ", strides_of(v), " must not be negative"});
    }
    if (v.slots.entries != nullptr) {
        const slot_table& t = v.slots;
        if (t.blocks < 0 || t.block_size < 1 || t.row_stride < 0 ||
            (t.tokens_of_entry != 1 && t.tokens_of_entry != t.block_size)) {
            fail<shape_error>({function, ": ", name, "'s cache [blocks ", t.blocks, ", block_size ", t.block_size,
                               "] must have blocks of at least one slot"});
        }
        if (!is_addressable(view_axis{s.batch, t.row_stride}, view_axis{s.tokens, 1})) {
            fail<shape_error>({function, ": ", name, "'s slots [", s.batch, ", ", s.tokens, "] with row_stride ",
                               t.row_stride, " must span at most 2^58 entries"});
        }
    }
    const heads_shape reach = tensors_detail::reach_of(v);
    if (!is_addressable(view_axis{reach.batch, v.batch_stride}, view_axis{reach.tokens, v.token_stride},
                        view_axis{s.heads, v.head_stride}, view_axis{s.head_dim, 1})) {
        fail<shape_error>({function, ": ", name, " ", describe(reach), " with strides ", strides_of(v),
                           " must span at most 2^58 elements"});
    }
    if (v.data == nullptr && !tensors_detail::is_empty(v.shape)) {
        fail<shape_error>({function, ": ", name, ".data nullptr must point to ", describe(s), " elements"});
    }
}

template <class A, class B>
void check_same_shape(const char* function, const char* a_name, const A& a, const char* b_name, const B& b) {
    if (!(a.shape == b.shape)) {
        fail<shape_error>({function, ": ", b_name, " ", describe(b.shape), " must have the shape of ", a_name, ", ",
                           describe(a.shape)});
    }
}

template <class View>
void check_output(const char* function, const char* name, const View& out) {
    if (!has_distinct_elements(out)) {
        fail<shape_error>({function, ": ", name, " ", describe(tensors_detail::reach_of(out)), " with strides ",
                           strides_of(out), " must not overlap itself"});
    }
}

template <class A, class B>
void check_same_or_apart(const char* function, const char* in_name, const A& in, const char* out_name, const B& out) {
    if (overlap_of(in, out) == overlap::partial) {
        fail<shape_error>(
            {function, ": ", out_name, " must be ", in_name, " itself or apart from it, and overlaps it partly"});
    }
}

template <class A, class B>
void check_apart(const char* function, const A& a, const B& b) {
    if (overlap_of(a, b) != overlap::none) {
        fail<shape_error>({function, ": operands ", describe(a.shape), " and ", describe(b.shape),
                           " must not overlap where one of them is written"});
    }
}

template <angles_of_tokens Source, class Operand>
void check_angles(const char* function, const Source& angles, const Operand& o) {
    const heads_shape& s = o.shape();
    const index_t rotary_dim = 2 * angles.pairs();
    if (rotary_dim > s.head_dim) {
        fail<shape_error>({function, ": rotary_dim ", rotary_dim, " must be <= head_dim ", s.head_dim});
    }
    if (o.first_lane < 0 || o.first_lane > s.head_dim - rotary_dim) {
        fail<shape_error>({function, ": first_lane ", o.first_lane,
                           " must be 0 to head_dim - rotary_dim = ", s.head_dim - rotary_dim});
    }
    if (angles.tokens() != s.tokens || (angles.batch() != 1 && angles.batch() != s.batch)) {
        fail<shape_error>({function, ": angles [", angles.batch(), ", ", angles.tokens(),
                           "] must be [1 or batch, tokens] of ", describe(s)});
    }
}

template <operand_type O>
void check_slots(const char* function, const O& o) {
    check_slots(function, "x", o.x, false);
    check_slots(function, "y", o.y, true);
}
template <backward_operand_type O>
void check_slots(const char* function, const O& o) {
    check_slots(function, "grad_y", o.grad_y, false);
    check_slots(function, "y", o.y, false);
    check_slots(function, "grad_x", o.grad_x, true);
}

template <angles_of_tokens Source, operand_type O>
void check(const char* function, const Source& angles, const O& o) {
    check_view(function, "x", o.x);
    check_angles(function, angles, o);
    if (!is_in_place(o)) {
        check_view(function, "y", o.y);
        check_same_shape(function, "x", o.x, "y", o.y);
        check_same_or_apart(function, "x", o.x, "y", o.y);
    }
    check_output(function, "y", o.y);
}

template <angles_of_tokens Source, backward_operand_type O>
void check(const char* function, const Source& angles, const O& o) {
    check_view(function, "grad_y", o.grad_y);
    check_view(function, "y", o.y);
    check_view(function, "grad_x", o.grad_x);
    check_same_shape(function, "grad_y", o.grad_y, "y", o.y);
    check_same_shape(function, "grad_y", o.grad_y, "grad_x", o.grad_x);
    check_angles(function, angles, o);
    check_output(function, "grad_x", o.grad_x);
    check_same_or_apart(function, "grad_y", o.grad_y, "grad_x", o.grad_x);
    check_same_or_apart(function, "y", o.y, "grad_x", o.grad_x);
}

// The operands of one call share their tokens; what one writes, no other reads or writes.
template <operand_type A, operand_type B>
void check_pair(const char* function, const A& a, const B& b) {
    check_apart(function, a.y, b.y);
    if (!is_in_place(b)) check_apart(function, a.y, b.x);
    if (!is_in_place(a)) check_apart(function, b.y, a.x);
}
template <backward_operand_type A, backward_operand_type B>
void check_pair(const char* function, const A& a, const B& b) {
    check_apart(function, a.grad_x, b.grad_y);
    check_apart(function, a.grad_x, b.y);
    check_apart(function, a.grad_x, b.grad_x);
    check_apart(function, b.grad_x, a.grad_y);
    check_apart(function, b.grad_x, a.y);
}

/// All checks of a call. Those of values, positions, tables' factors and slots, are made where they can be read.
template <memory Memory, angles_of_tokens Source, class Operands>
void check_all(const char* function, const Source& angles, const Operands& operands) {
    if constexpr (requires { angles.check_fields(function); }) angles.check_fields(function);
    for_each_operand(operands, [&](const auto& o) { check(function, angles, o); });
    index_t i = 0;
    for_each_operand(operands, [&](const auto& a) {
        index_t j = 0;
        for_each_operand(operands, [&](const auto& b) {
            if (j++ <= i) return;
            if (a.shape().batch != b.shape().batch || a.shape().tokens != b.shape().tokens) {
                fail<shape_error>({function, ": operands ", describe(a.shape()), " and ", describe(b.shape()),
                                   " must have the same batch and tokens"});
            }
            check_pair(function, a, b);
        });
        ++i;
    });
    if constexpr (Memory == memory::host) {
        for_each_operand(operands, [&](const auto& o) { check_slots(function, o); });
        if constexpr (requires { angles.check(function); }) angles.check(function);
    }
}

// Then there is nothing to do, however many tokens of no heads there are.
template <class Operands>
bool has_no_elements(const Operands& operands) {
    bool has_none = true;
    for_each_operand(operands, [&](const auto& o) {
        const heads_shape& s = o.shape();
        has_none = has_none && (s.batch == 0 || s.tokens == 0 || s.heads == 0);
    });
    return has_none;
}

template <class Operands>
const heads_shape& shape_of_call(const Operands& operands) {
    const heads_shape* shape = nullptr;
    for_each_operand(operands, [&](const auto& o) { shape = &o.shape(); });
    return *shape;
}

}  // namespace cordage::rotate_detail
