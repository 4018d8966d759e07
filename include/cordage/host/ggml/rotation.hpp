// SPDX-License-Identifier: MIT
// Tensors of ggml as views, and the rotation as a custom operation of a graph; a host adapter.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "cordage/host/ggml/rope_arguments.hpp"
#include "cordage/kernels.hpp"

/// A struct with the fields of ggml_tensor. Everything here is a template over it, so that ggml.h is not included.
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

/// GGML_TYPE_*, or -1 if ggml has no such type.
template <class T>
constexpr int type_of() {
    if constexpr (std::same_as<T, float>) return 0;
    if constexpr (std::same_as<T, float16>) return 1;
    if constexpr (std::same_as<T, q4_0_block>) return 2;
    if constexpr (std::same_as<T, q8_0_block>) return 8;
    if constexpr (std::same_as<T, std::int32_t>) return 26;
    if constexpr (std::same_as<T, std::int64_t>) return 27;
    if constexpr (std::same_as<T, double>) return 28;
    if constexpr (std::same_as<T, bfloat16>) return 30;
    return -1;
}

inline std::string describe_type(int type) {
    constexpr std::pair<int, const char*> names[] = {{0, "F32"},  {1, "F16"},  {2, "Q4_0"}, {8, "Q8_0"},
                                                     {26, "I32"}, {27, "I64"}, {28, "F64"}, {30, "BF16"}};
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

/// The sizes and strides of a tensor in elements of T, each of `lanes` numbers. Checks everything except the data
/// pointer, which may be null.
template <class T, index_t lanes = 1, tensor_struct Tensor>
std::array<view_axis, 4> checked_axes(const Tensor& t, const char* name) {
    if (static_cast<int>(t.type) != type_of<T>()) {
        fail<value_error>({"ggml: ", name, " of type ", describe_type(static_cast<int>(t.type)), " must be ",
                           describe_type(type_of<T>())});
    }
    std::array<view_axis, 4> axes;
    for (std::size_t i = 0; i < 4; ++i) {
        if (t.ne[i] < 0) fail<shape_error>({"ggml: ", name, ".ne[", i, "] ", t.ne[i], " must not be negative"});
        if (i == 0 && t.ne[0] % lanes != 0) {
            fail<shape_error>(
                {"ggml: ", name, ".ne[0] ", t.ne[0], " must be a multiple of ", lanes, ", the lanes of a block"});
        }
        if (t.nb[i] % sizeof(T) != 0 || (i == 0 && t.ne[0] > lanes && t.nb[0] != sizeof(T))) {
            fail<shape_error>({"ggml: ", name, ".nb[", i, "] ", t.nb[i], " must be ", i == 0 ? "" : "a multiple of ",
                               sizeof(T), ", the size of an element"});
        }
        axes[i] = {i == 0 ? t.ne[0] / lanes : t.ne[i], static_cast<index_t>(t.nb[i] / sizeof(T))};
    }
    if (!is_addressable(axes[0], axes[1], axes[2], axes[3])) {
        fail<shape_error>({"ggml: ", name, " ", describe_layout(t), " must span at most 2^58 elements"});
    }
    if (const auto address = reinterpret_cast<std::uintptr_t>(t.data); address % alignof(T) != 0) {
        fail<value_error>(
            {"ggml: ", name, ".data ", address, " must be a multiple of ", alignof(T), ", the alignment of its type"});
    }
    return axes;
}

template <tensor_struct Tensor>
void check_sources(const Tensor& node, const char* first = "x", const char* second = "position_ids") {
    for (const int i : {0, 1}) {
        if (node.src[i] == nullptr) {
            fail<value_error>({"ggml: dst.src[", i, "] nullptr must be ", i == 0 ? first : second});
        }
    }
}

/// Checks the operation's slice and that tensors have data. Returns whether the first tensor has elements.
template <tensor_struct Tensor>
bool check_slice(int ith, int nth, std::initializer_list<std::pair<const char*, const Tensor*>> tensors) {
    if (ith < 0 || ith >= nth) fail<value_error>({"ggml: ith ", ith, " must be 0 to nth - 1 = ", index_t{nth} - 1});
    const Tensor& x = *tensors.begin()->second;
    if (x.ne[1] == 0 || x.ne[2] == 0 || x.ne[3] == 0) return false;
    for (const auto& [name, t] : tensors) {
        if (t->data == nullptr) fail<shape_error>({"ggml: ", name, ".data nullptr must point to its elements"});
    }
    return true;
}

struct token_range {
    index_t begin, end;

    index_t size() const noexcept { return end - begin; }
};

/// As above; returns the tokens of slice ith of nth, none if the first tensor has no elements.
template <tensor_struct Tensor>
token_range tokens_of_slice(int ith, int nth, std::initializer_list<std::pair<const char*, const Tensor*>> tensors) {
    if (!check_slice<Tensor>(ith, nth, tensors)) return {0, 0};
    const index_t tokens = tensors.begin()->second->ne[2];
    return {begin_of_slice(tokens, nth, ith), begin_of_slice(tokens, nth, ith + 1)};
}

template <tensor_struct Tensor>
void check_sizes(const Tensor& t, const char* name, const std::array<index_t, 4>& wanted) {
    if (!std::ranges::equal(t.ne, wanted)) {
        fail<shape_error>({"ggml: ", name, " ", describe_sizes(t), " must be [", wanted[0], ", ", wanted[1], ", ",
                           wanted[2], ", ", wanted[3], "]"});
    }
}

/// Calls body(T{}) for the one of Types that a tensor has.
template <class... Types, tensor_struct Tensor, class Body>
void for_type(const Tensor& t, const char* name, const char* expected, const Body& body) {
    const int type = static_cast<int>(t.type);
    const bool is_found = ((type == type_of<Types>() && (body(Types{}), true)) || ...);
    if (!is_found) {
        fail<value_error>({"ggml: ", name, " of type ", describe_type(type), " must be ", expected});
    }
}

/// Tokens begin to end - 1 of a view.
template <class View>
View slice(View v, index_t begin, index_t end) {
    v.data += begin * v.token_stride;
    v.shape.tokens = end - begin;
    return v;
}

}  // namespace detail

