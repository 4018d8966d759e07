// SPDX-License-Identifier: MIT
// RMSNorm and rotation of libtorch's tensors in one pass, and the backward pass, without autograd; serves hosts that
// register operators of their own.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cordage/host/aten/rotation.hpp"

namespace cordage::aten {

/// Options of RMSNorm for all tensors of a call (tensors/rms_norm.hpp).
struct norm_tensors {
    /// One tensor of weights for each tensor of the call, [head_dim], or [heads, head_dim] if is_over_all_heads;
    /// float32, float64, float16 or bfloat16. Empty: the factor is 1.
    std::vector<at::Tensor> weights = {};
    double epsilon = 1e-6;
    bool adds_one = false;  ///< the factor is 1 + w
    bool is_over_all_heads = false;
    bool is_after_rotation = false;
    bool is_rounded_between = false;
};

/// The results of a backward pass of norm and rotation.
struct normalized_gradient_tensors : gradient_tensors {
    std::vector<at::Tensor> weights;  ///< in the shapes of the weights, float64; empty if not requested
};

namespace detail {

/// Checks that there are as many weights as tensors, or none, each of the right shape.
inline void check_weights(at::TensorList x, const norm_tensors& norm) {
    const auto& all = norm.weights;
    if (!all.empty() && all.size() != x.size()) {
        fail<shape_error>({"aten::rms_norm: weights has ", all.size(), " tensors, must have one for each of ", x.size(),
                           ", or none"});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const tensor_name name("weights", i);
        check_strided(name, all[i]);
        const at::ScalarType type = all[i].scalar_type();
        if (type != at::kFloat && type != at::kDouble && type != at::kHalf && type != at::kBFloat16) {
            fail<value_error>({"aten::rms_norm: ", name.text(), " of type ", at::toString(type),
                               " must be float32, float64, float16 or bfloat16"});
        }
        check_device(name, all[i], x[i].device());
        const index_t heads = x[i].size(2), head_dim = x[i].size(3);
        std::vector<index_t> wanted{head_dim};
        if (norm.is_over_all_heads) wanted.insert(wanted.begin(), heads);
        if (all[i].sizes() == at::IntArrayRef(wanted)) continue;
        fail<shape_error>(
            {"aten::rms_norm: ", name.text(), " ", sizes_of(all[i]), " must be ",
             norm.is_over_all_heads ? "[heads, head_dim] = " : "[head_dim] = ", c10::str(at::IntArrayRef(wanted))});
    }
}

/// The norm of tensor i, with its weights held here in type W.
template <element W>
class held_norms {
 public:
    explicit held_norms(const norm_tensors& norm) : norm_(norm) {
        for (const at::Tensor& w : norm.weights) weights_.push_back(dense(w, type_of<W>()));
    }
    rms_norm<W> operator()(std::size_t i) const {
        return {weights_.empty() ? nullptr : static_cast<const W*>(weights_[i].data_ptr()),
                norm_.epsilon,
                norm_.adds_one,
                norm_.is_over_all_heads,
                norm_.is_after_rotation,
                norm_.is_rounded_between};
    }

