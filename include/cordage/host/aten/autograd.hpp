// SPDX-License-Identifier: MIT
// The rotation and learned bases as autograd functions of libtorch; a host adapter.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <utility>

#include "cordage/basis/gradient.hpp"
#include "cordage/host/aten/rotation.hpp"

namespace cordage::aten {

namespace detail {

/// Second derivatives are not implemented; throws instead of returning zeros.
inline void refuse_double_backward() {
    if (at::GradMode::is_enabled()) {
        fail<error>(
            {"cordage::aten: backward with create_graph=true is not supported: there are no second derivatives"});
    }
}

template <pairing Pairing, class Device>
struct rotation : torch::autograd::Function<rotation<Pairing, Device>> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& ids,
                              const at::Tensor& inv_freq, const at::Tensor& attention_factor) {
        const at::Tensor y = rotation_forward<Pairing, Device>({x}, angles_of(ids, inv_freq, attention_factor))[0];
        // Only those gradients read y, which its user may change otherwise.
        const bool is_read = ids.requires_grad() || inv_freq.requires_grad() || attention_factor.requires_grad();
        context->save_for_backward({is_read ? y : at::Tensor(), ids, inv_freq, attention_factor});
        return y;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list grads) {
        refuse_double_backward();
        const auto saved = context->get_saved_variables();
        const angle_tensors by = angles_of(saved[1], saved[2], saved[3]);
        const wanted_gradients wanted{context->needs_input_grad(1), context->needs_input_grad(2),
                                      context->needs_input_grad(3)};
        const at::TensorList y = wanted.any() ? at::TensorList(saved[0]) : at::TensorList();
        gradient_tensors out = rotation_backward<Pairing, Device>({grads[0]}, y, by, wanted);
        if (wanted.position_ids) out.position_ids = out.position_ids.to(by.position_ids.scalar_type());
        if (wanted.inv_freq) out.inv_freq = out.inv_freq.to(saved[2].device());
        if (wanted.attention_factor) out.attention_factor = out.attention_factor.to(saved[3].device());
        return {out.x[0], out.position_ids, out.inv_freq, out.attention_factor};
    }
};

template <learned_policy Policy>
struct solved : torch::CustomClassHolder {
    solved(Policy p, const rope_config& c, double ratio) : policy(std::move(p)), config(c), t(ratio) {}
    Policy policy;
    rope_config config;
    double t;
};

template <learned_policy Policy>
struct learned_basis : torch::autograd::Function<learned_basis<Policy>> {
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                  const at::Tensor& parameters, const Policy& prototype,
                                                  const rope_config& config, double t) {
        if (parameters.dim() != 1 || parameters.scalar_type() != at::kDouble || !parameters.device().is_cpu()) {
            fail<value_error>({"aten::basis_of: parameters of type ", at::toString(parameters.scalar_type()), " with ",
                               parameters.dim(), " dimensions must be float64 [count] on the CPU"});
        }
        const at::Tensor flat = parameters.resolve_neg().contiguous();
        const std::span<const double> numbers(flat.data_ptr<double>(), static_cast<std::size_t>(flat.numel()));
        auto held = c10::make_intrusive<solved<Policy>>(prototype.with_parameters(numbers), config, t);
        const basis b = cordage::make_basis(config, held->policy, t);
        at::Tensor inv_freq = at::empty({b.pairs()}, parameters.options());
        std::ranges::copy(b.inv_freq(), inv_freq.data_ptr<double>());
        context->saved_data["solved"] = c10::IValue::make_capsule(std::move(held));
        return {inv_freq, at::scalar_tensor(b.attention_factor(), at::kDouble)};
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list grads) {
        refuse_double_backward();
        const auto held = context->saved_data["solved"].toCapsule();
        const auto& s = static_cast<const solved<Policy>&>(*held);
        const at::Tensor grad = grads[0].resolve_neg().contiguous();
        at::Tensor grad_parameters = at::zeros({static_cast<index_t>(s.policy.parameters().size())}, grad.options());
        add_grad_parameters(s.policy, s.config, s.t, {grad.data_ptr<double>(), static_cast<std::size_t>(grad.numel())},
                            {grad_parameters.data_ptr<double>(), static_cast<std::size_t>(grad_parameters.numel())},
                            grads[1].item<double>());
        return {grad_parameters, at::Tensor(), at::Tensor(), at::Tensor()};
    }
};

}  // namespace detail

/// rotate_forward as an autograd function; backward computes the gradient to x, and to inv_freq and position_ids where
/// they require it, in one pass of rotate_backward.
///
/// @param x                 [batch, tokens, heads, head_dim], any strides (copied once unless the last is 1); float32,
///                          float64, float16 or bfloat16, on the CPU
/// @param position_ids      [tokens] or [batch, tokens]; int32, int64, float32 or float64
/// @param inv_freq          [rotary_dim/2] float64, radians per position
/// @param attention_factor  multiplies cos and sin; [] float64 on the CPU, which may have a gradient, or a number
/// @returns y, new, of x's shape and type; strides as of at::empty_like
/// @throws cordage::error   as rotate_forward; also for second derivatives
/// Runs on libtorch's threads (at::set_num_threads); the same bits for any number of threads.
///
/// With Device on_gpu (rotation.cuh, for nvcc) x, float32, float16 or bfloat16, and position_ids are on one GPU; runs
/// on libtorch's current stream, does not synchronise, and may be captured in a graph. inv_freq and attention_factor
/// are on the GPU, or on the CPU, as returned by aten::basis_of: their gradients are then returned on the CPU, after
/// waiting for the stream.
template <pairing Pairing, class Device = on_cpu>
at::Tensor rotate(const at::Tensor& x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                  const at::Tensor& attention_factor) {
    // Names the arguments that libtorch's own wrapper would reject without naming them.
    detail::check("x", {x}, angles_of(position_ids, inv_freq, attention_factor), Device::device);
    return detail::rotation<Pairing, Device>::apply(x, position_ids, inv_freq, attention_factor);
}
/// The same with a number, which has no gradient.
template <pairing Pairing, class Device = on_cpu>
at::Tensor rotate(const at::Tensor& x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                  double attention_factor = 1.0) {
    return rotate<Pairing, Device>(x, position_ids, inv_freq, at::scalar_tensor(attention_factor, at::kDouble));
}

/// A basis in the form of aten::rotate's arguments.
struct basis_tensors {
    at::Tensor inv_freq;          ///< [rotary_dim/2] float64
    at::Tensor attention_factor;  ///< [] float64
};

/// The basis of a learned policy at t, differentiable in the policy's parameters: those of its log alpha, and of its
/// temperature (tempered).
///
///   const auto [inv_freq, attention_factor] = aten::basis_of(policy, config, parameters, t);
///   q = aten::rotate<half_split>(q, position_ids, inv_freq, attention_factor);
///
/// @param prototype   the policy's settings; its parameters are replaced by `parameters`
/// @param parameters  float64 [count], flat, as prototype.parameters()
template <learned_policy Policy>
basis_tensors basis_of(const Policy& prototype, const rope_config& config, const at::Tensor& parameters, double t) {
    detail::check_strided("parameters", parameters);
    const auto both = detail::learned_basis<Policy>::apply(parameters, prototype, config, t);
    return {both[0], both[1]};
}
/// Only inv_freq, for a policy whose attention factor has no parameters.
template <learned_policy Policy>
at::Tensor inv_freq_of(const Policy& prototype, const rope_config& config, const at::Tensor& parameters, double t) {
    return basis_of(prototype, config, parameters, t).inv_freq;
}

}  // namespace cordage::aten
