// SPDX-License-Identifier: MIT
// Checks the arguments of every rotation before anything is written; stage rotation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cordage/angles/angle_source.hpp"
#include "cordage/rotate/moves.hpp"
#include "cordage/tensors/operand.hpp"
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
    bool is_same_as_x;  ///< y of in_place, equal to x; its view is not set
    index_t operand;    ///< index of the operand
    index_t first_lane;
    bool is_rotated = true;
    bool has_format_of_x = false;
    bool are_slots_free = false;   ///< operand::to_free_slots
    address_range addresses = {};  ///< set once the sizes are checked
};
template <operand_type O>
CORDAGE_ALWAYS_INLINE std::array<checked_tensor, 2> tensors_of(const O& o, index_t operand) {
    const bool is_one = o.is_in_place(), is_one_format = is_same_format(o.x.format, o.y.format);
    return {{{"x", o.x, is_one, false, operand, o.first_lane, o.is_rotated()},
             {"y", is_one ? heads_memory() : o.y, true, is_one, operand, o.first_lane, o.is_rotated(), is_one_format,
              o.writes_free_slots()}}};
}
template <backward_operand_type O>
CORDAGE_ALWAYS_INLINE std::array<checked_tensor, 3> tensors_of(const O& o, index_t operand) {
    if constexpr (O::is_normalized) {
        return {{{"grad_y", o.grad_y, false, false, operand, o.first_lane, o.rotates},
                 {"x", o.x, false, false, operand, o.first_lane, o.rotates},
                 {"grad_x", o.grad_x, true, false, operand, o.first_lane, o.rotates}}};
    } else {
        return {{{"grad_y", o.grad_y, false, false, operand, o.first_lane},
                 {"y", o.y, false, false, operand, o.first_lane},
                 {"grad_x", o.grad_x, true, false, operand, o.first_lane}}};
    }
}

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
        fail<shape_error>(
            {function, ": ", tensor.name, " ", describe(s), " must have head_dim >= 2 and no negative size"});
    }
    check_strides(function, tensor.name, "", v);
    if (v.slots.entries != nullptr) {
        const slot_table& t = v.slots;
        if (t.blocks < 0 || t.block_size < 1 || t.row_stride < 0 ||
            (t.tokens_of_entry != 1 && t.tokens_of_entry != t.block_size)) {
            fail<shape_error>({function, ": ", tensor.name, "'s cache [blocks ", t.blocks, ", block_size ",
                               t.block_size, "] must have blocks of at least one slot"});
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
        fail<shape_error>({function, ": rotary_dim ", rotary_dim, " must be <= head_dim ", s.head_dim});
    }
    if (tensor.is_rotated && (tensor.first_lane < 0 || tensor.first_lane > s.head_dim - rotary_dim)) {
        fail<shape_error>({function, ": first_lane ", tensor.first_lane,
                           " must be 0 to head_dim - rotary_dim = ", s.head_dim - rotary_dim});
    }
    if (angles.tokens != s.tokens || (angles.batch != 1 && angles.batch != s.batch)) {
        fail<shape_error>({function, ": angles [", angles.batch, ", ", angles.tokens,
                           "] must be [1 or batch, tokens] of ", describe(s)});
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
    return !y.is_same_as_x && y.has_format_of_x && are_of_one_cache(x.view, y.view);
}

/// Checks that a written tensor is identical to or disjoint from every other tensor of its operand, unless the operand
/// moves tokens within a cache (check_moves), and that no other operand reads or writes it.
template <memory Memory>
void check_overlap(const char* function, const checked_tensor& a, const checked_tensor& b) {
    const overlap found = overlap_of(a.view, b.view);
    if (a.operand == b.operand && found == overlap::partial) {
        const bool moves = is_move(a, b);
        if (moves && (Memory == memory::host || b.are_slots_free)) return;
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
    const index_t end = s.blocks * (s.block_size / s.tokens_of_entry);
    const char* const kind = s.tokens_of_entry == 1 ? "slot" : "block";
    const bool may_repeat = tensor.is_written && may_have_repeated_entries(s, v.shape.batch, entries);
    slot_map listed(may_repeat ? v.shape.batch * entries : 0);
    for (index_t row = 0; row < v.shape.batch; ++row) {
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

/// Weights of an operand's norm, if it has any.
template <class Operand>
index_t weights_of(const Operand& o) {
    return o.norm.rows(o.shape().heads) * o.shape().head_dim;
}

/// Checks the norm of an operand.
template <class Operand>
void check_norm(const char* function, const Operand& o) {
    const auto& norm = o.norm;
    if (!is_finite(norm.epsilon) || !(norm.epsilon >= 0.0)) {
        fail<value_error>({function, ": rms_norm's epsilon ", norm.epsilon, " must be finite and >= 0"});
    }
    if constexpr (operand_type<Operand>) {
        if (Operand::has_head_format && norm.is_over_all_heads) {
            fail<shape_error>({function,
                               ": rms_norm's is_over_all_heads must be false where x or y is in a format of "
                               "whole heads; normalize in a separate call first"});
        }
    } else {
        const auto& sums = o.grad_weight;
        if (sums.empty()) return;
        if (norm.weight == nullptr) {
            fail<shape_error>({function, ": grad_weight has ", sums.size(),
                               " entries, must have none where rms_norm's weight is null"});
        }
        const index_t wanted = weights_of(o);
        if (std::ssize(sums) != wanted) {
            fail<shape_error>({function, ": grad_weight has ", sums.size(), " entries, must have ",
                               norm.is_over_all_heads ? "heads*head_dim = " : "head_dim = ", wanted});
        }
    }
}

/// Checks that given scales and their inverses are finite. Those that several heads share are read once.
template <class View>
void check_scales(const char* function, const char* name, const View& v) {
    if (v.format.makes_scales) return;
    const scale_table& table = v.format.scales;
    const index_t groups = v.format.lanes_of_scale == 0 ? 1 : v.shape.head_dim / v.format.lanes_of_scale;
    const bool differ_by_token = table.row_stride != 0 || table.token_stride != 0;
    const auto count = [](index_t size, bool differ) { return differ ? size : std::min<index_t>(size, 1); };
    const index_t rows = count(v.shape.batch, differ_by_token), tokens = count(v.shape.tokens, differ_by_token),
                  heads = count(v.shape.heads, table.head_stride != 0);
    const auto is_usable = [](float scale) { return is_finite(scale) && is_finite(1.0f / scale); };
    for (index_t row = 0; row < rows; ++row) {
        for (index_t token = 0; token < tokens; ++token) {
            head_place at = differ_by_token ? v.place(row, token) : head_place{0, 0, 0};
            if (at.row < 0) continue;
            for (; at.head < heads; ++at.head) {
                for (index_t group = 0; group < groups; ++group) {
                    const float scale = table.at(at)[group];
                    if (is_usable(scale)) continue;
                    fail<value_error>({function, ": ", name, "'s scale [", at.row, ", ", at.token, ", ", at.head, ", ",
                                       group, "] ", scale, " must be finite and not 0, and so must its inverse"});
                }
            }
        }
    }
}

/// Checks that heads in formats of whole heads have whole elements and at most most_lanes_of_head lanes, then calls the
/// format's own check.
template <memory Memory, class View>
void check_format(const char* function, const char* name, const View& v) {
    using format = std::remove_cvref_t<decltype(v.format)>;
    constexpr index_t each = lanes_of_element<format>;
    if constexpr (requires { format::lanes_of_element; }) {
        if (v.shape.head_dim % each != 0 || v.shape.head_dim > most_lanes_of_head) {
            fail<shape_error>({function, ": ", name, "'s head_dim ", v.shape.head_dim, " must be a multiple of ", each,
                               " and at most ", most_lanes_of_head, " in this format"});
        }
    }
    if constexpr (requires { v.format.check(function, name, index_t{}); }) {
        v.format.check(function, name, v.shape.head_dim);
    }
    if constexpr (Memory == memory::host && requires { v.format.makes_scales; }) check_scales(function, name, v);
    if constexpr (requires { v.format.inner; }) check_format<Memory>(function, name, with_format(v, v.format.inner));
}

/// The scales of a view as a tensor [batch, tokens, heads, groups] of floats; data is null for a format without scales.
struct scales_memory {
    heads_memory view;
    bool are_made = false;
};
template <class View>
CORDAGE_ALWAYS_INLINE scales_memory scales_of(const View& v) {
    if constexpr (requires { v.format.makes_scales; }) {
        const auto& format = v.format;
        heads_shape shape = v.shape;
        shape.head_dim = format.lanes_of_scale == 0 ? 1 : v.shape.head_dim / format.lanes_of_scale;
        const scale_table& table = format.scales;
        return {heads_view<float>{table.data, shape, table.row_stride, table.token_stride, table.head_stride, v.slots},
                format.makes_scales};
    } else if constexpr (requires { v.format.inner; }) {
        return scales_of(with_format(v, v.format.inner));
    } else {
        return {};
    }
}

/// The same memory counted in bytes: to test overlap of memory of different types, and for the C interface's formats.
inline heads_memory in_bytes(heads_memory v) {
    for (index_t* size : {&v.head_size, &v.batch_stride, &v.token_stride, &v.head_stride, &v.group_stride}) {
        *size = saturated_product(*size, v.element_size);
    }
    v.element_size = 1;
    return v;
}

/// Memory of a call beside its tensors: scales, weights of norms and sums of gradients.
struct other_memory {
    enum class kind : std::uint8_t { scales, weights, sums };
    const char* owner = "";  ///< the tensor that it belongs to, or ""
    const char* name = "";   ///< behind the owner's
    kind is = kind::sums;
    heads_memory view;
    bool is_written = false;
    index_t operand = -1;  ///< -1: of the whole call
    address_range addresses = {};
};
/// A dense row of numbers.
template <class T>
heads_memory memory_of(const T* data, index_t count) {
    return token_major(data, {1, 1, 1, count});
}
inline other_memory sums_in(const char* name, std::span<double> sums, index_t operand = -1) {
    return {"", name, other_memory::kind::sums, memory_of(sums.data(), std::ssize(sums)), true, operand};
}

inline constexpr std::size_t most_sums = 5;  // of rotation_gradients

/// How much memory an operand may have beside its tensors.
template <class O>
inline constexpr std::size_t most_other_memory = O::is_normalized ? 2 : 0;
template <operand_type O>
inline constexpr std::size_t most_other_memory<O> = (O::has_head_format ? 2 : 0) + (O::is_normalized ? 1 : 0);

/// Calls add(other_memory) for all memory beside the tensors of an operand, whose names are given.
template <class O, class Add>
void for_each_other_memory(const O& o, index_t operand, const char* x, const char* y, const Add& add) {
    using kind = other_memory::kind;
    if constexpr (operand_type<O>) {
        if constexpr (O::has_head_format) {
            const auto add_scales = [&](const char* of, const scales_memory& scales, bool are_made) {
                if (scales.view.data == nullptr) return;
                add(other_memory{of, "'s scales", kind::scales, scales.view, are_made, operand});
            };
            if (!o.is_in_place()) add_scales(x, scales_of(o.x), false);
            const scales_memory made = scales_of(o.y);
            add_scales(y, made, made.are_made);
        }
    }
    if constexpr (O::is_normalized) {
        if (o.norm.weight != nullptr) {
            const heads_memory weights = memory_of(o.norm.weight, weights_of(o));
            add(other_memory{"", "rms_norm's weight", kind::weights, weights, false, operand});
        }
        if constexpr (backward_operand_type<O>) {
            if (!o.grad_weight.empty()) add(sums_in("grad_weight", o.grad_weight, operand));
        }
    }
}

/// Whether an operand has memory that must be compared with others: with a norm alone, if a tensor is written near its
/// weights, which is rare.
template <std::size_t Each, class O>
CORDAGE_ALWAYS_INLINE bool may_meet_other_memory(const O& o,
                                                 std::span<const std::array<checked_tensor, Each>> operands) {
    if constexpr (operand_type<O>) {
        if constexpr (O::has_head_format) return true;
        if constexpr (!O::is_normalized) return false;
    } else if constexpr (O::is_normalized) {
        if (!o.grad_weight.empty()) return true;
    }
    if constexpr (O::is_normalized) {
        const auto begin = reinterpret_cast<std::intptr_t>(o.norm.weight);
        const address_range weights{begin, begin + weights_of(o) * static_cast<index_t>(sizeof(*o.norm.weight))};
        for (const auto& tensors : operands) {
            for (const checked_tensor& t : tensors) {
                if (t.is_written && weights.meets(t.addresses)) return true;
            }
        }
    }
    return false;
}

/// Checks that no memory beside the tensors of a call is written where something else of the call is read or written.
/// The scales of x and of y may be the same, or those of a cache within which tokens move; operands may add to one sum.
template <std::size_t Each>
void check_other_memory(const char* function, std::span<std::array<checked_tensor, Each>> operands,
                        std::span<other_memory> all, const char* remedy) {
    const auto refuse = [&](const other_memory& one, const char* owner, const char* name, const heads_memory& other) {
        fail<shape_error>({function, ": ", one.owner, one.name, " ", describe(one.view.shape), " must not overlap ",
                           owner, name, " ", describe(other.shape), ", as one of them is written"});
    };
    const auto may_share = [&](const other_memory& a, const other_memory& b) {
        if (a.is != b.is) return false;
        if (a.is == other_memory::kind::sums) return a.operand >= 0 && b.operand >= 0 && a.view == b.view;
        const auto& tensors = operands[static_cast<std::size_t>(a.operand)];
        return a.operand == b.operand && (a.view == b.view || is_move(tensors.front(), tensors.back()));
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        other_memory& one = all[i];
        if (tensors_detail::is_empty(one.view.shape)) continue;
        if (one.is == other_memory::kind::scales) {
            check_strides(function, one.owner, one.name, one.view);
            check_span(function, one.owner, one.name, one.view);
            if (one.is_written && !has_distinct_elements(one.view)) {
                fail<shape_error>({function, ": ", one.owner, one.name, " ", describe(one.view.shape), " with strides ",
                                   strides_of(one.view), " must not overlap each other; to read one given scale, set ",
                                   remedy});
            }
        }
        one.addresses = address_range(one.view);
        const auto overlaps = [&](bool is_written, const address_range& addresses, const heads_memory& other) {
            return (one.is_written || is_written) && one.addresses.meets(addresses) &&
                   overlap_of(in_bytes(one.view), in_bytes(other)) != overlap::none;
        };
        for (const auto& tensors : operands) {
            for (const checked_tensor& t : tensors) {
                if (!t.is_same_as_x && overlaps(t.is_written, t.addresses, t.view)) refuse(one, "", t.name, t.view);
            }
        }
        for (const other_memory& other : all.first(i)) {
            if (overlaps(other.is_written, other.addresses, other.view) && !may_share(one, other)) {
                refuse(one, other.owner, other.name, other.view);
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

template <memory Memory, std::size_t Each>
call_size check_tensors(const char* function, const angle_sizes& angles,
                        std::span<std::array<checked_tensor, Each>> operands) {
    const heads_shape& first = operands[0][0].view.shape;
    call_size size{0, true};
    const auto check_against_earlier = [&](const checked_tensor& tensor) {
        for (const auto& of_operand : operands) {
            for (const checked_tensor& other : of_operand) {
                if (&other == &tensor) return;
                const bool may_meet = (other.is_written || tensor.is_written) && !other.is_same_as_x &&
                                      other.addresses.meets(tensor.addresses);
                const bool is_one = other.operand == tensor.operand && other.view == tensor.view;
                if (may_meet && !is_one) check_overlap<Memory>(function, other, tensor);
            }
        }
    };
    for (auto& of_operand : operands) {
        for (checked_tensor& tensor : of_operand) {
            if (tensor.is_same_as_x) continue;
            check_view(function, tensor);
            check_shape(function, operands[0][0], of_operand[0], tensor);
            tensor.addresses = address_range(tensor.view);
            check_against_earlier(tensor);
            size.is_empty = size.is_empty && tensors_detail::is_empty(tensor.view.shape);
            const heads_memory& v = tensor.view;
            const index_t elements = v.shape.heads * v.groups * v.head_size;  // at most 2^58
            size.bytes_of_token += std::min(saturated_product(elements, v.element_size), index_t{1} << 40);
        }
        check_angles(function, angles, of_operand[0]);
    }
    size.tokens = first.batch * first.tokens;  // fits index_t, since the views were checked
    for (std::size_t i = 0; Memory == memory::host && i < operands.size(); ++i) {
        for (const checked_tensor& tensor : operands[i]) {
            if (tensor.view.slots.entries != nullptr && !tensor.is_same_as_x) check_slots(function, tensor);
        }
        const checked_tensor &x = operands[i].front(), &y = operands[i].back();
        if (is_move(x, y)) size.is_in_order = check_moves(function, x.view, y.view) || size.is_in_order;
    }
    return size;
}

/// All checks of a call. Positions, factors of tables and slots are checked only if they are in host memory.
/// @param sums  of gradients, to which the call adds
template <memory Memory, angles_of_tokens Source, class... Operands>
CORDAGE_ALWAYS_INLINE call_size check_all(const char* function, const Source& angles,
                                          std::span<const other_memory> sums, const Operands&... operands) {
    if constexpr (requires { angles.check_fields(function); }) angles.check_fields(function);
    constexpr std::size_t each = (backward_operand_type<Operands> && ...) ? 3 : 2;
    index_t number = 0;
    std::array<checked_tensor, each> all[]{tensors_of(operands, number++)...};
    const call_size size =
        check_tensors<Memory, each>(function, {angles.batch(), angles.tokens(), angles.pairs()}, all);
    const auto check_one = [&]<class O>(const O& o) {
        if constexpr (O::is_normalized) check_norm(function, o);
        if constexpr (operand_type<O>) {
            check_format<Memory>(function, "x", o.x);
            check_format<Memory>(function, "y", o.y);
        }
    };
    (check_one(operands), ...);
    constexpr std::size_t most = (each == 3 ? most_sums : 0) + (most_other_memory<Operands> + ...);
    if constexpr (most > 0) {
        if (!sums.empty() || (may_meet_other_memory<each>(operands, all) || ...)) {
            std::array<other_memory, most> others;
            auto end = std::copy(sums.begin(), sums.end(), others.begin());
            const auto add = [&](const other_memory& one) { *end++ = one; };
            number = 0;
            (for_each_other_memory(operands, number++, "x", "y", add), ...);
            check_other_memory<each>(function, all, {others.begin(), end}, "makes_scales = false");
        }
    }
    if constexpr (Memory == memory::host && requires { angles.check(function); }) angles.check(function);
    return size;
}
template <memory Memory, angles_of_tokens Source, class... Operands>
CORDAGE_ALWAYS_INLINE call_size check_all(const char* function, const Source& angles, const Operands&... operands) {
    return check_all<Memory>(function, angles, std::span<const other_memory>{}, operands...);
}

}  // namespace cordage::rotate_detail