 private:
    const norm_tensors& norm_;
    std::vector<at::Tensor> weights_;
};

/// Whether all weights are of a type, so that no conversion precedes their use.
inline bool has_weights_of(const norm_tensors& norm, at::ScalarType type) {
    return std::ranges::all_of(norm.weights, [&](const at::Tensor& w) { return w.scalar_type() == type; });
}

/// Calls body with the norms of tensors of type T: with weights in the compute type, or on a GPU, where a conversion is
/// a kernel, in T if they are of it.
template <class Device, class T, class Body>
void with_norms(const norm_tensors& norm, const Body& body) {
    if constexpr (Device::device != at::kCPU && !std::same_as<T, compute_of<T>>) {
        if (has_weights_of(norm, type_of<T>())) return body(held_norms<T>(norm));
    }
    body(held_norms<compute_of<T>>(norm));
}

/// Positions of any type as dense doubles.
inline at::Tensor positions_in_double(const at::Tensor& ids) {
    const at::Tensor wide = dense(ids, at::kDouble);
    if (ids.scalar_type() != at::kLong || !ids.device().is_cpu()) return wide;
    constexpr double most = 0x1p53;
    for (index_t i = 0; i < wide.numel(); ++i) {
        if (const double p = wide.data_ptr<double>()[i]; !(p >= -most && p <= most)) {
            fail<value_error>({"aten::rotate: position_ids entry ", i, " ", p,
                               " must be at most 2^53 in magnitude in a call with a norm or a cache"});
        }
    }
    return wide;
}
/// Calls body with a view of positions: on the CPU in double, so that kernels are compiled for one type; on a GPU,
/// where a conversion is a kernel, also in int64.
template <class Device, class Body>
void with_few_positions(const at::Tensor& ids, const Body& body) {
    if constexpr (Device::device == at::kCPU) {
        const at::Tensor wide = positions_in_double(ids);
        body(view_of_positions<double>(wide));
    } else {
        with_positions(ids, body);
    }
}

/// Calls body with positions and the operands of all tensors, operand(i, the norm of tensor i).
template <class Device, class T, class Operand, class Body>
void for_normalized(const norm_tensors& norm, const at::Tensor& ids, std::size_t count, const Operand& operand,
                    const Body& body) {
    with_norms<Device, T>(norm, [&](const auto& norms) {
        with_few_positions<Device>(ids, [&](const auto& positions) {
            for_operands_of(
                count, [&](std::size_t i) { return operand(i, norms(i)); },
                [&](const auto&... operands) { body(positions, operands...); });
        });
    });
}

}  // namespace detail

/// rotate_forward of normalized tensors, in one pass over the tokens.
///
/// @param x_in  as for rotation_forward
/// @returns  y, new tensors in x_in's shapes; strides as of at::empty_like
/// @throws cordage::error  as rotation_forward; for weights and epsilon that do not fit
template <pairing Pairing, class Device = on_cpu>
std::vector<at::Tensor> normalized_rotation_forward(at::TensorList x_in, const norm_tensors& norm,
                                                    const angle_tensors& by) {
    detail::check("x", x_in, by, Device::device);
    detail::check_weights(x_in, norm);
    const Device on(x_in[0], by);
    const std::vector<at::Tensor> x = viewable(x_in), y = empty_like(x);
    detail::for_element_type<Device>(x[0], [&]<class T>(T) {
        const auto operand = [&](std::size_t i, const auto& of_heads) {
            return from_to(view<const T>(x[i]), view<T>(y[i])).normalized(of_heads);
        };
        detail::for_normalized<Device, T>(
            norm, by.position_ids, x.size(), operand,
            [&](const auto& ids, const auto&... operands) { on.template forward<Pairing>(ids, operands...); });
    });
    return y;
}

/// The backward pass: the gradient to x and the requested gradients to weights, positions, inv_freq and attention
/// factor, in one pass.
///
/// @param x_in  the input of normalized_rotation_forward; required
/// @throws cordage::error  as normalized_rotation_forward; unless x has the type, device and shape of grad_y
template <pairing Pairing, class Device = on_cpu>
normalized_gradient_tensors normalized_rotation_backward(at::TensorList grad_y_in, at::TensorList x_in,
                                                         const norm_tensors& norm, const angle_tensors& by,
                                                         const wanted_gradients& wanted, bool wants_weights) {
    detail::check("grad_y", grad_y_in, by, Device::device);
    if (x_in.size() != grad_y_in.size()) {
        fail<shape_error>({"aten::rotate: x has ", x_in.size(), " tensors, must have ", grad_y_in.size()});
    }
    detail::check_heads("x", x_in, "grad_y", grad_y_in[0]);
    detail::check_weights(x_in, norm);
    const Device on(grad_y_in[0], by);
    const std::vector<at::Tensor> grad_y = viewable(grad_y_in), x = viewable(x_in);
    normalized_gradient_tensors out{detail::zero_gradients(grad_y[0], by, wanted), {}};
    out.x = empty_like(grad_y);
    for (std::size_t i = 0; wants_weights && i < norm.weights.size(); ++i) {
        out.weights.push_back(at::zeros(norm.weights[i].sizes(), norm.weights[i].options().dtype(at::kDouble)));
    }
    detail::for_element_type<Device>(grad_y[0], [&]<class T>(T) {
        const auto operand = [&](std::size_t i, const auto& of_heads) {
            std::span<double> sums;
            if (!out.weights.empty()) {
                sums = {out.weights[i].data_ptr<double>(), static_cast<std::size_t>(out.weights[i].numel())};
            }
            return grad_through(view<const T>(grad_y[i]), view<const T>(x[i]), view<T>(out.x[i]))
                .normalized(of_heads, sums);
        };
        detail::for_normalized<Device, T>(
            norm, by.position_ids, x.size(), operand, [&](const auto& ids, const auto&... operands) {
                on.template backward_through<Pairing>(ids, detail::spans_of(out), operands...);
            });
    });
    if (wanted.position_ids) out.position_ids = out.position_ids.sum_to_size(by.position_ids.sizes());
    return out;
}

}  // namespace cordage::aten
