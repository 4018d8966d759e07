// SPDX-License-Identifier: MIT
// Tensors of libtorch as views, and its threads as an executor; a host adapter.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include "cordage/core/executor.hpp"
#include "cordage/pair/format.hpp"
#include "cordage/tensors/heads_view.hpp"

namespace cordage::aten {

/// libtorch's own threads (at::set_num_threads) as an executor.
inline auto host_threads() {
    auto loop = [](index_t n, const auto& body) {
        at::parallel_for(0, n, 1, [&](index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i) body(i);
        });
    };
    return loop_executor{loop, at::in_parallel_region() ? 1 : at::get_num_threads()};
}

namespace detail {

template <class T>
constexpr at::ScalarType type_of() {
    if constexpr (std::same_as<T, float>) return at::kFloat;
    if constexpr (std::same_as<T, double>) return at::kDouble;
    if constexpr (std::same_as<T, float16>) return at::kHalf;
    return at::kBFloat16;
}

/// A tensor's name in messages, "x" or "x[1]", built only when a message is.
struct tensor_name {
    const char* list;
    index_t index = -1;

    tensor_name(const char* name) : list(name) {}
    tensor_name(const char* of, std::size_t i) : list(of), index(static_cast<index_t>(i)) {}
    std::string text() const { return index < 0 ? list : message(list, "[", index, "]"); }
};

/// "[2, 5, 3, 8]", for messages.
inline std::string sizes_of(const at::Tensor& x) { return c10::str(x.sizes()); }

/// The numbers of a tensor in a type, dense: the tensor itself if it is so. (The conditions save the calls of libtorch,
/// each a tenth of a microsecond.)
inline at::Tensor dense(const at::Tensor& x, at::ScalarType type) {
    const at::Tensor here = x.is_neg() ? x.resolve_neg() : x;
    if (here.scalar_type() == type && here.is_contiguous()) return here;
    return here.to(type).contiguous();
}

/// Checks that a tensor is defined and strided.
inline void check_strided(const tensor_name& name, const at::Tensor& x) {
    if (!x.defined()) fail<value_error>({"aten: ", name.text(), " must be a defined tensor"});
    if (x.layout() != at::kStrided)
        fail<value_error>({"aten: ", name.text(), " must be strided; convert it by to_dense()"});
}
inline void check_device(const tensor_name& name, const at::Tensor& x, const at::Device& device) {
    if (x.device() != device) {
        fail<value_error>({"aten::rotate: ", name.text(), " on ", x.device().str(), " must be on ", device.str()});
    }
}

}  // namespace detail

/// A tensor [batch, tokens, heads, head_dim] as a view, on any device. Copies nothing.
///
/// @tparam T  float, double, cordage::float16 or cordage::bfloat16; const if it is only read
/// @throws value_error or shape_error  naming what does not fit: type, dimensions, a last stride that is not 1
template <class T>
    requires element<std::remove_const_t<T>>
heads_view<T> view(const at::Tensor& x, const char* name = "x") {
    detail::check_strided(name, x);
    if (constexpr auto type = detail::type_of<std::remove_const_t<T>>(); x.scalar_type() != type) {
        fail<value_error>(
            {"aten: ", name, " of type ", at::toString(x.scalar_type()), " must be ", at::toString(type)});
    }
    if (x.dim() != 4) {
        fail<shape_error>({"aten: ", name, " has ", x.dim(), " dimensions, must be [batch, tokens, heads, head_dim]"});
    }
    if ((x.stride(3) != 1 && x.size(3) > 1 && x.numel() > 0) || x.is_neg()) {
        fail<shape_error>({"aten: ", name, " with last stride ", x.stride(3), " must have 1, and no pending negation"});
    }
    return {static_cast<T*>(x.data_ptr()),
            {x.size(0), x.size(1), x.size(2), x.size(3)},
            x.stride(0),
            x.stride(1),
            x.stride(2)};
}

/// The tensors that can be viewed, and copies of the others.
inline std::vector<at::Tensor> viewable(at::TensorList all) {
    std::vector<at::Tensor> out;
    out.reserve(all.size());
    for (const at::Tensor& x : all) {
        const at::Tensor& here = out.emplace_back(x.is_neg() ? x.resolve_neg() : x);
        if (here.stride(-1) != 1) out.back() = here.contiguous();
    }
    return out;
}

/// New tensors in the shapes of these; in their strides where those are dense and views take them.
inline std::vector<at::Tensor> empty_like(const std::vector<at::Tensor>& all) {
    std::vector<at::Tensor> out;
    out.reserve(all.size());
    for (const at::Tensor& x : all) {
        out.push_back(at::empty_like(x));  // of overlapping strides in another order
        if (out.back().stride(-1) != 1) out.back() = at::empty_like(x, at::MemoryFormat::Contiguous);
    }
    return out;
}

}  // namespace cordage::aten
