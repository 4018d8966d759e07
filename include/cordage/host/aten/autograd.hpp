// SPDX-License-Identifier: MIT
// The rotation and learned bases as autograd functions of libtorch; a host adapter, the end of every stage.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <utility>

#include "cordage/basis/gradient.hpp"
#include "cordage/host/aten/rotation.hpp"

namespace cordage::aten {

namespace detail {

/// Gradients are made outside of libtorch, so they have no gradient of their own: better an error than a silent zero.
inline void refuse_double_backward() {
    if (at::GradMode::is_enabled()) {
        fail<error>(
            {"cordage::aten: backward with create_graph=true must not be asked for, second derivatives are not there"});
    }
}

template <pairing Pairing, class Device>
struct rotation : torch::autograd::Function<rotation<Pairing, Device>> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& ids,
                              const at::Tensor& inv_freq, double attention_factor) {
        const at::Tensor y = rotation_forward<Pairing, Device>({x}, {ids, inv_freq, attention_factor})[0];
        context->save_for_backward({y, ids, inv_freq});
        context->saved_data["attention_factor"] = attention_factor;
        return y;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list grads) {
        refuse_double_backward();
        const auto saved = context->get_saved_variables();
        const angle_tensors by{saved[1], saved[2], context->saved_data["attention_factor"].toDouble()};
        const wanted_gradients wanted{context->needs_input_grad(1), context->needs_input_grad(2)};
        gradient_tensors out = rotation_backward<Pairing, Device>({grads[0]}, {saved[0]}, by, wanted);
        if (wanted.position_ids) out.position_ids = out.position_ids.to(by.position_ids.scalar_type());
        if (wanted.inv_freq) out.inv_freq = out.inv_freq.to(by.inv_freq.device());
        return {out.x[0], out.position_ids, out.inv_freq, at::Tensor()};
    }
};

/// What libtorch's own wrapper would stop at without naming it is checked before it.
template <pairing Pairing, class Device>
at::Tensor rotate_on(const at::Tensor& x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                     double attention_factor) {
    check("x", {x}, {position_ids, inv_freq, attention_factor}, Device::device);
    return rotation<Pairing, Device>::apply(x, position_ids, inv_freq, attention_factor);
}

template <learned_policy Policy>
struct solved : torch::CustomClassHolder {
    solved(Policy p, const rope_config& c, double ratio) : policy(std::move(p)), config(c), t(ratio) {}
    Policy policy;
    rope_config config;
    double t;
};

template <learned_policy Policy>
struct learned_basis : torch::autograd::Function<learned_basis<Policy>> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& parameters,
                              const Policy& prototype, const rope_config& config, double t) {
        if (parameters.dim() != 1 || parameters.scalar_type() != at::kDouble || !parameters.device().is_cpu()) {
            fail<value_error>({"aten::inv_freq_of: parameters of type ", at::toString(parameters.scalar_type()),
                               " with ", parameters.dim(), " dimensions must be float64 [count] on the CPU"});
        }
        const at::Tensor flat = parameters.resolve_neg().contiguous();
        const std::span<const double> numbers(flat.data_ptr<double>(), static_cast<std::size_t>(flat.numel()));
        auto held = c10::make_intrusive<solved<Policy>>(prototype.with_parameters(numbers), config, t);
        const basis b = cordage::make_basis(config, held->policy, t);
        at::Tensor inv_freq = at::empty({b.pairs()}, parameters.options());
        std::ranges::copy(b.inv_freq(), inv_freq.data_ptr<double>());
        context->saved_data["solved"] = c10::IValue::make_capsule(std::move(held));
        return inv_freq;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list grads) {
        refuse_double_backward();
        const auto held = context->saved_data["solved"].toCapsule();
        const auto& s = static_cast<const solved<Policy>&>(*held);
        const at::Tensor grad = grads[0].resolve_neg().contiguous();
        at::Tensor grad_parameters = at::zeros({static_cast<index_t>(s.policy.parameters().size())}, grad.options());
        add_grad_parameters(s.policy, s.config, s.t, {grad.data_ptr<double>(), static_cast<std::size_t>(grad.numel())},
                            {grad_parameters.data_ptr<double>(), static_cast<std::size_t>(grad_parameters.numel())});
        return {grad_parameters, at::Tensor(), at::Tensor(), at::Tensor()};
    }
};

}  // namespace detail

/// rotate_forward as an autograd function; backward gives the gradient to x, and to inv_freq and position_ids where
/// they require it, in one pass of rotate_backward.
///
/// @param x                 [batch, tokens, heads, head_dim], any strides (copied once unless the last is 1); float32,
///                          float64, float16 or bfloat16, on the CPU
/// @param position_ids      [tokens] or [batch, tokens]; int32, int64, float32 or float64
/// @param inv_freq          [rotary_dim/2] float64, radians per position
/// @param attention_factor  multiplies cos and sin; a constant here
/// @returns y, new, of x's shape and type; strides as at::empty_like gives them
/// @throws cordage::error   as rotate_forward; asking for second derivatives is an error
/// Runs on libtorch's threads (at::set_num_threads); the same bits whatever their number.
template <pairing Pairing>
at::Tensor rotate(const at::Tensor& x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                  double attention_factor = 1.0) {
    return detail::rotate_on<Pairing, on_cpu>(x, position_ids, inv_freq, attention_factor);
}

/// The basis of a learned policy at t, differentiable in the policy's parameters.
///
/// @param prototype   the policy's settings; its own numbers are replaced by `parameters`
/// @param parameters  float64 [count], flat, as prototype.parameters()
/// @returns inv_freq  [rotary_dim/2] float64, for aten::rotate
template <learned_policy Policy>
at::Tensor inv_freq_of(const Policy& prototype, const rope_config& config, const at::Tensor& parameters, double t) {
    detail::check_strided("parameters", parameters);
    return detail::learned_basis<Policy>::apply(parameters, prototype, config, t);
}

}  // namespace cordage::aten
