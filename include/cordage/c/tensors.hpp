// SPDX-License-Identifier: MIT
// Tensors of the C interface, checked and converted to views.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "cordage/backend/any_format.hpp"
#include "cordage/c/cordage.h"
#include "cordage/host/dlpack/view.hpp"
#include "cordage/rotate/operand_checks.hpp"

namespace cordage::c {

using backend::any_format, backend::any_operand, backend::element_code;

/// Bytes and lanes of an element of a dtype, its name, its code and bits in DLPack, 0 bits where it has none, and, for
/// dtypes of heads, its code.
struct element_type {
    std::int32_t dtype;
    const char* name;
    dlpack::data_type in_dlpack;
    index_t bytes;
    index_t lanes = 1;
    bool is_of_heads = true;
    element_code code = element_code::float32;
};
inline constexpr element_type element_types[] = {
    {CORDAGE_FLOAT32, "float32", {2, 32, 1}, 4},
    {CORDAGE_FLOAT64, "float64", {2, 64, 1}, 8},
    {CORDAGE_FLOAT16, "float16", {2, 16, 1}, 2, 1, true, element_code::float16},
    {CORDAGE_BFLOAT16, "bfloat16", {4, 16, 1}, 2, 1, true, element_code::bfloat16},
    {CORDAGE_INT8, "int8", {0, 8, 1}, 1, 1, true, element_code::int8},
    {CORDAGE_FLOAT8_E4M3, "float8_e4m3", {10, 8, 1}, 1, 1, true, element_code::fp8_e4m3},
    {CORDAGE_FLOAT8_E5M2, "float8_e5m2", {12, 8, 1}, 1, 1, true, element_code::fp8_e5m2},
    {CORDAGE_Q8_0, "q8_0", {}, sizeof(q8_0_block), 32, true, element_code::q8_0},
    {CORDAGE_Q4_0, "q4_0", {}, sizeof(q4_0_block), 32, true, element_code::q4_0},
    {CORDAGE_INT32, "int32", {0, 32, 1}, 4, 1, false},
    {CORDAGE_INT64, "int64", {0, 64, 1}, 8, 1, false},
    {CORDAGE_FLOAT4_E2M1_X2, "float4_e2m1_x2", {}, 1, 2, true, element_code::fp4_e2m1_x2},
    {CORDAGE_FLOAT8_E8M0, "float8_e8m0", {14, 8, 1}, 1, 1, false, element_code::e8m0},
};

/// Calls body with a value of the C++ type of a plain dtype.
template <class Body>
void for_plain_type(const element_type& type, const Body& body) {
    dlpack::detail::for_type<float, double, float16, bfloat16>(type.in_dlpack, body);
}

/// An argument's name for messages: "operands[1].x". Converted to a string only for a message.
struct argument {
    const char* function;
    const char* text;
    index_t number = -1;
    const argument* outer = nullptr;

    /// The name of a field of this argument, which must outlive the result.
    argument of(const char* field) const { return {function, field, -1, this}; }
    std::string name() const {
        const std::string own = number < 0 ? std::string(text) : message(text, "[", number, "]");
        return outer == nullptr ? own : outer->name() + own;
    }
    template <class Error>
    [[noreturn]] void refuse(std::initializer_list<message_part> why) const {
        fail<Error>({function, ": ", name(), joined(why)});
    }
};

/// The flag in a field of an argument.
/// @throws value_error  unless it is 0 or 1
inline bool is_set(const argument& a, const char* field, std::int32_t flag) {
    if (flag != 0 && flag != 1) a.refuse<value_error>({field, " ", flag, " must be 0 or 1"});
    return flag == 1;
}

/// @param wanted  the valid dtypes; empty: those of heads
/// @throws value_error  listing them
inline const element_type& type_of(const argument& a, std::int32_t dtype, std::initializer_list<std::int32_t> wanted) {
    const auto is_wanted = [&](const element_type& type) {
        return wanted.size() == 0 ? type.is_of_heads
                                  : std::find(wanted.begin(), wanted.end(), type.dtype) != wanted.end();
    };
    for (const element_type& type : element_types) {
        if (type.dtype == dtype && is_wanted(type)) return type;
    }
    std::string names;
    for (const element_type& type : element_types) {
        if (is_wanted(type)) names += message(names.empty() ? "" : ", ", type.dtype, " (", type.name, ")");
    }
    a.refuse<value_error>({".dtype ", dtype, " must be one of ", names});
}

/// A tensor of the caller's with its strides computed. An axis of size 1 has stride 0.
struct strided {
    void* data;
    const element_type* type;
    int axes;
    index_t shape[5];
    index_t strides[5];

