// SPDX-License-Identifier: MIT
// Checks of what operands have beside their tensors: norms, formats, scales, sums of gradients; stage rotation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "cordage/rotate/checks.hpp"
#include "cordage/tensors/group_formats.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::rotate_detail {

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

/// The scales of a view as a tensor [batch, tokens, heads, groups]; data is null for a format without scales.
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
        const auto& table = format.scales;
        index_t size = static_cast<index_t>(sizeof(*table.data)), stride = 1;  // of a scale, and of a step
        if constexpr (requires { format.bytes_of_scale(); }) size = stride = format.bytes_of_scale();
        heads_memory view(heads_view<float>{nullptr, shape, table.row_stride / stride, table.token_stride / stride,
                                            table.head_stride / stride, v.slots});
        view.data = table.data;
        view.element_size = size;
        return {view, format.makes_scales};
    } else if constexpr (requires { v.format.inner; }) {
        return scales_of(with_format(v, v.format.inner));
    } else {
        return {};
    }
}

/// Checks that given scales and their inverses are finite. Those that several heads share are read once.
template <class View>
void check_scales(const char* function, const char* name, const View& v) {
    if (v.format.makes_scales) return;
    const heads_memory scales = scales_of(v).view;  // checked before they are read
    check_strides(function, name, "'s scales", scales);
    check_span(function, name, "'s scales", scales);
    const scale_table table = [&] {
        if constexpr (requires { v.format.float_scales(); })
            return v.format.float_scales();
        else
            return v.format.scales;
    }();
    const index_t groups = v.format.lanes_of_scale == 0 ? 1 : v.shape.head_dim / v.format.lanes_of_scale;
    const bool differ_by_token = table.row_stride != 0 || table.token_stride != 0;
    const auto count = [](index_t size, bool differ) { return differ ? size : std::min<index_t>(size, 1); };
    const index_t rows = tensors_detail::is_empty(v.shape) ? 0 : count(v.shape.batch, differ_by_token),
                  tokens = count(v.shape.tokens, differ_by_token), heads = count(v.shape.heads, table.head_stride != 0);
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
template <class View>
void check_format(const char* function, memory where, const char* name, const View& v) {
    using format = std::remove_cvref_t<decltype(v.format)>;
    constexpr index_t each = lanes_of_element<format>;
    if constexpr (requires { format::lanes_of_element; }) {
        if (v.shape.head_dim % each != 0 || v.shape.head_dim > most_lanes_of_head) {
            fail<shape_error>({function, ": ", name, "'s head_dim ", v.shape.head_dim, " must be a multiple of ", each,
                               " and at most ", most_lanes_of_head, " in this format"});
        }
    }
    if constexpr (requires { v.format.check(function, name, index_t{}); }) {
        format checked = v.format;
        if constexpr (requires { checked.scales.data = nullptr; }) {  // there need be no scales of no heads
            static std::remove_reference_t<decltype(*checked.scales.data)> none{};
            if (checked.scales.data == nullptr && tensors_detail::is_empty(v.shape)) checked.scales.data = &none;
        }
        checked.check(function, name, v.shape.head_dim);
    }
    if constexpr (may_have_given_scales<format>) {
        if (where == memory::host) check_scales(function, name, v);
    }
    if constexpr (requires { v.format.inner; }) check_format(function, where, name, with_format(v, v.format.inner));
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
/// Sums of gradients; those that are not computed are empty.
struct named_sums {
    const char* name;
    std::span<double> sums;
};
inline other_memory memory_of(const named_sums& s, index_t operand = -1) {
    return {"", s.name, other_memory::kind::sums, memory_of(s.sums.data(), std::ssize(s.sums)), true, operand};
}

inline constexpr std::size_t most_sums = 5;  // of rotation_gradients

/// Whether operands of a type may have scales.
template <class O>
inline constexpr bool may_have_scales = requires { requires O::has_head_format; };
/// How much memory an operand may have beside its tensors.
template <class O>
inline constexpr std::size_t most_other_memory =
    (may_have_scales<O> ? 2 : 0) + (O::is_normalized ? operand_type<O> ? 1 : 2 : 0);

/// All checks of an operand that depend on its type: its norm and its formats. Writes the memory that it has beside its
/// tensors to `end`, which is returned behind the last.
/// @param tensors    of the operand    @param all  of the call
/// @param is_listed  whether the call has other such memory that is written; without it a norm's weights are written
///                   only if they lie near a written tensor, which is rare
template <class O>
other_memory* check_operand(const char* function, memory where, const void* of, std::span<const checked_tensor> tensors,
                            std::span<const checked_tensor> all, bool is_listed, other_memory* end) {
    using kind = other_memory::kind;
    const O& o = *static_cast<const O*>(of);
    const index_t operand = tensors[0].operand;
    const auto add = [&](const other_memory& one) { std::construct_at(end++, one); };
    if constexpr (O::is_normalized) check_norm(function, o);
    if constexpr (operand_type<O>) {
        const char *const x = tensors.front().name, *const y = tensors.back().name;
        check_format(function, where, x, o.x);
        check_format(function, where, y, o.y);
        const auto add_scales = [&](const char* owner, const scales_memory& scales, bool are_made) {
            if (scales.view.data == nullptr) return;
            add({owner, "'s scales", kind::scales, scales.view, are_made, operand});
        };
        if constexpr (O::has_head_format) {
            if (!o.is_in_place()) add_scales(x, scales_of(o.x), false);
            const scales_memory made = scales_of(o.y);
            add_scales(y, made, made.are_made);
        }
    }
    if constexpr (O::is_normalized) {
        if (o.norm.weight != nullptr) {
            const index_t count = weights_of(o);
            const auto begin = reinterpret_cast<std::intptr_t>(o.norm.weight);
            const address_range addresses{begin, begin + count * static_cast<index_t>(sizeof(*o.norm.weight))};
            const auto is_near = [&](const checked_tensor& t) { return t.is_written && addresses.meets(t.addresses); };
            if (is_listed || std::any_of(all.begin(), all.end(), is_near)) {
                add({"", "rms_norm's weight", kind::weights, memory_of(o.norm.weight, count), false, operand});
            }
        }
        if constexpr (backward_operand_type<O>) {
            if (!o.grad_weight.empty()) add(memory_of({"grad_weight", o.grad_weight}, operand));
        }
    }
    return end;
}

/// check_operand of a type; null if only the tensors of its operands need checks.
using operand_check = other_memory* (*)(const char* function, memory where, const void* operand,
                                        std::span<const checked_tensor> tensors, std::span<const checked_tensor> all,
                                        bool is_listed, other_memory* end);
template <class O>
constexpr operand_check check_of() {
    if constexpr (most_other_memory<O> > 0) return check_operand<O>;
    return nullptr;
}

/// The sums of an operand's weight gradients; empty without a norm.
template <class O>
constexpr std::span<double> grad_weight_of(const O& o) {
    if constexpr (requires { o.grad_weight; }) return o.grad_weight;
    return {};
}

/// Checks that no memory beside the tensors of a call is written where something else of the call is read or written.
/// The scales of x and of y may be the same, or those of a cache within which tokens move; operands may add to one sum.
/// @param may_move  may_move(operand): whether the operand's tokens move within a cache
template <class MayMove>
void check_other_memory(const char* function, std::span<const checked_tensor> tensors, std::span<other_memory> all,
                        const MayMove& may_move, const char* remedy) {
    const auto refuse = [&](const other_memory& one, const char* owner, const char* name, const heads_memory& other) {
        fail<shape_error>({function, ": ", one.owner, one.name, " ", describe(one.view.shape), " must not overlap ",
                           owner, name, " ", describe(other.shape), ", as one of them is written"});
    };
    const auto may_share = [&](const other_memory& a, const other_memory& b) {
        if (a.is != b.is) return false;
        if (a.is == other_memory::kind::sums) return a.operand >= 0 && b.operand >= 0 && a.view == b.view;
        return a.operand == b.operand && (a.view == b.view || may_move(a.operand));
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        other_memory& one = all[i];
        if (tensors_detail::is_empty(one.view.shape)) continue;
        if (one.is == other_memory::kind::scales) {
            check_strides(function, one.owner, one.name, one.view);
            check_span(function, one.owner, one.name, one.view);
            if (one.is_written && !has_distinct_elements(one.view)) {
                fail<shape_error>(
                    {function, ": ", one.owner, one.name, " ", describe(one.view.shape), " with strides ",
                     strides_of(one.view),
                     " must not overlap each other: give their strides, or, to read one given scale, set ", remedy});
            }
        }
        one.addresses = address_range(one.view);
        const auto overlaps = [&](bool is_written, const address_range& addresses, const heads_memory& other) {
            return (one.is_written || is_written) && one.addresses.meets(addresses) &&
                   overlap_of(in_bytes(one.view), in_bytes(other)) != overlap::none;
        };
        for (const checked_tensor& t : tensors) {
            if (overlaps(t.is_written, t.addresses, t.view)) refuse(one, "", t.name, t.view);
        }
        for (const other_memory& other : all.first(i)) {
            if (overlaps(other.is_written, other.addresses, other.view) && !may_share(one, other)) {
                refuse(one, other.owner, other.name, other.view);
            }
        }
    }
}

}  // namespace cordage::rotate_detail
