// SPDX-License-Identifier: MIT
// Tensors of ggml as views, and the rotation as a custom operation of a graph; a host adapter, the end of every stage.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "cordage/host/ggml/rope_arguments.hpp"
#include "cordage/kernels.hpp"

/// Nothing here includes ggml.h: everything takes ggml_tensor, or another struct with these fields, as a template
/// parameter.
namespace cordage::ggml {

template <class T>
concept tensor_struct = requires(const T& t) {
    { t.ne[3] } -> std::convertible_to<std::int64_t>;  // sizes, fastest axis first
    { t.nb[3] } -> std::convertible_to<std::size_t>;   // strides in bytes
    { t.data } -> std::convertible_to<const void*>;
    { t.src[1] } -> std::convertible_to<const T*>;
    static_cast<int>(t.type);
};

namespace detail {

/// GGML_TYPE_*, or -1 where ggml has no such type.
template <class T>
constexpr int type_of() {
    if constexpr (std::same_as<T, float>) return 0;
    if constexpr (std::same_as<T, float16>) return 1;
    if constexpr (std::same_as<T, std::int32_t>) return 26;
    if constexpr (std::same_as<T, double>) return 28;
    if constexpr (std::same_as<T, bfloat16>) return 30;
    return -1;
}

inline std::string describe_type(int type) {
    constexpr std::pair<int, const char*> names[] = {{0, "F32"},  {1, "F16"},  {8, "Q8_0"},
                                                     {26, "I32"}, {28, "F64"}, {30, "BF16"}};
    for (const auto& [number, name] : names) {
        if (type == number) return name;
    }
    return message("GGML_TYPE ", type);
}

template <tensor_struct Tensor>
std::string describe_sizes(const Tensor& t) {
    return message("[", t.ne[0], ", ", t.ne[1], ", ", t.ne[2], ", ", t.ne[3], "]");
}
template <tensor_struct Tensor>
std::string describe_layout(const Tensor& t) {
    return message(describe_sizes(t), " with nb [", t.nb[0], ", ", t.nb[1], ", ", t.nb[2], ", ", t.nb[3], "]");
}

/// The axes of a tensor, strides in elements. Checks all of it but what data points to, which need not be there yet.
template <class T, tensor_struct Tensor>
std::array<view_axis, 4> checked_axes(const Tensor& t, const char* name) {
    if (static_cast<int>(t.type) != type_of<T>()) {
        fail<value_error>({"ggml: ", name, " of type ", describe_type(static_cast<int>(t.type)), " must be ",
                           describe_type(type_of<T>())});
    }
    std::array<view_axis, 4> axes;
    for (std::size_t i = 0; i < 4; ++i) {
        if (t.ne[i] < 0) fail<shape_error>({"ggml: ", name, ".ne[", i, "] ", t.ne[i], " must not be negative"});
        if (t.nb[i] % sizeof(T) != 0 || (i == 0 && t.ne[0] > 1 && t.nb[0] != sizeof(T))) {
            fail<shape_error>({"ggml: ", name, ".nb[", i, "] ", t.nb[i], " must be ", i == 0 ? "" : "a multiple of ",
                               sizeof(T), ", the size of an element"});
        }
        axes[i] = {t.ne[i], static_cast<index_t>(t.nb[i] / sizeof(T))};
    }
    if (!is_addressable(axes[0], axes[1], axes[2], axes[3])) {
        fail<shape_error>({"ggml: ", name, " ", describe_layout(t), " must span at most 2^58 elements"});
    }
    if (const auto address = reinterpret_cast<std::uintptr_t>(t.data); address % sizeof(T) != 0) {
        fail<value_error>(
            {"ggml: ", name, ".data ", address, " must be a multiple of ", sizeof(T), ", the size of an element"});
    }
    return axes;
}

template <tensor_struct Tensor>
void check_sources(const Tensor& node) {
    for (const int i : {0, 1}) {
        if (node.src[i] == nullptr) {
            fail<value_error>({"ggml: dst.src[", i, "] nullptr must be ", i == 0 ? "x" : "position_ids"});
        }
    }
}

}  // namespace detail

/// A tensor of q or k, ne = [head_dim, heads, tokens, batch] in any order of strides, as a view.
/// @throws value_error or shape_error  naming the type, size, stride or address that does not fit T
template <class T, tensor_struct Tensor>
requires element<std::remove_const_t<T>> heads_view<T> view(const Tensor& t, const char* name = "x") {
    static_assert(detail::type_of<std::remove_const_t<T>>() >= 0,
                  "cordage::ggml::view: T must be float, double, cordage::float16 or cordage::bfloat16");
    const auto [lanes, heads, tokens, batch] = detail::checked_axes<std::remove_const_t<T>>(t, name);
    return {static_cast<T*>(t.data),
            {batch.size, tokens.size, heads.size, lanes.size},
            batch.stride,
            tokens.stride,
            heads.stride};
}

/// The rotation of one graph or of several: what ggml_rope_ext is told by its arguments. Its address is the userdata of
/// the custom operation, so it lives until the graph has been computed; between two computations another may be
/// assigned to it, for another t.
///
///   cordage::ggml::rotation rotation(rule.at_length(n_tokens), GGML_ROPE_TYPE_NEOX);   // any basis, or:
///   cordage::ggml::rotation rotation(cordage::ggml::rope_arguments{.n_dims = 128, .freq_base = 500000}, freq_factors);
///   ggml_tensor* args[] = {q, positions};
///   q = ggml_custom_4d(ctx, q->type, q->ne[0], q->ne[1], q->ne[2], q->ne[3], args, 2,
///                      cordage::ggml::rotate<ggml_tensor>, GGML_N_TASKS_MAX, &rotation);
///   k = ggml_custom_inplace(ctx, k, &positions, 1, cordage::ggml::rotate<ggml_tensor>, GGML_N_TASKS_MAX, &rotation);
///   rotation.check(*q), rotation.check(*k);
class rotation {
 public:
    /// One position a token.
    /// @param mode  normal or neox
    /// @throws value_error  for another mode
    rotation(cordage::basis b, int mode) : basis_(std::move(b)), is_interleaved_(mode == normal) {
        if (mode != normal && mode != neox) {
            fail<value_error>({"ggml::rotation: mode ", mode, " must be 0 or 2, or axis_of_pair given"});
        }
    }
    /// Four positions a token (ggml_rope_multi), pairs as neox.
    /// @param axis_of_pair  [rotary_dim/2], each 0 ... 3: axes_of_pairs, contiguous_axes or interleaved_axes
    rotation(cordage::basis b, std::vector<std::uint8_t> axis_of_pair)
        : basis_(std::move(b)), axis_of_pair_(std::move(axis_of_pair)) {
        exact_axes(nullptr, 0, 0);  // throws where they do not fit the basis
    }
    /// What ggml_rope_ext or ggml_rope_multi does with these arguments.
    explicit rotation(const rope_arguments& a, std::span<const float> freq_factors = {})
        : rotation(has_axes(a.mode) ? rotation(make_basis(a, freq_factors), axes_of_pairs(a))
                                    : rotation(make_basis(a, freq_factors), a.mode)) {}

