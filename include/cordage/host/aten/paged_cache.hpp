// SPDX-License-Identifier: MIT
// Stores libtorch's q, k and v into a paged cache, and moves cached keys; serves hosts that register operators of their
// own.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
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
#include "cordage/host/aten/rotation.hpp"

namespace cordage::aten {

/// A paged cache, written in place. The last stride is 1, the others are arbitrary, so that a cache [blocks, heads,
/// block_size, head_dim] can be passed transposed.
struct cache_tensors {
    /// [blocks, block_size, heads, head_dim], of one type: float32, float16, bfloat16, or with scales int8,
    /// float8_e4m3fn, float8_e5m2, or float4_e2m1fn_x2, whose last size is head_dim / 2. Head sizes may differ.
    at::Tensor keys, values;
    /// [blocks, block_size, heads], or [blocks, block_size, heads, groups] for groups of lanes: float32, or for float8
    /// and float4 float8_e8m0fnu or its bytes in uint8 (MXFP8, MXFP4: 32 lanes), or for float4 float8_e4m3fn (NVFP4: 16
    /// lanes). Of one type; undefined without quantisation.
    at::Tensor key_scales, value_scales;
    bool scales_round_up = false;  ///< float8_e8m0fnu: up, so that no lane saturates; else down, as OCP MX
    float scale_least = 0.0f;      ///< float8_e8m0fnu: a group's largest magnitude counts as at least this
    float key_tensor_scale = 1.0f, value_tensor_scale = 1.0f;  ///< NVFP4: x = tensor scale * scale * code
};

namespace detail {

using backend::element_code;

/// For messages.
inline constexpr const char* quantised_types =
    "int8, float8_e4m3fn, float8_e5m2 or float4_e2m1fn_x2 (codes in uint8: x.view(torch.float8_e4m3fn))";

/// The code of the elements or scales of a cache, by the name of their type: older versions of libtorch have no
/// constants for some.
inline std::optional<element_code> code_of(const at::Tensor& x) {
    static constexpr std::pair<std::string_view, element_code> types[] = {
        {"Float", element_code::float32},
        {"Half", element_code::float16},
        {"BFloat16", element_code::bfloat16},
        {"Char", element_code::int8},
        {"Float8_e4m3fn", element_code::fp8_e4m3},
        {"Float8_e5m2", element_code::fp8_e5m2},
        {"Float8_e8m0fnu", element_code::e8m0},
        {"Float4_e2m1fn_x2", element_code::fp4_e2m1_x2},
        {"Byte", element_code::e8m0}};
    const std::string_view type = x.defined() ? at::toString(x.scalar_type()) : "";
    for (const auto& [name, code] : types) {
        if (type == name) return code;
    }
    return {};
}

/// Keys or values of a cache.
struct cache_part {
    const char *name, *scales_name;
    const at::Tensor &elements, &scales;
    float tensor_scale;
    const cache_tensors& of;
    std::optional<element_code> code = code_of(elements), scale = code_of(scales);