    /// The axis `i` before the last; of size 1 if there are not so many.
    view_axis from_end(int i) const {
        return i < axes ? view_axis{shape[axes - 1 - i], strides[axes - 1 - i]} : view_axis{1, 0};
    }
};

/// Whether a tensor that may be left out is, with all fields zero; one that is set only partly is an error of
/// strided_of.
inline bool is_left_out(const cordage_tensor& t) {
    const auto is_zero = [](std::int64_t n) { return n == 0; };
    return t.data == nullptr && t.dtype == 0 && t.ndim == 0 && t.is_read_only == 0 &&
           std::ranges::all_of(t.shape, is_zero) && std::ranges::all_of(t.strides, is_zero);
}

/// @throws value_error, shape_error  naming the field
inline strided strided_of(const argument& a, const cordage_tensor& t, int fewest, int most,
                          std::initializer_list<std::int32_t> wanted, bool is_written = false) {
    const element_type& type = type_of(a, t.dtype, wanted);
    if (t.ndim < fewest || t.ndim > most) {
        a.refuse<shape_error>({".ndim ", t.ndim, " must be ", fewest, " to ", most});
    }
    if (is_written && t.is_read_only != 0) a.refuse<value_error>({" is read-only, must be writable for this call"});
    strided s{t.data, &type, t.ndim, {}, {}};
    bool is_dense = true, is_empty = false;
    for (int i = 0; i < t.ndim; ++i) {
        if (t.shape[i] < 0 || t.shape[i] > most_elements) {
            a.refuse<shape_error>({".shape[", i, "] ", t.shape[i], " must not be negative, and at most 2^58"});
        }
        if (t.strides[i] < 0) a.refuse<shape_error>({".strides[", i, "] ", t.strides[i], " must not be negative"});
        is_dense = is_dense && t.strides[i] == 0;
        is_empty = is_empty || t.shape[i] == 0;
    }
    index_t stride = 1;
    for (int i = t.ndim - 1; i >= 0; --i) {
        s.shape[i] = t.shape[i];
        s.strides[i] = t.shape[i] <= 1 ? 0 : is_dense ? stride : t.strides[i];
        stride = saturated_product(stride, i == t.ndim - 1 ? rounded_up_quotient(t.shape[i], type.lanes) : t.shape[i]);
    }
    if (!is_empty && t.data == nullptr) a.refuse<shape_error>({".data nullptr must point to the elements"});
    const index_t alignment = type.bytes == 34 || type.bytes == 18 ? 2 : type.bytes;
    if (reinterpret_cast<std::uintptr_t>(t.data) % static_cast<std::uintptr_t>(alignment) != 0) {
        a.refuse<value_error>({".data ", static_cast<const void*>(t.data), " must be a multiple of ", alignment,
                               ", the alignment of its type"});
    }
    return s;
}

inline void expect_dense(const argument& a, const strided& s, int first_axis) {
    index_t stride = 1;
    for (int i = s.axes - 1; i >= first_axis; --i) {
        if (s.shape[i] > 1 && s.strides[i] != stride) {
            a.refuse<shape_error>({".strides[", i, "] ", s.strides[i], " must be ", stride, ": entries must be dense"});
        }
        stride = saturated_product(stride, s.shape[i]);
    }
}

/// Heads in memory, and their format.
struct described_heads {
    strided tensor;
    heads_memory memory;  ///< in elements
    any_format format;
    bool is_plain;  ///< contiguous heads of float32, float64, float16 or bfloat16