    const cordage::basis& basis() const noexcept { return basis_; }

    /// Checks a node of a graph where it is built, when its tensors need no data yet: src[0] is x, src[1] position_ids.
    /// @throws value_error or shape_error  naming what rotate would stop at
    template <tensor_struct Tensor>
    void check(const Tensor& node) const {
        detail::check_sources(node);
        check(*node.src[0], *node.src[1], node);
    }
    /// The same of tensors that no node holds yet; dst may be x.
    template <tensor_struct Tensor>
    void check(const Tensor& x, const Tensor& position_ids, const Tensor& dst) const {
        for_element_type(x, [&]<class T>(T) {
            const heads_view<const T> from = view<const T>(x);
            const heads_view<T> to = view<T>(dst, "dst");
            check_positions(position_ids, x.ne[2]);
            if (basis_.rotary_dim() > x.ne[0]) {
                fail<shape_error>({"ggml: rotary_dim ", basis_.rotary_dim(), " must be <= x.ne[0] ", x.ne[0]});
            }
            if (from.shape != to.shape) {
                fail<shape_error>({"ggml: dst ", detail::describe_sizes(dst), " must have the sizes of x, ",
                                   detail::describe_sizes(x)});
            }
            if (!has_distinct_elements(to)) {
                fail<shape_error>({"ggml: dst ", detail::describe_layout(dst), " must not overlap itself"});
            }
            if (from.data != nullptr && to.data != nullptr && overlap_of(from, to) == overlap::partial) {
                fail<shape_error>({"ggml: dst must be x itself or apart from it, and overlaps it partly"});
            }
        });
    }

