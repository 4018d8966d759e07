// SPDX-License-Identifier: MIT
// Tensors passed by DLPack as views, checked and without a copy; a host adapter.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

#include "cordage/host/dlpack/abi.hpp"
#include "cordage/pair/format.hpp"
#include "cordage/positions/position_view.hpp"
#include "cordage/tensors/heads_view.hpp"

namespace cordage::dlpack {

/// DLTensor of dlpack.h, or dlpack::tensor of abi.hpp.
template <class T>
concept tensor_struct = requires(const T& t) {
    { t.data } -> std::convertible_to<void*>;
    { t.device.device_type } -> std::convertible_to<std::int32_t>;
    { t.dtype.lanes } -> std::convertible_to<std::uint16_t>;
    { t.strides } -> std::convertible_to<const std::int64_t*>;
    { t.byte_offset } -> std::convertible_to<std::uint64_t>;
};

/// The order of a tensor's axes: [batch, tokens, heads, head_dim] or [batch, heads, tokens, head_dim]. It cannot be
/// determined from the tensor, so there is no default. The batch axis may be missing.
enum class axes { tokens_heads, heads_tokens };

/// Expected properties of a tensor.
struct expected {
    const char* name = "x";          ///< of the argument, for messages
    std::int32_t device_type = cpu;  ///< cpu also takes host memory pinned by CUDA or ROCm
};

namespace detail {

template <class T>
constexpr data_type type_of() {
    if constexpr (requires { typename element_traits<T>::same_bits_as; }) {  // a host's own 16-bit type
        return type_of<typename element_traits<T>::same_bits_as>();
    } else if constexpr (std::same_as<T, bfloat16>) {
        return {brain_floating, 16, 1};
    } else {
        static_assert(std::is_arithmetic_v<T> || std::same_as<T, float16>,
                      "cordage::dlpack: element_traits<T> needs 'using same_bits_as = cordage::float16;' or "
                      "cordage::bfloat16, whichever T is; docs/hosts.md");
        constexpr std::uint8_t code = std::is_integral_v<T> ? signed_integer : floating;
        return {code, static_cast<std::uint8_t>(8 * sizeof(T)), 1};
    }
}

template <class A, class B>
constexpr bool is_same_type(const A& a, const B& b) {
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/// "float32", or code, bits and lanes if the type has no name here.
template <class DataType>
std::string describe_type(const DataType& type) {
    constexpr const char* names[] = {"int", "uint", "float", nullptr, "bfloat"};  // by type_code
    const char* const name = type.code < std::size(names) ? names[type.code] : nullptr;
    if (name != nullptr && type.lanes == 1) return message(name, int{type.bits});
    return message("(code ", int{type.code}, ", bits ", int{type.bits}, ", lanes ", int{type.lanes}, ")");
}

template <class Error>
[[noreturn]] void refuse(const char* name, std::initializer_list<message_part> why) {
    fail<Error>({"dlpack: ", name, joined(why)});
}

/// Calls body with a value of the type among Types that `type` is. Returns whether there is one.
template <class... Types, class Body>
bool for_type(const auto& type, const Body& body) {
    const auto called = [&](auto value) {
        const bool is_it = is_same_type(type, type_of<decltype(value)>());
        if (is_it) body(value);
        return is_it;
    };
    return (called(Types{}) || ...);
}
/// The same with a tensor's type; otherwise throws, listing `names`.
template <class... Types, tensor_struct Tensor, class Body>
void for_one_of(const Tensor& t, const char* name, const char* names, const Body& body) {
    if (for_type<Types...>(t.dtype, body)) return;
    refuse<value_error>(name, {" of type ", describe_type(t.dtype), " must be ", names});
}

inline std::string describe_device(std::int32_t device) {
    const char* const name = device == cpu ? " (CPU)" : device == cuda ? " (CUDA)" : device == rocm ? " (ROCm)" : "";
    return message(device, name);
}

/// One axis of a view. The stride of an axis of size 1 has no meaning and differs between producers.
template <tensor_struct Tensor>
view_axis axis_of(const Tensor& t, int i) {
    if (t.shape[i] <= 1) return {t.shape[i], 0};
    if (t.strides != nullptr) return {t.shape[i], t.strides[i]};
    index_t stride = 1;
    for (int inner = t.ndim - 1; inner > i; --inner) stride = saturated_product(stride, t.shape[inner]);
    return {t.shape[i], stride};
}
/// The batch axis, the first one if the tensor has all axes.
template <tensor_struct Tensor>
view_axis batch_of(const Tensor& t, int with_batch, int i = 0) {
    return t.ndim == with_batch ? axis_of(t, i) : view_axis{1, 0};
}

/// Whether data + byte_offset does not wrap around.
template <tensor_struct Tensor>
bool has_address(const Tensor& t) {
    return t.byte_offset <= std::numeric_limits<std::uintptr_t>::max() - reinterpret_cast<std::uintptr_t>(t.data);
}

/// Checks everything except the meaning of the axes, and returns the address of the first element.
template <class T, tensor_struct Tensor>
T* checked(const Tensor& t, const expected& e, int least_ndim, int most_ndim, const char* shape) {
    const auto device = static_cast<std::int32_t>(t.device.device_type);
    const bool is_on_host = device == cpu || device == cuda_host || device == rocm_host;
    if (device != e.device_type && !(e.device_type == cpu && is_on_host)) {
        refuse<value_error>(
            e.name, {" on device_type ", describe_device(device), " must be on ", describe_device(e.device_type)});
    }
    if (const data_type wanted = type_of<std::remove_const_t<T>>(); !is_same_type(t.dtype, wanted)) {
        refuse<value_error>(e.name, {" of type ", describe_type(t.dtype), " must be ", describe_type(wanted)});
    }
    if (t.ndim < least_ndim || t.ndim > most_ndim) {
        refuse<shape_error>(e.name, {" has ", t.ndim, " axes, must be ", shape});
    }
    if (t.shape == nullptr) refuse<shape_error>(e.name, {".shape nullptr must point to ", t.ndim, " sizes"});
    bool is_empty = false;
    for (int i = 0; i < t.ndim; ++i) {
        const auto [size, stride] = axis_of(t, i);
        is_empty = is_empty || size == 0;
        if (size < 0) refuse<shape_error>(e.name, {".shape[", i, "] ", size, " must not be negative"});
        if (stride < 0) refuse<shape_error>(e.name, {".strides[", i, "] ", stride, " must not be negative"});
    }
    if (is_empty) return nullptr;
    if (t.data == nullptr) refuse<shape_error>(e.name, {".data nullptr must point to the elements of ", shape});
    const std::uint64_t data = reinterpret_cast<std::uintptr_t>(t.data);
    if (!has_address(t) || (data + t.byte_offset) % sizeof(T) != 0) {
        refuse<value_error>(e.name, {".data ", data, " + byte_offset ", t.byte_offset,
                                     " must be an address and a multiple of ", sizeof(T), ", the size of an element"});
    }
    return reinterpret_cast<T*>(static_cast<char*>(t.data) + t.byte_offset);
}

inline void check_dense(const expected& e, const view_axis& last) {
    if (last.size > 1 && last.stride != 1) {
        refuse<shape_error>(e.name, {" has last stride ", last.stride, ", must be 1"});
    }
}

}  // namespace detail

/// A tensor of q, k or a gradient as a view. Copies nothing.
///
///   rotate_forward<half_split>(angles, in_place(dlpack::view<float>(*q, dlpack::axes::tokens_heads, {.name = "q"})));
///
/// @tparam T     float, double, float16, bfloat16, or a host's own 16-bit type; const if it is only read
/// @param t      4 axes in the given order, or 3 for a batch of one; last stride 1, the others not negative
/// @throws value_error or shape_error  naming the field: device, type, lanes, axes, strides, alignment
template <class T, tensor_struct Tensor>
    requires element<std::remove_const_t<T>>
heads_view<T> view(const Tensor& t, axes order, const expected& e = {}) {
    const bool tokens_first = order == axes::tokens_heads;
    T* const data = detail::checked<T>(
        t, e, 3, 4, tokens_first ? "[batch, tokens, heads, head_dim]" : "[batch, heads, tokens, head_dim]");
    const view_axis batch = detail::batch_of(t, 4), outer = detail::axis_of(t, t.ndim - 3),
                    inner = detail::axis_of(t, t.ndim - 2), last = detail::axis_of(t, t.ndim - 1);
    detail::check_dense(e, last);
    const auto &tokens = tokens_first ? outer : inner, &heads = tokens_first ? inner : outer;
    return {data, {batch.size, tokens.size, heads.size, last.size}, batch.stride, tokens.stride, heads.stride};
}

/// Positions [tokens] or [batch, tokens] as a view; P is int32, int64, float or double. Throws as view.
template <position_type P, tensor_struct Tensor>
position_view<P> positions(const Tensor& t, const expected& e = {.name = "position_ids"}) {
    const P* const data = detail::checked<const P>(t, e, 1, 2, "[tokens] or [batch, tokens]");
    const view_axis batch = detail::batch_of(t, 2), tokens = detail::axis_of(t, t.ndim - 1);
    detail::check_dense(e, tokens);
    return {data, batch.size, tokens.size, batch.stride};
}

/// Positions of several axes, [axes, tokens] or [axes, batch, tokens] in any strides, for axis_angles. Throws as view.
template <position_type P, tensor_struct Tensor>
position_view<P> axis_positions(const Tensor& t, const expected& e = {.name = "position_ids"}) {
    const P* const data = detail::checked<const P>(t, e, 2, 3, "[axes, tokens] or [axes, batch, tokens]");
    const view_axis each = detail::axis_of(t, 0), batch = detail::batch_of(t, 3, 1),
                    tokens = detail::axis_of(t, t.ndim - 1);
    position_view<P> ids(data, batch.size, tokens.size, batch.stride);
    ids.token_stride = tokens.stride;
    ids.axes = each.size;
    ids.axis_stride = each.stride;
    return ids;
}

/// Calls body with a value of the tensor's element type: float, double, float16 or bfloat16.
/// @throws value_error  for any other type
template <tensor_struct Tensor, class Body>
void for_element_type(const Tensor& t, const Body& body, const char* name = "x") {
    detail::for_one_of<float, double, float16, bfloat16>(t, name, "float16, bfloat16, float32 or float64", body);
}

/// Calls body with a value of the type of positions: int32, int64, float or double.
/// @throws value_error  for any other type
template <tensor_struct Tensor, class Body>
void for_position_type(const Tensor& t, const Body& body, const char* name = "position_ids") {
    detail::for_one_of<std::int32_t, std::int64_t, float, double>(t, name, "int32, int64, float32 or float64", body);
}

/// Owns a tensor passed by a producer: calls its deleter once, on destruction or if the constructor throws. Views must
/// not outlive it. Managed is DLManagedTensorVersioned or, before DLPack 1.0, DLManagedTensor, of either header.
///
///   const dlpack::owned q(static_cast<dlpack::managed_tensor_versioned*>(pointer_of_the_capsule));
///   rotate_forward<half_split>(angles, in_place(q.view<float>(dlpack::axes::heads_tokens, {.name = "q"})));
template <class Managed>
class owned {
    static constexpr bool is_versioned = requires(const Managed& m) {
        m.version.major;
        m.flags;
    };