/// The format of ggml's type T: q8_0_block as q8_0, q4_0_block as q4_0, elements as themselves.
template <class T, class Kept = std::remove_const_t<T>>
using format_of = std::conditional_t<std::same_as<Kept, q8_0_block>, q8_0,
                                     std::conditional_t<std::same_as<Kept, q4_0_block>, q4_0, element_traits<Kept>>>;

/// A tensor of q or k, ne = [head_dim, heads, tokens, batch] in any order of strides, as a view.
/// @tparam T  float, double, float16, bfloat16, q8_0_block or q4_0_block, or one of them const
/// @throws value_error or shape_error  naming the type, size, stride or address that does not fit T
template <class T, tensor_struct Tensor>
    requires tensor_format<format_of<T>, std::remove_const_t<T>>
heads_view<T, format_of<T>> view(const Tensor& t, const char* name = "x") {
    using kept = std::remove_const_t<T>;
    static_assert(detail::type_of<kept>() >= 0,
                  "cordage::ggml::view: T must be float, double, cordage::float16, cordage::bfloat16, "
                  "cordage::q8_0_block or cordage::q4_0_block");
    const auto [lanes, heads, tokens, batch] = detail::checked_axes<kept, lanes_of_element<format_of<T>>>(t, name);
    return {static_cast<T*>(t.data),
            {batch.size, tokens.size, heads.size, t.ne[0]},
            batch.stride,
            tokens.stride,
            heads.stride};
}