    /// Rotates slice ith of nth of the tokens of x into dst, which may be x. Slices share no element.
    /// @throws as check, in every slice and before anything is written; for ith that is not 0 to nth - 1; for no data
    template <tensor_struct Tensor>
    void run(const Tensor& x, const Tensor& position_ids, const Tensor& dst, int ith, int nth) const {
        check(x, position_ids, dst);
        if (ith < 0 || ith >= nth) fail<value_error>({"ggml: ith ", ith, " must be 0 to nth - 1 = ", nth - 1});
        if (x.ne[1] == 0 || x.ne[2] == 0 || x.ne[3] == 0) return;
        const auto check_data = [](const char* name, const Tensor& t) {
            if (t.data == nullptr) fail<shape_error>({"ggml: ", name, ".data nullptr must point to its elements"});
        };
        check_data("x", x), check_data("position_ids", position_ids), check_data("dst", dst);
        const index_t each = x.ne[2] / nth, left = x.ne[2] % nth;  // no product that 64 bits may not hold
        const index_t begin = each * ith + std::min<index_t>(ith, left), end = begin + each + (ith < left ? 1 : 0);
        if (begin == end) return;
        const auto* const ids = static_cast<const std::int32_t*>(position_ids.data);
        for_element_type(x, [&]<class T>(T) {
            rotate_slice(slice(view<const T>(x), begin, end), slice(view<T>(dst), begin, end), ids + begin, x.ne[2]);
        });
    }

 private:
    template <tensor_struct Tensor>
    void check_positions(const Tensor& t, index_t tokens) const {
        detail::checked_axes<std::int32_t>(t, "position_ids");
        const index_t wanted = axis_of_pair_.empty() ? tokens : 4 * tokens;
        if (t.ne[0] != wanted || t.ne[1] != 1 || t.ne[2] != 1 || t.ne[3] != 1) {
            fail<shape_error>({"ggml: position_ids ", detail::describe_sizes(t), " must be [", wanted, ", 1, 1, 1]"});
        }
    }

    axis_angles<std::int32_t> exact_axes(const std::int32_t* first, index_t tokens, index_t axis_stride) const {
        position_view<std::int32_t> ids(first, 1, tokens, 0);
        ids.axes = 4;
        ids.axis_stride = axis_stride;
        return {basis_, axis_of_pair_, ids};
    }

    /// @param axis_stride  from a token's position on one axis to that on the next, where it has several
    template <class T>
    void rotate_slice(const heads_view<const T>& x, const heads_view<T>& y, const std::int32_t* ids,
                      index_t axis_stride) const {
        const index_t tokens = x.shape.tokens;
        if (!axis_of_pair_.empty()) {
            rotate_forward<half_split>(exact_axes(ids, tokens, axis_stride), from_to(x, y));
            return;
        }
        const exact_angles angles(basis_, position_view<std::int32_t>(ids, 1, tokens, 0));
        is_interleaved_ ? rotate_forward<interleaved>(angles, from_to(x, y))
                        : rotate_forward<half_split>(angles, from_to(x, y));
    }

    template <class T>
    static heads_view<T> slice(heads_view<T> v, index_t begin, index_t end) {
        v.data += begin * v.token_stride;
        v.shape.tokens = end - begin;
        return v;
    }

    template <tensor_struct Tensor, class Body>
    static void for_element_type(const Tensor& t, const Body& body) {
        const auto is = [&](auto of) { return static_cast<int>(t.type) == detail::type_of<decltype(of)>(); };
        if (is(float{})) return body(float{});
        if (is(float16{})) return body(float16{});
        if (is(bfloat16{})) return body(bfloat16{});
        if (is(double{})) return body(double{});
        fail<value_error>(
            {"ggml: x of type ", detail::describe_type(static_cast<int>(t.type)), " must be F32, F16, BF16 or F64"});
    }

    cordage::basis basis_;
    bool is_interleaved_ = false;
    std::vector<std::uint8_t> axis_of_pair_;  // empty for one position a token
};

/// For ggml_custom_4d with args {x, positions}, and ggml_custom_inplace of x with args {positions}: a ggml_custom_op_t.
/// @param userdata  a rotation
/// ggml knows no exceptions: what does not fit ends the program with its message, as GGML_ASSERT would.
template <tensor_struct Tensor>
void rotate(Tensor* dst, int ith, int nth, void* userdata) noexcept {
    detail::check_sources(*dst);
    static_cast<const rotation*>(userdata)->run(*dst->src[0], *dst->src[1], *dst, ith, nth);
}
/// The same for ggml_map_custom2 and ggml_map_custom2_inplace of x and positions: a ggml_custom2_op_t.
template <tensor_struct Tensor>
void rotate(Tensor* dst, const Tensor* x, const Tensor* position_ids, int ith, int nth, void* userdata) noexcept {
    static_cast<const rotation*>(userdata)->run(*x, *position_ids, *dst, ith, nth);
}

}  // namespace cordage::ggml
