// SPDX-License-Identifier: MIT
// Momentum, the iteration, and the order of the matrices.
#include "model/muon.hpp"

#include <algorithm>
#include <cmath>

namespace demo {
namespace {

// The nearest orthogonal matrices, roughly, of [count, rows, columns].
at::Tensor orthogonal(const at::Tensor& of) {
    const bool is_tall = of.size(1) > of.size(2);
    at::Tensor x = is_tall ? of.transpose(1, 2) : of;
    x = x / (at::frobenius_norm(x, {1, 2}, true) + 1e-7);
    if (has_bfloat16_products()) x = x.to(at::kBFloat16);
    for (int i = 0; i < 5; ++i) {
        const at::Tensor square = at::bmm(x, x.transpose(1, 2));
        x = at::baddbmm(x, at::baddbmm(square, square, square, -4.7750, 2.0315), x, 3.4445);
    }
    x = x.to(at::kFloat);
    return is_tall ? x.transpose(1, 2) : x;
}

std::vector<at::Tensor> others_of(const decoder& model) {
    std::vector<bool> is_matrix(model.parameters().size(), false);
    for (const auto& m : model.matrices()) is_matrix[m.parameter] = true;
    std::vector<at::Tensor> others;
    for (std::size_t i = 0; i < is_matrix.size(); ++i) {
        if (!is_matrix[i]) others.push_back(model.parameters()[i]);
    }
    return others;
}

}  // namespace

weight_optimizer::weight_optimizer(const decoder& model)
    : parameters_(model.parameters()),
      adam_(others_of(model), torch::optim::AdamWOptions().betas({0.9, 0.95}).weight_decay(0.0)) {
    for (const auto& m : model.matrices()) {
        const at::Tensor view = parameters_[m.parameter].detach().slice(0, m.first_row, m.first_row + m.rows);
        auto group =
            std::ranges::find_if(groups_, [&](const alike& g) { return g.weights[0].sizes() == view.sizes(); });
        if (group == groups_.end()) group = groups_.insert(groups_.end(), alike{});
        group->weights.push_back(view);
        group->from.push_back({m.parameter, m.first_row});
    }
    for (alike& g : groups_) g.momentum = at::zeros_like(at::stack(g.weights));
}

void weight_optimizer::step(double matrix_rate, double other_rate) {
    constexpr double kept = 0.95;
    const at::NoGradGuard no_gradients;
    for (alike& g : groups_) {
        std::vector<at::Tensor> parts;
        for (const auto& [parameter, row] : g.from) {
            parts.push_back(parameters_[parameter].grad().slice(0, row, row + g.momentum.size(1)));
        }
        const at::Tensor grad = at::stack(parts);
        g.momentum.lerp_(grad, 1.0 - kept);
        const at::Tensor moved = orthogonal(at::lerp(grad, g.momentum, kept));
        const auto shape = static_cast<double>(g.momentum.size(1)) / static_cast<double>(g.momentum.size(2));
        const double rate = matrix_rate * std::sqrt(std::max(1.0, shape));
        for (std::size_t i = 0; i < g.weights.size(); ++i) {
            g.weights[i].sub_(moved[static_cast<index_t>(i)], rate);
        }
    }
    static_cast<torch::optim::AdamWOptions&>(adam_.param_groups().front().options()).lr(other_rate);
    adam_.step();
    for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

}  // namespace demo