    bool is_fp4() const { return code == element_code::fp4_e2m1_x2; }
    bool is_quantised() const { return code && backend::any_format{.element = *code}.has_scales(); }
    index_t head_dim() const { return elements.size(3) * (is_fp4() ? 2 : 1); }
    /// The format of a part that is quantised.
    backend::any_format format() const {
        const index_t bytes = scales.element_size();
        return {.element = *code,
                .scale = *scale,
                .scales = {static_cast<std::uint8_t*>(scales.data_ptr()), saturated_product(bytes, scales.stride(0)),
                           saturated_product(bytes, scales.stride(1)), saturated_product(bytes, scales.stride(2))},
                .lanes_of_scale = scales.dim() == 4 ? head_dim() / scales.size(3) : 0,
                .rounding = of.scales_round_up ? scale_rounding::up : scale_rounding::down,
                .least = of.scale_least,
                .tensor_scale = tensor_scale};
    }
};
inline std::array<cache_part, 2> parts_of(const cache_tensors& c) {
    return {{{"keys", "key_scales", c.keys, c.key_scales, c.key_tensor_scale, c},
             {"values", "value_scales", c.values, c.value_scales, c.value_tensor_scale, c}}};
}

/// The types of a view of a cache.
template <class T, class Format = void>
struct stored_as {};

/// Calls body with the types of a quantised cache: on the CPU bytes, whose format is selected at run time.
template <class Device, class Body>
void for_format(const backend::any_format& format, const Body& body) {
    if constexpr (Device::device == at::kCPU) {
        body(stored_as<std::uint8_t, backend::any_format>{});
    } else {
        format.with_codes([&]<class C, class Format>(const C*, const Format&) { body(stored_as<C, Format>{}); });
    }
}

template <class T>
heads_view<T> cache_view(stored_as<T>, const cache_part& part) {
    return view<T>(part.elements, part.name);
}
template <class T, class Format>
heads_view<T, Format> cache_view(stored_as<T, Format>, const cache_part& part) {
    const at::Tensor& x = part.elements;
    return {static_cast<T*>(x.data_ptr()),
            {x.size(0), x.size(1), x.size(2), part.head_dim()},
            x.stride(0),
            x.stride(1),
            x.stride(2),
            {},
            part.format().as<Format>()};
}

/// The memory of a tensor in bytes, to test for overlap.
inline heads_memory memory_of(const at::Tensor& x) {
    heads_memory m;
    m.data = x.data_ptr();
    m.element_size = x.element_size();
    m.head_size = x.dim() == 4 ? x.size(3) : 1;
    m.shape = {x.size(0), x.size(1), x.size(2), m.head_size};
    m.batch_stride = x.stride(0);
    m.token_stride = x.stride(1);
    m.head_stride = x.stride(2);
    return rotate_detail::in_bytes(m);
}

/// Checks that scales are given if needed, in one of the sizes that the format has, each with its own element.
inline void check_scales(const char* function, const cache_part& part) {
    const at::Tensor &x = part.elements, &scales = part.scales;
    const char* const name = part.scales_name;
    const char* const type = at::toString(x.scalar_type());
    if (!part.is_quantised()) {
        if (!scales.defined()) return;
        fail<value_error>(
            {function, ": ", name, " must not be given for ", part.name, " of type ", type, ", which has no scales",
             x.scalar_type() == at::kByte ? "; view bytes as what they are, as in x.view(torch.float8_e4m3fn)" : ""});
    }
    const bool is_int8 = part.code == element_code::int8, is_fp4 = part.is_fp4();
    const auto wanted = [&] {
        return message(is_int8  ? "float32"
                       : is_fp4 ? "float8_e8m0fnu (MXFP4) or float8_e4m3fn (NVFP4)"
                                : "float32 or float8_e8m0fnu (MXFP8)",
                       " [blocks, block_size, heads] or [blocks, block_size, heads, groups]");
    };
    if (!scales.defined()) {
        fail<value_error>({function, ": ", name, " must be given for ", part.name, " of type ", type, ": ", wanted()});
    }
    check_strided(name, scales);
    const bool is_nvfp4 = is_fp4 && part.scale == element_code::fp8_e4m3;
    const bool has_type =
        is_nvfp4 || (part.scale == element_code::e8m0 && !is_int8) || (part.scale == element_code::float32 && !is_fp4);
    if (!has_type || (scales.dim() != 3 && scales.dim() != 4) || scales.sizes().slice(0, 3) != x.sizes().slice(0, 3)) {
        fail<shape_error>({function, ": ", name, " of type ", at::toString(scales.scalar_type()), " ", sizes_of(scales),
                           " must be ", wanted(), " of ", part.name, " ", sizes_of(x)});
    }
    const index_t groups = scales.dim() == 4 ? scales.size(3) : 1, head_dim = part.head_dim();
    if (groups < 1 || head_dim % groups != 0 || (is_nvfp4 && groups * nvfp4::lanes_of_scale != head_dim)) {
        fail<shape_error>({function, ": ", name, " ", sizes_of(scales), " has ", groups, " groups of lanes, must have ",
                           is_nvfp4 ? "one for each 16, as in NVFP4, of head_dim " : "a divisor of head_dim ",
                           head_dim});
    }
    check_device(name, scales, x.device());
    if (scales.is_neg() || (groups > 1 && scales.stride(3) != 1) || !has_distinct_elements(memory_of(scales))) {
        fail<shape_error>({function, ": ", name, " with strides ", c10::str(scales.strides()),
                           " must have a separate element for each token and head, ",
                           groups > 1 ? "a last stride of 1, " : "", "and no pending negation"});
    }
    if (scales.numel() > 0) part.format().check(function, part.name, head_dim);
}

/// Checks that scales are of one type, and that fields of other types than theirs are not set.
inline void check_scaling(const char* function, const std::array<cache_part, 2>& parts) {
    const cache_tensors& c = parts[0].of;
    const auto scale = parts[0].scale;
    if (parts[1].scale != scale) {
        fail<value_error>({function, ": value_scales of type ", at::toString(c.value_scales.scalar_type()),
                           " must have the type of key_scales, ", at::toString(c.key_scales.scalar_type())});
    }
    if ((c.scales_round_up || c.scale_least != 0.0f) && scale != element_code::e8m0) {
        fail<value_error>({function, ": scales_round_up ", c.scales_round_up ? "true" : "false", " and scale_least ",
                           c.scale_least, " must be false and 0 unless scales are float8_e8m0fnu (MXFP8, MXFP4)"});
    }
    if ((c.key_tensor_scale != 1.0f || c.value_tensor_scale != 1.0f) && scale != element_code::fp8_e4m3) {
        fail<value_error>({function, ": key_tensor_scale ", c.key_tensor_scale, " and value_tensor_scale ",
                           c.value_tensor_scale, " must be 1 unless scales are float8_e4m3fn (NVFP4)"});
    }
}

/// Checks a cache on its own.
inline void check_cache(const char* function, const cache_tensors& cache, at::DeviceType where) {
    check_place("keys", cache.keys, where);
    const auto parts = parts_of(cache);
    for (const cache_part& part : parts) {
        const char* const name = part.name;
        const at::Tensor& x = part.elements;
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
    for (const cache_part& part : parts) check_scales(function, part);
    check_scaling(function, parts);
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
    for (const cache_part& part : parts_of(cache)) {
        check(part.scales_name, part.scales, "keys", cache.keys);
        check(part.scales_name, part.scales, "values", cache.values);
        for (const auto& [other, x] : others) check(part.scales_name, part.scales, other, x);
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
    cache_tensors made = cache;
    for (at::Tensor* x : {&made.keys, &made.values, &made.key_scales, &made.value_scales}) *x = block(*x);
    return made;
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
    check_device("keys", cache.keys, q_in.device());
    const auto parts = parts_of(cache);
    const auto check_heads_of = [&](const cache_part& part, const char* x_name, const at::Tensor& x) {
        if (part.elements.size(2) == x.size(2) && part.head_dim() == x.size(3)) return;
        fail<shape_error>({function, ": ", part.name, " ", sizes_of(part.elements), " must have the heads and head_dim",
                           part.is_fp4() ? ", half of it in bytes of fp4," : "", " of ", x_name, " ", sizes_of(x)});
    };
    check_heads_of(parts[0], "k", k_in);
    check_heads_of(parts[1], "v", v_in);
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
            const auto rotated =
                norm ? rotation_forward<Pairing, Device>(both, by, *norm) : rotation_forward<Pairing, Device>(both, by);
            std::ranges::copy(rotated, x.begin());
        }
    }
    const at::Tensor q_out = empty_like({x[0]})[0];
    check_scales_apart(function, cache, {{"q", x[0]}, {"k", x[1]}, {"v", x[2]}});

    const auto store = [&]<class T>(T, const auto& how) {
        const index_t tokens = q_in.size(1);
        const auto run = [&](const auto& norms) {
            const auto in_cache = [&](const cache_part& part) {
                return in_slots_of(cache_view(how, part), slots, batch, tokens);
            };
            const auto rotated = [&](const auto& o) { return is_rotated ? o.unrotated() : o; };
            const auto to_keys = from_to(view<const T>(x[1]), in_cache(parts[0]));
            const auto to_values = from_to(view<const T>(x[2]), in_cache(parts[1]));
            rotate_forward<Pairing>(on.where(), on.angles(view_of_positions<position>(ids)),
                                    norms.normalized(0, rotated(from_to(view<const T>(x[0]), view<T>(q_out)))),
                                    norms.normalized(1, rotated(to_keys)), to_values.unrotated());
        };
        if (!norm || is_rotated) return run(without_norms());
        run(held_norms<std::conditional_t<is_on_cpu, compute_of<T>, T>>(*norm));
    };
    for_element_type<false>(function, "q", x[0], [&]<class T>(T) {
        const at::ScalarType type = cache.keys.scalar_type();
        if (parts[0].is_quantised()) {
            return for_format<Device>(parts[0].format(), [&](const auto& how) { store(T{}, how); });
        }
        if (type == type_of<T>()) return store(T{}, stored_as<T>{});
        if constexpr (std::same_as<T, float>) {
            if (type == at::kHalf) return store(T{}, stored_as<float16>{});
            if (type == at::kBFloat16) return store(T{}, stored_as<bfloat16>{});
        }
        fail<value_error>({function, ": keys of type ", at::toString(type), " must be of q's type, ",
                           at::toString(type_of<T>()), ", or ", std::same_as<T, float> ? "float16, bfloat16, " : "",
                           quantised_types});
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
    const at::Tensor old_slots = checked_slots(function, "from_slots", from_slots, {tokens}, device),
                     new_slots = checked_slots(function, "to_slots", to_slots, {tokens}, device);
    for (const angle_tensors* by : {&from, &to}) {
        check_angles(*by, device);
        if (by->position_ids.dim() == 1 && by->position_ids.size(0) == tokens) continue;
        fail<shape_error>({function, ": position_ids ", sizes_of(by->position_ids), " of ", by == &from ? "from" : "to",
                           " must be [tokens] = [", tokens, "], as from_slots"});
    }
    const at::Tensor old_ids = positions_in_double(from.position_ids), new_ids = positions_in_double(to.position_ids);
    const Device before(cache.keys, from), after(cache.keys, to);
    const auto move_in = [&](const auto& how) {
        const auto keys = [&](const cache_tensors& of) { return cache_view(how, parts_of(of)[0]); };
        const auto values = [&](const cache_tensors& of) { return cache_view(how, parts_of(of)[1]); };
        const auto in = [&](const auto& all, const at::Tensor& slots) { return in_slots_of(all, slots, 1, tokens); };
        const auto turn = after.angles(view_of_positions<double>(new_ids)) -  //
                          before.angles(view_of_positions<double>(old_ids));
        if constexpr (Device::device == at::kCPU) {
            rebase<Pairing>(after.where(), turn, from_to(in(keys(cache), old_slots), in(keys(cache), new_slots)),
                            from_to(in(values(cache), old_slots), in(values(cache), new_slots)).unrotated());
        } else {  // its tokens have no order: all slots are read before one is written
            const cache_tensors apart = empty_block(cache, tokens);
            rebase<Pairing>(after.where(), turn, from_to(in(keys(cache), old_slots), keys(apart)),
                            from_to(in(values(cache), old_slots), values(apart)).unrotated());
            const at::Tensor is_skipped = at::logical_or(old_slots < 0, old_slots >= slots_of(cache)),
                             slots = new_slots.masked_fill(is_skipped, -1);
            rebase<Pairing>(after.where(), turn, from_to(keys(apart), in(keys(cache), slots)).unrotated(),
                            from_to(values(apart), in(values(cache), slots)).unrotated());
        }
    };
    const cache_part part = parts_of(cache)[0];
    if (part.is_quantised()) return for_format<Device>(part.format(), move_in);
    for_element_type<false>(
        function, part.name, cache.keys, [&]<class T>(T) { move_in(stored_as<T>{}); }, quantised_types);
}

}  // namespace cordage::aten
