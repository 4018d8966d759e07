// SPDX-License-Identifier: MIT
// Checks the tensors of every rotation before anything is written: sizes, strides, slots, overlap; stage rotation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cordage/rotate/moves.hpp"
#include "cordage/tensors/overlap.hpp"

namespace cordage::rotate_detail {

/// Whether the tensors of a call are in host memory or on a device.
enum class memory { host, device };

/// The addresses that a view may access.
struct address_range {
    std::intptr_t begin = 0, end = 0;

    address_range() = default;
    address_range(std::intptr_t from, std::intptr_t to) : begin(from), end(to) {}
    /// @param v  of sizes and strides that are checked
    explicit address_range(const heads_memory& v)
        : begin(reinterpret_cast<std::intptr_t>(v.data)),
          end(begin + tensors_detail::bytes_of(v, tensors_detail::reach_of(v))) {}

    bool meets(const address_range& other) const { return begin < other.end && other.begin < end; }
};

/// One tensor of an operand, type-erased, so that all calls share the checks.
struct checked_tensor {
    const char* name;
    heads_memory view;
    bool is_written;
    index_t operand;  ///< index of the operand
    index_t first_lane;
    bool is_rotated = true;
    bool has_format_of_x = false;
    bool are_slots_free = false;   ///< operand::to_free_slots
    address_range addresses = {};  ///< set once the sizes are checked
};

/// The sizes of the angles of a call.
struct angle_sizes {
    index_t batch, tokens, pairs;
};

inline std::string strides_of(const heads_memory& v) {
    return message("[", v.batch_stride, ", ", v.token_stride, ", ", v.head_stride, ", 1]");
}

/// Checks the strides of a tensor, or of `what` beside it; then, with checked sizes, what they span.
CORDAGE_ALWAYS_INLINE void check_strides(const char* function, const char* tensor, const char* what,
                                         const heads_memory& v) {
    if (v.batch_stride >= 0 && v.token_stride >= 0 && v.head_stride >= 0 && v.group_stride >= 0) return;
    fail<shape_error>({function, ": ", tensor, what, " strides ", strides_of(v), " must not be negative"});
}
CORDAGE_ALWAYS_INLINE void check_span(const char* function, const char* tensor, const char* what,
                                      const heads_memory& v) {
    const heads_shape reach = tensors_detail::reach_of(v);
    const index_t elements = v.groups * v.head_size;
    constexpr index_t usual_size = 16;  // 2^58 such elements have addresses of 62 bits
    const bool is_bounded = is_addressable(
        view_axis{reach.batch, v.batch_stride}, view_axis{reach.tokens, v.token_stride},
        view_axis{reach.heads, v.head_stride}, view_axis{elements, std::max<index_t>(v.group_stride, 1)});
    if (is_bounded && (v.element_size <= usual_size ||
                       tensors_detail::span_of(v, reach) <= most_elements / v.element_size * usual_size)) {
        return;
    }
    fail<shape_error>({function, ": ", tensor, what, " ", describe(reach), " with strides ", strides_of(v),
                       " must span at most 2^58 elements and 2^62 bytes"});
}

inline void check_view(const char* function, const checked_tensor& tensor) {
    const heads_memory& v = tensor.view;
    const heads_shape& s = v.shape;
    if (s.batch < 0 || s.tokens < 0 || s.heads < 0 || s.head_dim < 2) {
        fail<shape_error>({function, ": ", tensor.name, " ", describe(s),
                           " must be [batch, tokens, heads, head_dim] with head_dim >= 2 ", "and no negative size"});
    }
    check_strides(function, tensor.name, "", v);
    if (v.slots.entries != nullptr) {
        const slot_table& t = v.slots;
        if (t.blocks < 0 || t.block_size < 1) {
            fail<shape_error>({function, ": ", tensor.name, "'s cache [blocks ", t.blocks, ", block_size ",
                               t.block_size, "] must have blocks of at least one slot"});
        }
        if (t.tokens_of_entry != 1 && t.tokens_of_entry != t.block_size) {
            fail<shape_error>({function, ": ", tensor.name, "'s slots.tokens_of_entry ", t.tokens_of_entry,
                               " must be 1 or block_size ", t.block_size});
        }
        if (t.row_stride < 0) {
            fail<shape_error>(
                {function, ": ", tensor.name, "'s slots.row_stride ", t.row_stride, " must not be negative"});
        }
        if (!is_addressable(view_axis{s.batch, t.row_stride}, view_axis{s.tokens, 1})) {
            fail<shape_error>({function, ": ", tensor.name, "'s slots [", s.batch, ", ", s.tokens, "] with row_stride ",
                               t.row_stride, " must span at most 2^58 entries"});
        }
    }
    check_span(function, tensor.name, "", v);
    if (v.data == nullptr && !tensors_detail::is_empty(s)) {
        fail<shape_error>({function, ": ", tensor.name, ".data nullptr must point to ", describe(s), " elements"});
    }
    if (tensor.is_written && !has_distinct_elements(v)) {
        fail<shape_error>({function, ": ", tensor.name, " ", describe(tensors_detail::reach_of(v)), " with strides ",
                           strides_of(v), " must not overlap itself"});
    }
}

inline void check_angles(const char* function, const angle_sizes& angles, const checked_tensor& tensor) {
    const heads_shape& s = tensor.view.shape;
    const index_t rotary_dim = 2 * angles.pairs;
    if (tensor.is_rotated && rotary_dim > s.head_dim) {
        fail<shape_error>({function, ": rotary_dim ", rotary_dim, " must be <= head_dim ", s.head_dim,
                           "; it is twice the number of frequencies"});
    }
    if (tensor.is_rotated && (tensor.first_lane < 0 || tensor.first_lane > s.head_dim - rotary_dim)) {
        fail<shape_error>({function, ": first_lane ", tensor.first_lane,
                           " must be 0 to head_dim - rotary_dim = ", s.head_dim - rotary_dim});
    }
    if (angles.tokens != s.tokens || (angles.batch != 1 && angles.batch != s.batch)) {
        fail<shape_error>({function, ": angles [", angles.batch, ", ", angles.tokens,
                           "] must be [1 or batch, tokens] of ", describe(s), ", a position for each token"});
    }
}

/// Checks that a tensor has the shape of the first tensor of its operand, and the batch and tokens of the first tensor
/// of the call.
CORDAGE_ALWAYS_INLINE void check_shape(const char* function, const checked_tensor& of_call,
                                       const checked_tensor& of_operand, const checked_tensor& tensor) {
    const heads_shape &shape = tensor.view.shape, &wanted = of_operand.view.shape, &first = of_call.view.shape;
    if (!(shape == wanted)) {
        fail<shape_error>({function, ": ", tensor.name, " ", describe(shape), " must have the shape of ",
                           of_operand.name, ", ", describe(wanted)});
    }
    if (shape.batch != first.batch || shape.tokens != first.tokens) {
        fail<shape_error>({function, ": operands ", describe(first), " and ", describe(shape),
                           " must have the same batch and tokens"});
    }
}

/// Whether x and y are slots of the same cache, so that tokens move within it.
inline bool is_move(const checked_tensor& x, const checked_tensor& y) {
    return &x != &y && y.has_format_of_x && are_of_one_cache(x.view, y.view);
}

/// Checks that a written tensor is identical to or disjoint from every other tensor of its operand, unless the operand
/// moves tokens within a cache (check_moves), and that no other operand reads or writes it.
inline void check_overlap(const char* function, memory where, const checked_tensor& a, const checked_tensor& b) {
    const overlap found = overlap_of(a.view, b.view);
    if (a.operand == b.operand && found == overlap::partial) {
        const bool moves = is_move(a, b);
        if (moves && (where == memory::host || b.are_slots_free)) return;
        fail<shape_error>(
            {function, ": ", b.name, " must be ", a.name, " itself or not overlap it; it overlaps it partly",
             moves ? "; to move tokens within a cache on a device, state that no slot is both read and written, "
                     "from_to(x, y).to_free_slots(), or copy through another tensor: from_to(x, tensor), then "
                     "from_to(tensor, y).unrotated()"
                   : ""});
    }
    if (a.operand != b.operand && found != overlap::none) {
        fail<shape_error>({function, ": operands ", describe(a.view.shape), " and ", describe(b.view.shape),
                           " must not overlap where one of them is written"});
    }
}

/// Whether entries of a slot table may repeat: false if they are increasing. Up to 16 entries, as in a decode step, are
/// compared pairwise.
inline bool may_have_repeated_entries(const slot_table& s, index_t rows, index_t entries_of_row) {
    index_t last = -1, count = 0;
    bool ascends = true;
    std::array<index_t, 16> few;
    for (index_t row = 0; row < rows; ++row) {
        for (index_t i = 0; i < entries_of_row; ++i) {
            if (const index_t entry = s.entry(row * s.row_stride + i); entry >= 0) {
                ascends = ascends && entry > last;
                last = entry;
                if (count < std::ssize(few)) few[static_cast<std::size_t>(count)] = entry;
                ++count;
            }
        }
    }
    if (ascends || count > std::ssize(few)) return !ascends;
    for (auto at = few.begin(), end = few.begin() + count; at != end; ++at) {
        if (std::find(few.begin(), at, *at) != at) return true;
    }
    return false;
}

/// Checks that slots of a view, except -1, lie in the cache and, if it is written, are listed once. The cost is
/// proportional to the number of entries and independent of the size of the cache.
inline void check_slots(const char* function, const checked_tensor& tensor) {
    const heads_memory& v = tensor.view;
    const slot_table& s = v.slots;
    const index_t entries = rounded_up_quotient(v.shape.tokens, s.tokens_of_entry);
    const index_t rows = entries == 0 ? 0 : v.shape.batch;
    const index_t end = s.blocks * (s.block_size / s.tokens_of_entry);
    const char* const kind = s.tokens_of_entry == 1 ? "slot" : "block";
    const bool may_repeat = tensor.is_written && may_have_repeated_entries(s, rows, entries);
    slot_map listed(may_repeat ? rows * entries : 0);
    for (index_t row = 0; row < rows; ++row) {
        for (index_t i = 0; i < entries; ++i) {
            const index_t entry = s.entry(row * s.row_stride + i);
            if (entry == -1) continue;
            if (entry < 0 || entry >= end) {
                fail<value_error>({function, ": ", tensor.name, "'s ", kind, " [", row, ", ", i, "] ", entry,
                                   " must be one of the cache's ", end, " ", kind, "s, or -1 to skip it"});
            }
            if (may_repeat && listed.exchange(entry, i) >= 0) {
                fail<value_error>({function, ": ", tensor.name, "'s ", kind, " [", row, ", ", i, "] ", entry,
                                   " must be listed once: two tokens must not be written to one slot"});
            }
        }
    }
}

/// Sizes of a call: the number of tokens, whether any tensor has elements, whether tokens must be processed in order,
/// and the bytes of one token in all tensors.
struct call_size {
    index_t tokens;
    bool is_empty;
    bool is_in_order = false;
    index_t bytes_of_token = 0;
};

}  // namespace cordage::rotate_detail