    template <class T>
    heads_view<T> as() const {
        return {static_cast<T*>(tensor.data), memory.shape,       memory.batch_stride,
                memory.token_stride,          memory.head_stride, memory.slots};
    }
    heads_view<std::uint8_t, any_format> as_bytes() const {
        const heads_memory m = rotate_detail::in_bytes(memory);
        auto* const data = static_cast<std::uint8_t*>(tensor.data);
        return {data, m.shape, m.batch_stride, m.token_stride, m.head_stride, m.slots, format};
    }
};

/// A tensor of heads without slots.
inline described_heads heads_in_order(const argument& a, const cordage_tensor& t, bool is_written,
                                      std::initializer_list<std::int32_t> wanted = {}) {
    described_heads h{strided_of(a, t, 3, wanted.size() == 0 ? 5 : 4, wanted, is_written), {}, {}, false};
    const strided& s = h.tensor;
    const int inner = s.axes == 5 ? 1 : 0;  // groups of a head
    const view_axis batch = s.from_end(inner + 3), tokens = s.from_end(inner + 2), heads = s.from_end(inner + 1);
    const view_axis lanes = s.from_end(0);
    heads_memory& m = h.memory;
    m.data = s.data;
    m.element_size = s.type->bytes;
    m.shape = {batch.size, tokens.size, heads.size,
               inner == 0 ? lanes.size : saturated_product(lanes.size, s.from_end(1).size)};
    if (m.shape.head_dim > most_elements) a.refuse<shape_error>({".shape has over 2^58 lanes in a head"});
    m.batch_stride = batch.stride, m.token_stride = tokens.stride, m.head_stride = heads.stride;
    m.head_size = rounded_up_quotient(lanes.size, s.type->lanes);
    if (m.head_size > 1 && lanes.stride != 1) {
        a.refuse<shape_error>({".strides[", s.axes - 1, "] ", lanes.stride, " must be 1: lanes must be dense"});
    }
    h.format.element = s.type->code;
    if (inner == 1 && s.shape[3] > 1) {
        if (s.shape[4] % s.type->lanes != 0) {
            a.refuse<shape_error>(
                {".shape[4] ", s.shape[4], " must be a multiple of ", s.type->lanes, ", the lanes of a block"});
        }
        m.groups = s.shape[3];
        m.group_stride = s.strides[3];
        h.format.bytes_of_group = m.head_size * m.element_size;
        h.format.group_stride = saturated_product(m.group_stride, m.element_size);
    }
    h.is_plain = m.groups == 1 && s.type->lanes == 1 && !h.format.has_scales();
    return h;
}

/// Sets the slots of a described cache. With a block table the tokens are those of the angles.
inline void set_slots(const argument& a, const cordage_heads& heads, index_t tokens, heads_memory& m) {
    if (heads.slot_mapping != nullptr && heads.block_table != nullptr) {
        a.refuse<value_error>({" has a slot_mapping and a block_table, must have only one of them"});
    }
    const bool is_by_block = heads.block_table != nullptr;
    const cordage_tensor* const given = is_by_block ? heads.block_table : heads.slot_mapping;
    if (given == nullptr) return;
    const argument entries = a.of(is_by_block ? ".block_table" : ".slot_mapping");
    const strided s = strided_of(entries, *given, 1, 2, {CORDAGE_INT32, CORDAGE_INT64});
    expect_dense(entries, s, s.axes - 1);
    static constexpr std::int64_t no_entries = 0;
    m.slots = {s.data == nullptr ? &no_entries : s.data, s.type->bytes == 8, s.from_end(1).stride,
               is_by_block ? m.shape.tokens : 1,         m.shape.tokens,     m.shape.batch};
    const index_t held = s.from_end(0).size;
    if (is_by_block && (m.shape.tokens < 1 || held < rounded_up_quotient(tokens, m.shape.tokens))) {
        entries.refuse<shape_error>({".shape[", s.axes - 1, "] ", held, " must be at least the blocks of ", tokens,
                                     " tokens, ", m.shape.tokens, " to a block"});
    }
    m.shape.batch = s.from_end(1).size;
    m.shape.tokens = is_by_block ? tokens : held;
}

/// The types that scales of a cache may have.
inline std::initializer_list<std::int32_t> scale_types(element_code element) {
    static constexpr std::initializer_list<std::int32_t> of_int8 = {CORDAGE_FLOAT32};
    static constexpr std::initializer_list<std::int32_t> of_fp8 = {CORDAGE_FLOAT32, CORDAGE_FLOAT8_E8M0};
    static constexpr std::initializer_list<std::int32_t> of_fp4 = {CORDAGE_FLOAT8_E8M0, CORDAGE_FLOAT8_E4M3};
    return element == element_code::int8 ? of_int8 : element == element_code::fp4_e2m1_x2 ? of_fp4 : of_fp8;
}

/// Sets the type of scales and what belongs to it; the fields of other types must be 0.
inline void set_scale_options(const argument& a, const cordage_heads& heads, element_code scale, any_format& format) {
    format.scale = scale;
    const bool is_e8m0 = scale == element_code::e8m0, is_nvfp4 = scale == element_code::fp8_e4m3;
    if (!format.makes_scales && scale != element_code::float32) {
        a.refuse<value_error>({".scales_are_given 1 must be 0 for scales of one byte, which are always computed"});
    }
    if (heads.scales_round_up != 0 && (heads.scales_round_up != 1 || !is_e8m0)) {
        a.refuse<value_error>(
            {".scales_round_up ", heads.scales_round_up, " must be 0, or 1 for scales in float8_e8m0"});
    }
    if (heads.scale_least != 0.0f && !is_e8m0) {
        a.refuse<value_error>({".scale_least ", heads.scale_least, " must be 0 unless scales are in float8_e8m0"});
    }
    if (heads.tensor_scale != 0.0f && !is_nvfp4) {
        a.refuse<value_error>({".tensor_scale ", heads.tensor_scale, " must be 0 unless scales are in float8_e4m3"});
    }
    format.rounding = heads.scales_round_up == 1 ? scale_rounding::up : scale_rounding::down;
    format.least = heads.scale_least;
    if (is_nvfp4) format.tensor_scale = heads.tensor_scale == 0.0f ? 1.0f : heads.tensor_scale;
}

/// Sets the scales of a cache or of a tensor without slots.
inline void set_scales(const argument& a, const cordage_heads& heads, bool is_written, described_heads& h) {
    any_format& format = h.format;
    if (heads.scales == nullptr) {
        if (format.has_scales()) a.refuse<value_error>({".scales nullptr must be given for ", h.tensor.type->name});
        if (heads.scales_are_given != 0) {
            a.refuse<value_error>({".scales_are_given ", heads.scales_are_given, " must be 0 without scales"});
        }
        return set_scale_options(a, heads, element_code::float32, format);
    }
    const argument scales = a.of(".scales");
    if (!format.has_scales()) {
        scales.refuse<value_error>({" must be NULL for ", h.tensor.type->name, ", which has none"});
    }
    format.makes_scales = !is_set(a, ".scales_are_given", heads.scales_are_given);
    const strided s =
        strided_of(scales, *heads.scales, 1, 4, scale_types(format.element), is_written && format.makes_scales);
    set_scale_options(a, heads, s.type->code, format);
    format.scales.data = static_cast<std::uint8_t*>(s.data);
    if (s.axes == 1 && s.shape[0] == 1 && format.scale == element_code::float32) return;  // one scale for all
    const heads_shape& all = h.memory.shape;                                              // before slots
    if (s.axes < 3 || s.shape[0] != all.batch || s.shape[1] != all.tokens || s.shape[2] != all.heads) {
        scales.refuse<shape_error>({" must be one number, or [", all.batch, ", ", all.tokens, ", ", all.heads,
                                    "], optionally with a fourth size, as the tensor"});
    }
    const index_t size = s.type->bytes;
    format.scales.row_stride = saturated_product(s.strides[0], size);
    format.scales.token_stride = saturated_product(s.strides[1], size);
    format.scales.head_stride = saturated_product(s.strides[2], size);
    if (s.axes == 4) {
        if (s.shape[3] < 1 || all.head_dim % s.shape[3] != 0 || (s.shape[3] > 1 && s.strides[3] != 1)) {
            scales.refuse<shape_error>(
                {".shape[3] ", s.shape[3], " must divide head_dim ", all.head_dim, " and have stride 1"});
        }
        format.lanes_of_scale = all.head_dim / s.shape[3];
    }
    if (format.scale == element_code::fp8_e4m3 && format.lanes_of_scale != nvfp4::lanes_of_scale) {
        scales.refuse<shape_error>(
            {" must have a fourth size, head_dim / 16 = ", all.head_dim / 16, ", as 16 lanes share a scale in NVFP4"});
    }
}

/// Heads with slots, scales and transform.
inline described_heads describe_heads(const argument& a, const cordage_heads& heads, index_t tokens, bool is_written) {
    described_heads h = heads_in_order(a.of(".tensor"), heads.tensor, is_written);
    set_scales(a, heads, is_written, h);
    set_slots(a, heads, tokens, h.memory);
    if (heads.hadamard_size != 0) {
        if (heads.hadamard_size < 1) a.refuse<shape_error>({".hadamard_size ", heads.hadamard_size, " must be >= 0"});
        h.format.hadamard_size = heads.hadamard_size;
        h.is_plain = false;
    }
    return h;
}

/// The weights of norms converted to the compute type, kept for one call.
using held_weights = std::tuple<std::vector<std::vector<float>>, std::vector<std::vector<double>>>;

/// A norm with weights in float, or in double for float64 heads.
template <class Real>
rms_norm<Real> norm_from(const argument& a, const cordage_norm& norm, const heads_shape& shape, held_weights& held) {
    rms_norm<Real> made{nullptr,
                        norm.epsilon,
                        is_set(a, ".adds_one", norm.adds_one),
                        is_set(a, ".is_over_all_heads", norm.is_over_all_heads),
                        is_set(a, ".is_after_rotation", norm.is_after_rotation),
                        is_set(a, ".is_rounded_between", norm.is_rounded_between)};
    if (is_left_out(norm.weight)) return made;
    const argument weight = a.of(".weight");
    if (norm.weight.data == nullptr) {
        weight.refuse<shape_error>({".data nullptr must point to the weights; all zero: the norm has none"});
    }
    constexpr std::int32_t exact = std::same_as<Real, double> ? CORDAGE_FLOAT64 : CORDAGE_FLOAT32;
    const strided s =
        strided_of(weight, norm.weight, 1, 2, {CORDAGE_FLOAT32, exact, CORDAGE_FLOAT16, CORDAGE_BFLOAT16});
    expect_dense(weight, s, 0);
    const index_t rows = made.rows(shape.heads), count = saturated_product(rows, shape.head_dim);
    const index_t given = saturated_product(s.from_end(1).size, s.from_end(0).size);
    if (given != count || s.from_end(0).size != shape.head_dim) {
        weight.refuse<shape_error>({" has ", given, " entries, must have ",
                                    made.is_over_all_heads ? "[heads, head_dim] = [" : "[head_dim] = [",
                                    made.is_over_all_heads ? message(rows, ", ") : "", shape.head_dim, "]"});
    }
    for_plain_type(*s.type, [&]<class T>(T) {
        const auto* const from = static_cast<const T*>(s.data);
        if constexpr (std::same_as<T, Real>) {
            made.weight = from;
        } else {
            auto& all = std::get<std::vector<std::vector<Real>>>(held).emplace_back();
            for (index_t i = 0; i < count; ++i) all.push_back(static_cast<Real>(element_traits<T>::load(from[i])));
            made.weight = all.data();
        }
    });
    return made;
}

/// The tensor of a DLTensor in host memory.
/// @throws value_error, shape_error
inline cordage_tensor tensor_from_dlpack(const char* function, const dlpack::tensor& t, bool is_read_only) {
    const argument a{function, "dl_tensor"};
    const std::int32_t device = t.device.device_type;
    if (device != dlpack::cpu && device != dlpack::cuda_host && device != dlpack::rocm_host) {
        a.refuse<value_error>({".device.device_type ", dlpack::detail::describe_device(device), " must be ",
                               dlpack::detail::describe_device(dlpack::cpu)});
    }
    const auto* const type = std::ranges::find_if(
        element_types, [&](const element_type& e) { return dlpack::detail::is_same_type(e.in_dlpack, t.dtype); });
    if (t.dtype.lanes != 1 || type == std::end(element_types)) {
        a.refuse<value_error>(
            {" of type ", dlpack::detail::describe_type(t.dtype),
             " must be float16, bfloat16, float32, float64, int8, int32, int64, float8_e4m3fn, float8_e5m2 or "
             "float8_e8m0fnu"});
    }
    if (t.ndim < 1 || t.ndim > 5) a.refuse<shape_error>({".ndim ", t.ndim, " must be 1 to 5"});
    if (t.shape == nullptr) a.refuse<shape_error>({".shape nullptr must point to ", t.ndim, " sizes"});
    if (!dlpack::detail::has_address(t)) {
        a.refuse<value_error>(
            {".data ", static_cast<const void*>(t.data), " + byte_offset ", t.byte_offset, " must be an address"});
    }
    cordage_tensor out{t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset,
                       type->dtype,
                       t.ndim,
                       {},
                       {},
                       is_read_only ? 1 : 0};
    bool are_zero = t.strides != nullptr, is_one = true, is_empty = false;
    for (int i = 0; i < t.ndim; ++i) {
        out.shape[i] = t.shape[i];
        out.strides[i] = t.strides == nullptr || t.shape[i] <= 1 ? 0 : t.strides[i];
        are_zero = are_zero && out.strides[i] == 0;
        is_one = is_one && t.shape[i] <= 1;
        is_empty = is_empty || t.shape[i] == 0;
    }
    if (are_zero && !is_one && !is_empty)
        a.refuse<shape_error>({".strides must not all be 0, as the tensor has more than one element"});
    return out;
}

}  // namespace cordage::c
