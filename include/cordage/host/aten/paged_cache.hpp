// SPDX-License-Identifier: MIT
// Stores libtorch's q, k and v into a paged cache, and moves cached keys; serves hosts that register operators of their
// own.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/backend/any_format.hpp"
#include "cordage/host/aten/normalized.hpp"

namespace cordage::aten {

/// A paged cache, written in place. The last stride is 1, the others are arbitrary, so that a cache [blocks, heads,
/// block_size, head_dim] can be passed transposed.
struct cache_tensors {
    /// [blocks, block_size, heads, head_dim], of one type: float32, float16, bfloat16, or int8, float8_e4m3fn or
    /// float8_e5m2 with scales. Head sizes may differ.
    at::Tensor keys, values;
    at::Tensor key_scales, value_scales;  ///< [blocks, block_size, heads] float32; undefined without quantisation
};

namespace detail {

/// Calls body with the element type of a quantised cache: on the CPU uint8_t, whose code is selected at run time.
template <class Device, class Body>
void for_code(backend::element_code code, const Body& body) {
    if constexpr (Device::device == at::kCPU) return body(std::uint8_t{});
    if (code == backend::element_code::int8) return body(std::int8_t{});
    if (code == backend::element_code::fp8_e4m3) return body(fp8_e4m3{});
    body(fp8_e5m2{});
}

/// The code of a cache, by the name of its type: libtorch before 2.1 has no constants for fp8 types.
inline std::optional<backend::element_code> code_of(const at::Tensor& x) {
    const std::string_view type = at::toString(x.scalar_type());
    if (type == "Char") return backend::element_code::int8;
    if (type == "Float8_e4m3fn") return backend::element_code::fp8_e4m3;
    if (type == "Float8_e5m2") return backend::element_code::fp8_e5m2;
    return {};
}

/// The scales [blocks, block_size, heads] of a cache as heads of one lane.
inline heads_view<float> view_of_scales(const at::Tensor& scales) {
    return {scales.data_ptr<float>(),
            {scales.size(0), scales.size(1), scales.size(2), 1},
            scales.stride(0),
            scales.stride(1),
            scales.stride(2)};
}

/// A view of cache and scales. T: an element, or what for_code passes.
template <class T>
auto cache_view(const at::Tensor& cache, const at::Tensor& scales, const char* name) {
    if constexpr (sizeof(T) > 1) {
        return view<T>(cache, name);
    } else {
        const scale_table table{scales.data_ptr<float>(), scales.stride(0), scales.stride(1), scales.stride(2)};
        const auto in_format = [&]<class Format>(const Format& format) {
            return heads_view<T, Format>{static_cast<T*>(cache.data_ptr()),
                                         {cache.size(0), cache.size(1), cache.size(2), cache.size(3)},
                                         cache.stride(0),
                                         cache.stride(1),
                                         cache.stride(2),
                                         {},
                                         format};
        };
        if constexpr (std::same_as<T, std::uint8_t>) {
            backend::any_format format = backend::any_format_of<std::int8_t>(scaled_bytes<std::int8_t>{table});
            format.element = *code_of(cache);
            return in_format(format);
        } else {
            return in_format(scaled_bytes<T>{table});
        }
    }
}

/// The memory of a tensor in bytes, to test for overlap.
inline heads_memory memory_of(const at::Tensor& x) {
    const index_t bytes = x.element_size();
    heads_memory m;
    m.data = x.data_ptr();
    m.element_size = 1;
    m.head_size = bytes * (x.dim() == 4 ? x.size(3) : 1);
    m.shape = {x.size(0), x.size(1), x.size(2), m.head_size};
    m.batch_stride = x.stride(0) * bytes;
    m.token_stride = x.stride(1) * bytes;
    m.head_stride = x.stride(2) * bytes;
    return m;
}

/// Checks that scales are given if needed, one for each token and head, each with its own element.
inline void check_scales(const char* function, const char* name, const at::Tensor& scales, const char* cache_name,
                         const at::Tensor& cache) {
    const std::string type = at::toString(cache.scalar_type());
    if (!code_of(cache)) {
        if (!scales.defined()) return;
        fail<value_error>(
            {function, ": ", name, " must not be given for ", cache_name, " of type ", type, ", which has no scales"});
    }
    if (!scales.defined()) {
        fail<value_error>({function, ": ", name, " must be given for ", cache_name, " of type ", type,
                           ": float32 [blocks, block_size, heads]"});
    }
    check_strided(name, scales);
    if (scales.scalar_type() != at::kFloat || scales.sizes() != cache.sizes().slice(0, 3)) {
        fail<shape_error>({function, ": ", name, " of type ", at::toString(scales.scalar_type()), " ", sizes_of(scales),
                           " must be float32 [blocks, block_size, heads] of ", cache_name, " ", sizes_of(cache)});
    }
    check_device(name, scales, cache.device());
    if (scales.is_neg() || !has_distinct_elements(view_of_scales(scales))) {
        fail<shape_error>({function, ": ", name, " with strides ", c10::str(scales.strides()),
                           " must have a separate element for each token and head, and no pending negation"});
    }
}

/// Checks a cache on its own.
inline void check_cache(const char* function, const cache_tensors& cache, at::DeviceType where) {
    check_place("keys", cache.keys, where);
    for (const auto& [name, x] : {std::pair("keys", cache.keys), std::pair("values", cache.values)}) {
        check_strided(name, x);
        if (x.dim() != 4) {
            fail<shape_error>(
                {function, ": ", name, " ", sizes_of(x), " must be [blocks, block_size, heads, head_dim]"});
        }
        check_device(name, x, cache.keys.device());
        if ((x.stride(3) != 1 && x.size(3) > 1) || x.is_neg()) {
            fail<shape_error>({function, ": ", name, " with strides ", c10::str(x.strides()),
                               " must have a last stride of 1, and no pending negation"});
        }
    }
    if (cache.values.scalar_type() != cache.keys.scalar_type() ||
        cache.values.sizes().slice(0, 2) != cache.keys.sizes().slice(0, 2)) {
        fail<shape_error>({function, ": values ", at::toString(cache.values.scalar_type()), " ", sizes_of(cache.values),
                           " must have the type, blocks and block_size of keys, ",
                           at::toString(cache.keys.scalar_type()), " ", sizes_of(cache.keys)});
    }
    check_scales(function, "key_scales", cache.key_scales, "keys", cache.keys);
    check_scales(function, "value_scales", cache.value_scales, "values", cache.values);
}

/// Checks that scales share no memory with each other or with other tensors of the call.
inline void check_scales_apart(const char* function, const cache_tensors& cache,
                               std::initializer_list<std::pair<const char*, at::Tensor>> others) {
    if (!cache.key_scales.defined()) return;
    const auto check = [&](const char* name, const at::Tensor& scales, const char* other, const at::Tensor& x) {
        if (overlap_of(memory_of(scales), memory_of(x)) == overlap::none) return;
        fail<shape_error>({function, ": ", name, " must not overlap ", other, ", as one of them is written"});
    };
    check("value_scales", cache.value_scales, "key_scales", cache.key_scales);
    for (const auto& [name, scales] :
         {std::pair("key_scales", cache.key_scales), std::pair("value_scales", cache.value_scales)}) {
        check(name, scales, "keys", cache.keys);
        check(name, scales, "values", cache.values);
        for (const auto& [other, x] : others) check(name, scales, other, x);
    }
}

inline index_t slots_of(const cache_tensors& cache) { return cache.keys.size(0) * cache.keys.size(1); }

/// A new cache of one block with a slot for each of some tokens, of the types and head sizes of another one.
inline cache_tensors empty_block(const cache_tensors& cache, index_t tokens) {
    const auto block = [&](const at::Tensor& x) {
        if (!x.defined()) return x;
        std::vector<index_t> sizes = x.sizes().vec();
        sizes[0] = 1, sizes[1] = tokens;
        return at::empty(sizes, x.options());
    };
    return {block(cache.keys), block(cache.values), block(cache.key_scales), block(cache.value_scales)};
}

/// The slots of the tokens, dense.
inline at::Tensor checked_slots(const char* function, const char* name, const at::Tensor& slots,
                                std::initializer_list<index_t> sizes, const at::Device& device) {
    check_strided(name, slots);
    const at::IntArrayRef wanted(sizes);
    const bool is_row = wanted.size() == 2 && wanted[0] == 1 && slots.dim() == 1 && slots.size(0) == wanted[1];
    if ((slots.scalar_type() != at::kInt && slots.scalar_type() != at::kLong) || (slots.sizes() != wanted && !is_row)) {
        fail<value_error>({function, ": ", name, " of type ", at::toString(slots.scalar_type()), " ", sizes_of(slots),
                           " must be int32 or int64 ", c10::str(wanted), ", a slot for each token"});
    }
    check_device(name, slots, device);
    return slots.contiguous();
}

/// View of the tokens of a cache in dense slots.
template <class T, class Format>
heads_view<T, Format> in_slots_of(const heads_view<T, Format>& cache, const at::Tensor& slots, index_t batch,
                                  index_t tokens) {
    return slots.scalar_type() == at::kLong ? in_slots(cache, slots.data_ptr<std::int64_t>(), batch, tokens)
                                            : in_slots(cache, slots.data_ptr<std::int32_t>(), batch, tokens);
}

/// Calls body with a value of the cache's element type; throws for unsupported types, naming the tensor.
template <class Body>
void for_stored_type(const char* function, const char* name, const at::Tensor& x, const char* more, const Body& body) {
    const at::ScalarType type = x.scalar_type();
    if (type == at::kFloat) return body(float{});
    if (type == at::kHalf) return body(float16{});
    if (type == at::kBFloat16) return body(bfloat16{});
    fail<value_error>(
        {function, ": ", name, " of type ", at::toString(type), " must be float32, float16 or bfloat16", more});
}

}  // namespace detail

/// Normalizes (if requested) and rotates q and k, and stores k and v into the slots of a paged cache, quantised if the
/// cache is: one pass over the tokens.
///
/// @param q_in, k_in, v_in  [batch, tokens, heads, head_dim] of one type, float32, float16 or bfloat16; any strides
///                          (copied once unless the last is 1). v is not rotated
/// @param cache             of the type of q, or quantised; for float32 tensors also float16 or bfloat16
/// @param slots_in          [tokens] for a batch of one, or [batch, tokens]; int32 or int64; -1 skips a token, whose
///                          q is rotated nevertheless
/// @param by                on the CPU, integer positions are at most 2^53 in magnitude
/// @param norm              of q and k
/// @returns                 the rotated q, new
/// @throws cordage::error   naming the argument, before anything is written; on a GPU values are not checked
///                          (rotate/cuda/forward.hpp)
template <pairing Pairing, class Device = on_cpu>
at::Tensor rotate_and_store(const at::Tensor& q_in, const at::Tensor& k_in, const at::Tensor& v_in,
                            const cache_tensors& cache, const at::Tensor& slots_in, const angle_tensors& by,
                            const std::optional<norm_tensors>& norm = {}) {
    using namespace detail;
    constexpr const char* function = "aten::rotate_and_store";
    check_place("q", q_in, Device::device);
    check_like("q", q_in, "q", q_in);
    check_like("k", k_in, "q", q_in);
    check_like("v", v_in, "q", q_in);
    check_angles(by, q_in.device());
    check_cache(function, cache, Device::device);
    const auto check_heads_of = [&](const char* name, const at::Tensor& stored, const char* x_name,
                                    const at::Tensor& x) {
        if (stored.sizes().slice(2) == x.sizes().slice(2)) return;
        fail<shape_error>({function, ": ", name, " ", sizes_of(stored), " must have the heads and head_dim of ", x_name,
                           " ", sizes_of(x)});
    };
    check_heads_of("keys", cache.keys, "k", k_in);
    check_heads_of("values", cache.values, "v", v_in);
    if (norm) check_weights({q_in, k_in}, *norm);
    const index_t batch = q_in.size(0);
    const at::Tensor slots = checked_slots(function, "slot_mapping", slots_in, {batch, q_in.size(1)}, q_in.device());
    const Device on(q_in, by);
    std::vector<at::Tensor> x = viewable({q_in, k_in, v_in});
    // On a GPU kernels that store are compiled for few types: positions in int64 and weights of the type of q. With
    // others q and k are rotated by a kernel before.
    constexpr bool is_on_cpu = Device::device == at::kCPU;
    using position = std::conditional_t<is_on_cpu, double, std::int64_t>;
    const bool is_rotated =
        !is_on_cpu && (by.position_ids.is_floating_point() || (norm && !has_weights_of(*norm, q_in.scalar_type())));
    at::Tensor ids;
    if constexpr (is_on_cpu) {
        ids = positions_in_double(by.position_ids);
    } else {
        ids = dense(by.position_ids, at::kLong);
        if (is_rotated) {
            const std::vector<at::Tensor> both{x[0], x[1]};
            const auto rotated = norm ? normalized_rotation_forward<Pairing, Device>(both, *norm, by)
                                      : rotation_forward<Pairing, Device>(both, by);
            std::ranges::copy(rotated, x.begin());
        }
    }
    const at::Tensor q_out = at::empty_like(x[0]);
    check_scales_apart(function, cache, {{"q", x[0]}, {"k", x[1]}, {"v", x[2]}});

    const auto store = [&]<class T, class C>(T, C) {
        const index_t tokens = q_in.size(1);
        const auto run = [&](const auto& normalized) {
            const auto in_cache = [&](const at::Tensor& all, const at::Tensor& scales, const char* name) {
                return in_slots_of(cache_view<C>(all, scales, name), slots, batch, tokens);
            };
            const auto rotated = [&](const auto& o) { return is_rotated ? o.unrotated() : o; };
            const auto to_keys = from_to(view<const T>(x[1]), in_cache(cache.keys, cache.key_scales, "keys"));
            const auto to_values = from_to(view<const T>(x[2]), in_cache(cache.values, cache.value_scales, "values"));
            on.template forward<Pairing>(view_of_positions<position>(ids),
                                         normalized(rotated(from_to(view<const T>(x[0]), view<T>(q_out))), 0),
                                         normalized(rotated(to_keys), 1), to_values.unrotated());
        };
        if (!norm || is_rotated) return run([](const auto& operand, std::size_t) { return operand; });
        const held_norms<std::conditional_t<is_on_cpu, compute_of<T>, T>> norms(*norm);
        run([&](const auto& operand, std::size_t i) { return operand.normalized(norms(i)); });
    };
    for_stored_type(function, "q", x[0], "", [&]<class T>(T) {
        const at::ScalarType type = cache.keys.scalar_type();
        if (const auto code = code_of(cache.keys)) {
            return for_code<Device>(*code, [&]<class C>(C) { store(T{}, C{}); });
        }
        if (type == type_of<T>()) return store(T{}, T{});
        if constexpr (std::same_as<T, float>) {
            if (type == at::kHalf) return store(T{}, float16{});
            if (type == at::kBFloat16) return store(T{}, bfloat16{});
        }
        fail<value_error>({function, ": keys of type ", at::toString(type), " must be of q's type, ",
                           at::toString(type_of<T>()), ", or ", std::same_as<T, float> ? "float16, bfloat16, " : "",
                           "int8, float8_e4m3fn or float8_e5m2"});
    });
    return q_out;
}

/// Rotates cached keys from the angles of `from` to those of `to`, and moves them with their values to other slots: on
/// the CPU in one pass, on a GPU in two, through a block of as many tokens. Quantised keys that are not rotated keep
/// their bytes.
///
/// @param from_slots, to_slots  [tokens] int32 or int64, -1 skips a token; the CPU processes tokens in this order
/// @param from, to  positions [tokens], integers at most 2^53 in magnitude, and bases
/// @throws cordage::error  naming the argument or, on the CPU, the slot that would be written before it is read, before
///                         anything is written
template <pairing Pairing, class Device = on_cpu>
void move(const cache_tensors& cache, const at::Tensor& from_slots, const at::Tensor& to_slots,
          const angle_tensors& from, const angle_tensors& to) {
    using namespace detail;
    constexpr const char* function = "aten::move";
    check_cache(function, cache, Device::device);
    check_scales_apart(function, cache, {});
    const at::Device device = cache.keys.device();
    check_strided("from_slots", from_slots);
    const index_t tokens = from_slots.numel();
    const at::Tensor old_slots = checked_slots(function, "from_slots", from_slots, {tokens}, device).to(at::kLong),
                     new_slots = checked_slots(function, "to_slots", to_slots, {tokens}, device).to(at::kLong);
    for (const angle_tensors* by : {&from, &to}) {
        check_angles(*by, device);
        if (by->position_ids.dim() == 1 && by->position_ids.size(0) == tokens) continue;
        fail<shape_error>({function, ": position_ids ", sizes_of(by->position_ids), " of ", by == &from ? "from" : "to",
                           " must be [tokens] = [", tokens, "], as from_slots"});
    }
    const at::Tensor old_ids = positions_in_double(from.position_ids), new_ids = positions_in_double(to.position_ids);
    const Device before(cache.keys, from), after(cache.keys, to);
    const auto move_in = [&]<class C>(C) {
        const auto keys = [](const cache_tensors& of) { return cache_view<C>(of.keys, of.key_scales, "keys"); };
        const auto values = [](const cache_tensors& of) { return cache_view<C>(of.values, of.value_scales, "values"); };
        const auto in = [&](const auto& all, const at::Tensor& slots) {
            return in_slots(all, slots.data_ptr<std::int64_t>(), 1, tokens);
        };
        const auto turn = after.angles(view_of_positions<double>(new_ids)) -  //
                          before.angles(view_of_positions<double>(old_ids));
        if constexpr (Device::device == at::kCPU) {
            after.template rebase<Pairing>(
                turn, from_to(in(keys(cache), old_slots), in(keys(cache), new_slots)),
                from_to(in(values(cache), old_slots), in(values(cache), new_slots)).unrotated());
        } else {  // its tokens have no order: all slots are read before one is written
            const cache_tensors apart = empty_block(cache, tokens);
            after.template rebase<Pairing>(turn, from_to(in(keys(cache), old_slots), keys(apart)),
                                           from_to(in(values(cache), old_slots), values(apart)).unrotated());
            const at::Tensor is_skipped = at::logical_or(old_slots < 0, old_slots >= slots_of(cache)),
                             slots = new_slots.masked_fill(is_skipped, -1);
            after.template rebase<Pairing>(turn, from_to(keys(apart), in(keys(cache), slots)).unrotated(),
                                           from_to(values(apart), in(values(cache), slots)).unrotated());
        }
    };
    if (const auto code = code_of(cache.keys)) return for_code<Device>(*code, move_in);
    for_stored_type(function, "keys", cache.keys, ", or int8, float8_e4m3fn or float8_e5m2", move_in);
}

}  // namespace cordage::aten
