// SPDX-License-Identifier: MIT
// The rotation and learned bases as autograd functions of libtorch; a host adapter, the end of every stage.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <utility>

#include "cordage/basis/gradient.hpp"
#include "cordage/kernels.hpp"

/// libtorch's 16-bit types are elements like our own.
template <>
struct cordage::element_traits<at::Half> {
    using compute = float;
    using same_bits_as = cordage::float16;
    static float load(at::Half x) noexcept { return to_float(float16{x.x}); }
    static at::Half store(float x) noexcept { return {to_float16(x).bits, at::Half::from_bits()}; }
};
template <>
struct cordage::element_traits<at::BFloat16> {
    using compute = float;
    using same_bits_as = cordage::bfloat16;
    static float load(at::BFloat16 x) noexcept { return to_float(bfloat16{x.x}); }
    static at::BFloat16 store(float x) noexcept { return {to_bfloat16(x).bits, at::BFloat16::from_bits()}; }
};

namespace cordage::aten {

namespace detail {

/// libtorch's own threads as an executor.
inline auto pool() {
    auto loop = [](index_t n, const auto& body) {
        at::parallel_for(0, n, 1, [&](index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i) body(i);
        });
    };
    return parallel_for{loop, at::in_parallel_region() ? 1 : at::get_num_threads()};
}

/// Calls body with a value of the tensor's element type; complains by name about the others.
template <class Body>
void for_element_type(const at::Tensor& x, const Body& body) {
    switch (x.scalar_type()) {
        case at::kFloat:
            return body(float{});
        case at::kDouble:
            return body(double{});
        case at::kHalf:
            return body(at::Half{});
        case at::kBFloat16:
            return body(at::BFloat16{});
        default:
            throw value_error(message("aten::rotate: x of type ", at::toString(x.scalar_type()),
                                      " must be float32, float64, float16 or bfloat16"));
    }
}
template <class Body>
void for_position_type(const at::Tensor& position_ids, const Body& body) {
    switch (position_ids.scalar_type()) {
        case at::kInt:
            return body(std::int32_t{});
        case at::kLong:
            return body(std::int64_t{});
        case at::kFloat:
            return body(float{});
        case at::kDouble:
            return body(double{});
        default:
            throw value_error(message("aten::rotate: position_ids of type ", at::toString(position_ids.scalar_type()),
                                      " must be int32, int64, float32 or float64"));
    }
}

template <class T>
heads_view<T> view(const at::Tensor& x) {
    return {static_cast<T*>(x.data_ptr()),
            {x.size(0), x.size(1), x.size(2), x.size(3)},
            x.stride(0),
            x.stride(1),
            x.stride(2)};
}
template <class P>
position_view<P> positions(const at::Tensor& ids) {  // contiguous, [tokens] or [batch, tokens]
    const index_t tokens = ids.size(-1), batch = ids.dim() == 2 ? ids.size(0) : 1;
    return {static_cast<const P*>(ids.data_ptr()), batch, tokens, tokens};
}

/// The last stride must be 1; the others are free.
inline at::Tensor rows_dense(const at::Tensor& x) { return x.stride(-1) == 1 ? x : x.contiguous(); }

inline basis make_basis(const at::Tensor& inv_freq, double attention_factor) {
    const double* first = inv_freq.data_ptr<double>();
    return basis(std::vector<double>(first, first + inv_freq.numel()), attention_factor);
}

inline void check(const at::Tensor& x, const at::Tensor& position_ids, const at::Tensor& inv_freq) {
    if (x.dim() != 4) {
        throw shape_error(
            message("aten::rotate: x has ", x.dim(), " dimensions, must be [batch, tokens, heads, head_dim]"));
    }
    if (position_ids.dim() != 1 && position_ids.dim() != 2) {
        throw shape_error(message("aten::rotate: position_ids has ", position_ids.dim(),
                                  " dimensions, must be [tokens] or [batch, tokens]"));
    }
    if (inv_freq.dim() != 1 || inv_freq.scalar_type() != at::kDouble) {
        throw value_error(message("aten::rotate: inv_freq of type ", at::toString(inv_freq.scalar_type()), " with ",
                                  inv_freq.dim(), " dimensions must be float64 [rotary_dim/2]"));
    }
    for (const at::Tensor& tensor : {x, position_ids, inv_freq}) {
        if (!tensor.device().is_cpu()) {
            throw value_error(message("aten::rotate: a tensor on ", tensor.device().str(), " must be on the CPU"));
        }
    }
}

/// Gradients are made outside of libtorch, so they have no gradient of their own: better an error than a silent zero.
inline void refuse_double_backward() {
    if (at::GradMode::is_enabled()) {
        throw error(
            "cordage::aten: backward with create_graph=true must not be asked for, second derivatives are not there");
    }
}

template <pairing Pairing>
struct rotation : torch::autograd::Function<rotation<Pairing>> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x_in,
                              const at::Tensor& ids_in, const at::Tensor& inv_freq_in, double attention_factor) {
        check(x_in, ids_in, inv_freq_in);
        const at::Tensor x = rows_dense(x_in), ids = ids_in.contiguous(), inv_freq = inv_freq_in.contiguous();
        at::Tensor y = at::empty(x.sizes(), x.options());
        const basis b = make_basis(inv_freq, attention_factor);
        for_element_type(x, [&]<class T>(T) {
            for_position_type(ids, [&]<class P>(P) {
                rotate_forward<Pairing>(pool(), exact_angles(b, positions<P>(ids)),
                                        from_to(view<const T>(x), view<T>(y)));
            });
        });
        context->save_for_backward({y, ids, inv_freq});
        context->saved_data["attention_factor"] = attention_factor;
        return y;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list grads) {
        refuse_double_backward();
        const auto saved = context->get_saved_variables();
        const at::Tensor &y = saved[0], &ids = saved[1], &inv_freq = saved[2];
        const at::Tensor grad_y = rows_dense(grads[0]);
        at::Tensor grad_x = at::empty(y.sizes(), y.options()), grad_ids, grad_inv_freq;
        rotation_gradients wanted;
        if (context->needs_input_grad(1)) {
            grad_ids = at::zeros({y.size(0), y.size(1)}, inv_freq.options());
            wanted.position_ids = {grad_ids.data_ptr<double>(), static_cast<std::size_t>(grad_ids.numel())};
        }
        if (context->needs_input_grad(2)) {
            grad_inv_freq = at::zeros_like(inv_freq);
            wanted.inv_freq = {grad_inv_freq.data_ptr<double>(), static_cast<std::size_t>(grad_inv_freq.numel())};
        }
        const basis b = make_basis(inv_freq, context->saved_data["attention_factor"].toDouble());
        for_element_type(y, [&]<class T>(T) {
            for_position_type(ids, [&]<class P>(P) {
                const exact_angles angles(b, positions<P>(ids));
                const auto g = view<const T>(grad_y);
                if (wanted.inv_freq.empty() && wanted.position_ids.empty()) {
                    rotate_backward<Pairing>(pool(), angles, from_to(g, view<T>(grad_x)));
                } else {
                    rotate_backward<Pairing>(pool(), angles, wanted,
                                             grad_through(g, view<const T>(y), view<T>(grad_x)));
                }
            });
        });
        if (grad_ids.defined()) {  // rows that share their positions share their gradient
            grad_ids = grad_ids.sum_to_size(ids.sizes()).to(ids.scalar_type());
        }
        return {grad_x, grad_ids, grad_inv_freq, at::Tensor()};
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
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& parameters,
                              const Policy& prototype, const rope_config& config, double t) {
        if (parameters.dim() != 1 || parameters.scalar_type() != at::kDouble || !parameters.device().is_cpu()) {
            throw value_error(message("aten::inv_freq_of: parameters of type ", at::toString(parameters.scalar_type()),
                                      " with ", parameters.dim(), " dimensions must be float64 [count] on the CPU"));
        }
        const at::Tensor flat = parameters.contiguous();
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
        const at::Tensor grad = grads[0].contiguous();
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
/// @returns y, contiguous, of x's shape and type
/// @throws cordage::error   as rotate_forward; asking for second derivatives is an error
/// Runs on libtorch's threads (at::set_num_threads); the same bits whatever their number.
template <pairing Pairing>
at::Tensor rotate(const at::Tensor& x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                  double attention_factor = 1.0) {
    return detail::rotation<Pairing>::apply(x, position_ids, inv_freq, attention_factor);
}

/// The basis of a learned policy at t, differentiable in the policy's parameters.
///
/// @param prototype   the policy's settings; its own numbers are replaced by `parameters`
/// @param parameters  float64 [count], flat, as prototype.parameters()
/// @returns inv_freq  [rotary_dim/2] float64, for aten::rotate
template <learned_policy Policy>
at::Tensor inv_freq_of(const Policy& prototype, const rope_config& config, const at::Tensor& parameters, double t) {
    return detail::learned_basis<Policy>::apply(parameters, prototype, config, t);
}

}  // namespace cordage::aten