/// The rotation of one or several graphs, in place of ggml_rope_ext's arguments. The address of this object is the
/// userdata of the custom operation, so the object must outlive the computation of the graph. Between computations
/// another rotation, for example for another t, may be assigned to it.
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
    /// One position for each token.
    /// @param mode  normal or neox
    /// @throws value_error  for another mode
    rotation(cordage::basis b, int mode) : basis_(std::move(b)), is_interleaved_(mode == normal) {
        if (mode != normal && mode != neox) {
            fail<value_error>({"ggml::rotation: mode ", mode, " must be 0 or 2, or axis_of_pair must be given"});
        }
    }
    /// Four positions for each token (ggml_rope_multi), pairs as in neox.
    /// @param axis_of_pair  [rotary_dim/2], each 0 ... 3: axes_of_pairs, contiguous_axes or interleaved_axes
    /// @throws shape_error or value_error  for another size, or an axis that is out of range
    rotation(cordage::basis b, std::vector<std::uint8_t> axis_of_pair)
        : basis_(std::move(b)), axis_of_pair_(std::move(axis_of_pair)) {
        axis_angles<std::int32_t>(basis_, axis_of_pair_, positions(nullptr, 0, 0));  // throws if the axes are invalid
    }
    /// The rotation of ggml_rope_ext or ggml_rope_multi with these arguments. Throws as ggml::make_basis.
    explicit rotation(const rope_arguments& a, std::span<const float> freq_factors = {})
        : rotation(has_axes(a.mode) ? rotation(make_basis(a, freq_factors), axes_of_pairs(a))
                                    : rotation(make_basis(a, freq_factors), a.mode)) {}

    const cordage::basis& basis() const noexcept { return basis_; }

    /// Checks a node when the graph is built; its tensors need no data yet. src[0] is x, src[1] position_ids.
    /// @throws value_error or shape_error  for what rotate would reject
    template <tensor_struct Tensor>
    void check(const Tensor& node) const {
        detail::check_sources(node);
        check(*node.src[0], *node.src[1], node);
    }
    /// As above, for tensors without a node; dst may be x.
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
                fail<shape_error>({"ggml: dst must be x itself or not overlap it; it overlaps it partly"});
            }
        });
    }

    /// Rotates slice ith of nth of the tokens of x into dst, which may be x. Slices share no element.
    /// @throws as check, in every slice and before anything is written; unless ith is 0 to nth - 1; for null data
    template <tensor_struct Tensor>
    void run(const Tensor& x, const Tensor& position_ids, const Tensor& dst, int ith, int nth) const {
        check(x, position_ids, dst);
        const detail::token_range part =
            detail::tokens_of_slice<Tensor>(ith, nth, {{"x", &x}, {"position_ids", &position_ids}, {"dst", &dst}});
        if (part.size() == 0) return;
        const auto* const ids = static_cast<const std::int32_t*>(position_ids.data) + part.begin;
        for_element_type(x, [&]<class T>(T) {
            const heads_view<const T> from = detail::slice(view<const T>(x), part.begin, part.end);
            const heads_view<T> to = detail::slice(view<T>(dst), part.begin, part.end);
            with_source([&](auto pairing, const auto& angles_of) {
                rotate_forward<decltype(pairing)>(angles_of(positions(ids, part.size(), x.ne[2])), from_to(from, to));
            });
        });
    }

    /// Rotates slice ith of nth of the tokens of x and stores them into rows of a cache in one pass, in place of
    /// ggml_rope_ext, a view of its result and ggml_set_rows.
    /// @param x      F32, ne = [head_dim, heads, tokens]
    /// @param rows   I64 [tokens], the row of each token, 0 to cache.ne[1] - 1, all different
    /// @param cache  F32, F16, BF16, Q8_0 or Q4_0, ne = [head_dim * heads, rows]; must not overlap x
    /// @throws as run; each slice checks the rows of its own tokens
    template <tensor_struct Tensor>
    void run_into_rows(const Tensor& x, const Tensor& position_ids, const Tensor& rows, const Tensor& cache, int ith,
                       int nth) const {
        const heads_view<const float> from = view<const float>(x);
        const index_t tokens = x.ne[2], lanes = saturated_product(x.ne[0], x.ne[1]);
        check_positions(position_ids, tokens);
        detail::checked_axes<std::int64_t>(rows, "rows");
        detail::check_sizes(x, "x", {x.ne[0], x.ne[1], tokens, 1});
        detail::check_sizes(rows, "rows", {tokens, 1, 1, 1});
        detail::check_sizes(cache, "cache", {lanes, cache.ne[1], 1, 1});
        const detail::token_range part = detail::tokens_of_slice<Tensor>(
            ith, nth, {{"x", &x}, {"position_ids", &position_ids}, {"rows", &rows}, {"cache", &cache}});
        if (part.size() == 0) return;
        const auto* const ids = static_cast<const std::int32_t*>(position_ids.data) + part.begin;
        const auto* const slots = static_cast<const std::int64_t*>(rows.data) + part.begin;
        for (index_t i = 0; i < part.size(); ++i) {
            if (slots[i] >= 0 && slots[i] < cache.ne[1]) continue;
            fail<value_error>(
                {"ggml: rows[", part.begin + i, "] ", slots[i], " must be 0 to cache.ne[1] - 1 = ", cache.ne[1] - 1});
        }
        detail::for_type<float, float16, bfloat16, q8_0_block, q4_0_block>(
            cache, "cache", "F32, F16, BF16, Q8_0 or Q4_0", [&]<class T>(T) {
                heads_view<T, format_of<T>> all = view<T>(cache, "cache");  // [1, 1, rows, lanes]
                all.shape = {1, all.shape.heads, x.ne[1], x.ne[0]};
                all.token_stride = all.head_stride;
                all.head_stride = elements_of_head<format_of<T>>(x.ne[0]);
                with_source([&](auto pairing, const auto& angles_of) {
                    rotate_forward<decltype(pairing)>(
                        angles_of(positions(ids, part.size(), tokens)),
                        from_to(detail::slice(from, part.begin, part.end), in_slots(all, slots, 1, part.size())));
                });
            });
    }

 private:
    friend class key_shift;

    template <tensor_struct Tensor>
    void check_positions(const Tensor& t, index_t tokens, const char* name = "position_ids") const {
        detail::checked_axes<std::int32_t>(t, name);
        detail::check_sizes(t, name, {saturated_product(positions_of_token(), tokens), 1, 1, 1});
    }

    index_t positions_of_token() const noexcept { return axis_of_pair_.empty() ? 1 : 4; }

    /// @param axis_stride  distance between a token's positions on two axes, if it has several
    position_view<std::int32_t> positions(const std::int32_t* first, index_t tokens, index_t axis_stride) const {
        position_view<std::int32_t> ids(first, 1, tokens, 0);
        ids.axes = positions_of_token();
        ids.axis_stride = axis_stride;
        return ids;
    }

    /// Calls f(pairing, angles_of); angles_of(positions) are the angles of the rotation.
    template <class F>
    void with_source(const F& f) const {
        using ids = position_view<std::int32_t>;
        if (!axis_of_pair_.empty()) {
            f(half_split{}, [&](const ids& p) { return axis_angles<std::int32_t>(basis_, axis_of_pair_, p); });
            return;
        }
        const auto exact = [&](const ids& p) { return exact_angles<std::int32_t>(basis_, p); };
        is_interleaved_ ? f(interleaved{}, exact) : f(half_split{}, exact);
    }

    template <tensor_struct Tensor, class Body>
    static void for_element_type(const Tensor& t, const Body& body) {
        detail::for_type<float, float16, bfloat16, double>(t, "x", "F32, F16, BF16 or F64", body);
    }

    cordage::basis basis_;
    bool is_interleaved_ = false;
    std::vector<std::uint8_t> axis_of_pair_;  // empty for one position per token
};

/// For ggml_custom_4d with args {x, positions}, and ggml_custom_inplace of x with args {positions}: a ggml_custom_op_t.
/// @param userdata  a rotation
/// ggml does not support exceptions: invalid input ends the program with its message, as GGML_ASSERT does.
template <tensor_struct Tensor>
void rotate(Tensor* dst, int ith, int nth, void* userdata) noexcept {
    detail::check_sources(*dst);
    static_cast<const rotation*>(userdata)->run(*dst->src[0], *dst->src[1], *dst, ith, nth);
}
/// As above, for ggml_map_custom2 and ggml_map_custom2_inplace of x and positions: a ggml_custom2_op_t.
template <tensor_struct Tensor>
void rotate(Tensor* dst, const Tensor* x, const Tensor* position_ids, int ith, int nth, void* userdata) noexcept {
    static_cast<const rotation*>(userdata)->run(*x, *position_ids, *dst, ith, nth);
}

}  // namespace cordage::ggml
