// SPDX-License-Identifier: MIT
// The forward and backward passes of those functions.
#include "model/functions.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cordage/host/aten/rotation.hpp"

namespace demo {
namespace {

using torch::autograd::AutogradContext;
using tensors = torch::autograd::variable_list;

constexpr double epsilon = 1e-5;

struct norm_function : torch::autograd::Function<norm_function> {
    static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& gain) {
        const at::Tensor inverse = at::rsqrt(at::square(x).mean(-1, true) + epsilon);
        const at::Tensor unit = x * inverse;
        context->save_for_backward({unit, inverse, gain});
        return unit * gain;
    }
    static tensors backward(AutogradContext* context, tensors grads) {
        const tensors saved = context->get_saved_variables();
        const at::Tensor &unit = saved[0], &inverse = saved[1];
        const at::Tensor grad_unit = grads[0] * saved[2];
        const at::Tensor along = (grad_unit * unit).mean(-1, true);
        at::Tensor grad_gain;
        if (context->needs_input_grad(1)) grad_gain = (grads[0] * unit).flatten(0, -2).sum(0);
        return {at::addcmul(grad_unit, unit, along, -1.0).mul_(inverse), grad_gain};
    }
};

// By blocks of queries, as none of them sees the keys that come later; the weights are kept for the backward pass.
struct attention_function : torch::autograd::Function<attention_function> {
    static constexpr index_t block = 128;

    // Last index of the keys that queries [first, first + block) see, and of those queries.
    static index_t end_of(index_t first, index_t tokens) { return std::min(tokens, first + block); }

    // [windows, heads, tokens, head_dim] each; q is scaled already.
    static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              bool keeps_weights) {
        const index_t tokens = q.size(2);
        const at::Tensor keys = k.transpose(2, 3);
        const at::Tensor later = at::full({block, block}, -std::numeric_limits<float>::infinity(), q.options()).triu(1);
        tensors saved{q, k, v}, parts;
        for (index_t first = 0; first < tokens; first += block) {
            const index_t end = end_of(first, tokens), count = end - first;
            at::Tensor scores = at::matmul(q.slice(2, first, end), keys.slice(3, 0, end));
            scores.slice(3, first).add_(later.slice(0, 0, count).slice(1, 0, count));
            const at::Tensor weights = at::softmax(scores, -1);
            parts.push_back(at::matmul(weights, v.slice(2, 0, end)));
            if (keeps_weights) saved.push_back(weights);
        }
        context->save_for_backward(saved);
        return at::cat(parts, 2);
    }
    static tensors backward(AutogradContext* context, tensors grads) {
        const tensors saved = context->get_saved_variables();
        const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2];
        const index_t tokens = q.size(2);
        const at::Tensor values = v.transpose(2, 3);
        at::Tensor grad_k = at::zeros_like(k), grad_v = at::zeros_like(v);
        tensors grad_q;
        for (index_t first = 0, i = 3; first < tokens; first += block, ++i) {
            const index_t end = end_of(first, tokens);
            const at::Tensor& weights = saved[static_cast<std::size_t>(i)];
            const at::Tensor grad = grads[0].slice(2, first, end);
            grad_v.slice(2, 0, end).add_(at::matmul(weights.transpose(2, 3), grad));
            const at::Tensor grad_scores = at::_softmax_backward_data(at::matmul(grad, values.slice(3, 0, end)),
                                                                      weights, -1, weights.scalar_type());
            grad_q.push_back(at::matmul(grad_scores, k.slice(2, 0, end)));
            grad_k.slice(2, 0, end).add_(at::matmul(grad_scores.transpose(2, 3), q.slice(2, first, end)));
        }
        return {at::cat(grad_q, 2), grad_k, grad_v, at::Tensor()};
    }
};

struct rotation_function : torch::autograd::Function<rotation_function> {
    static tensors forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& q_gain,
                           const at::Tensor& k_gain, const at::Tensor& ids, const at::Tensor& inv_freq,
                           const at::Tensor& attention_factor) {
        context->save_for_backward({q, k, q_gain, k_gain, ids, inv_freq, attention_factor});
        return cordage::aten::rotation_forward<cordage::half_split>(
            {q, k}, {ids, inv_freq, attention_factor.item<double>()}, norm_of(q_gain, k_gain));
    }
    static tensors backward(AutogradContext* context, tensors grads) {
        const tensors s = context->get_saved_variables();
        const cordage::aten::wanted_gradients wanted{false, context->needs_input_grad(5), context->needs_input_grad(6),
                                                     context->needs_input_grad(2)};
        const auto out = cordage::aten::rotation_backward<cordage::half_split>(
            {grads[0], grads[1]}, {s[0], s[1]}, {s[4], s[5], s[6].item<double>()}, wanted, norm_of(s[2], s[3]));
        const auto gain = [&](std::size_t i) {
            return out.weights.empty() ? at::Tensor() : out.weights[i].to(s[2].scalar_type());
        };
        return {out.x[0], out.x[1], gain(0), gain(1), at::Tensor(), out.inv_freq, out.attention_factor};
    }
    static cordage::aten::norm_tensors norm_of(const at::Tensor& q_gain, const at::Tensor& k_gain) {
        return {.weights = {q_gain, k_gain}, .epsilon = epsilon};
    }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& gain) { return norm_function::apply(x, gain); }

at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const rotary& rotation) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(3)));
    const auto heads_first = [](const at::Tensor& x) { return x.transpose(1, 2); };
    const at::Tensor scaled = rotation.score_factors.defined()
                                  ? heads_first(q) * (rotation.score_factors * scale).view({-1, 1, 1})
                                  : heads_first(q) * scale;
    const bool has_backward = at::GradMode::is_enabled() && scaled.requires_grad();
    return heads_first(attention_function::apply(scaled, heads_first(k), heads_first(v), has_backward));
}

query_and_key normalized_and_rotated(const query_and_key& x, const query_and_key& gains, const rotary& rotation) {
    const tensors both = rotation_function::apply(x.q, x.k, gains.q, gains.k, rotation.position_ids, rotation.inv_freq,
                                                  rotation.attention_factor);
    return {both[0], both[1]};
}

}  // namespace demo