 public:
    /// @throws value_error  for nullptr, or a major version other than 1 (then only the deleter may be used)
    explicit owned(Managed* managed) : managed_(managed) {
        if (managed == nullptr) fail<value_error>({"dlpack: managed tensor nullptr must point to a tensor"});
        if constexpr (is_versioned) {
            if (managed->version.major != major_version) {
                fail<value_error>({"dlpack: version ", managed->version.major, ".", managed->version.minor, " must be ",
                                   major_version, ".x"});
            }
        }
    }

    const auto& tensor() const noexcept { return managed_->dl_tensor; }
    /// Whether the producer forbids writing; false for structs before 1.0, which have no such flag.
    bool is_read_only() const noexcept {
        if constexpr (is_versioned) return (managed_->flags & read_only_flag) != 0;
        return false;
    }

    /// As dlpack::view.
    /// @throws value_error  also if T is not const and the tensor is read-only
    template <class T>
    heads_view<T> view(axes order, const expected& e = {}) const {
        if (!std::is_const_v<T> && is_read_only()) {
            detail::refuse<value_error>(e.name, {" is read-only, must be writable or viewed as const"});
        }
        return dlpack::view<T>(tensor(), order, e);
    }

 private:
    struct release {
        void operator()(Managed* managed) const {
            if (managed->deleter != nullptr) managed->deleter(managed);
        }
    };
    std::unique_ptr<Managed, release> managed_;
};

}  // namespace cordage::dlpack
