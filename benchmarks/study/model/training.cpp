// SPDX-License-Identifier: MIT
// Training: AdamW for the weights, Adam for a learned basis, both through cordage's gradients.
#include <ATen/Parallel.h>
#include <torch/optim/adamw.h>

#include <torch/nn/utils/clip_grad.h>  // needs what the line above includes

#include <algorithm>
#include <cmath>
#include <exception>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "model/learning.hpp"
#include "model/model.hpp"

namespace demo {
namespace {

using tensors = std::vector<at::Tensor>;

// A model and a policy's parameters as one thread sees them: everybody's numbers, its own gradients.
struct replica {
    decoder model;
    at::Tensor policy_parameters;  // [count] float64
};

// Tensors that share a rate, and the replicas' gradients that move them.
class adam_group {
 public:
    // seen_by[r][i]: what replica r calls values[i].
    adam_group(tensors values, std::vector<tensors> seen_by, double weight_decay)
        : values_(std::move(values)),
          seen_by_(std::move(seen_by)),
          adam_(values_, torch::optim::AdamWOptions().betas({0.9, 0.99}).weight_decay(weight_decay)) {}

    // One step along the mean of the replicas' gradients, scaled down to a norm of at most 1; the gradients are then 0.
    void step(double rate) {
        for (std::size_t i = 0; i < values_.size(); ++i) {
            at::Tensor mean = seen_by_[0][i].grad().clone();
            for (std::size_t r = 1; r < seen_by_.size(); ++r) mean.add_(seen_by_[r][i].grad());
            values_[i].mutable_grad() = mean.div_(static_cast<double>(seen_by_.size()));
        }
        torch::nn::utils::clip_grad_norm_(values_, 1.0);
        static_cast<torch::optim::AdamWOptions&>(adam_.param_groups().front().options()).lr(rate);
        adam_.step();
        for (const tensors& seen : seen_by_) {
            for (const at::Tensor& tensor : seen) tensor.grad().zero_();
        }
    }

 private:
    tensors values_;
    std::vector<tensors> seen_by_;
    torch::optim::AdamW adam_;
};

// What one replica does in one step.
struct share_of_step {
    batch text;
    double t;
    std::vector<double> positions;  // [windows, tokens]; empty: the true ones
};

at::Tensor as_tensor(const settings& s, const std::vector<std::int64_t>& numbers, at::IntArrayRef shape) {
    return at::tensor(numbers, at::kLong).view(shape).to(device_of(s));
}

// Returns the loss.
double add_gradients(const settings& s, const method& how, const replica& mine, const share_of_step& work) {
    const index_t windows = work.text.windows, tokens = work.text.tokens;
    const at::Tensor position_ids = work.positions.empty()
                                        ? at::arange(tokens, at::kLong)
                                        : at::tensor(work.positions, at::kDouble).view({windows, -1});
    const rotary turn = rotary_at(s, how, mine.policy_parameters, work.t, position_ids);
    const at::Tensor logits = mine.model.logits(as_tensor(s, work.text.inputs, {windows, tokens}), turn);
    const at::Tensor loss = at::cross_entropy_loss(logits, as_tensor(s, work.text.targets, {windows * tokens}));
    loss.backward();
    return loss.item<double>();
}

// Means over 25 parts of the steps.
class loss_curve {
 public:
    explicit loss_curve(index_t steps) : steps_(steps) {}
    void add(index_t step, double loss) {
        sum_ += loss;
        ++count_;
        if ((step + 1) * parts / steps_ == step * parts / steps_) return;
        means_.push_back(sum_ / static_cast<double>(count_));
        sum_ = 0.0;
        count_ = 0;
    }
    std::vector<double> means() && { return std::move(means_); }

 private:
    static constexpr index_t parts = 25;
    index_t steps_, count_ = 0;
    double sum_ = 0.0;
    std::vector<double> means_;
};

// All draws happen here, in one order, so that rows with the same seed see the same text, t and positions.
std::vector<share_of_step> draw_step(const settings& s, const training_recipe& recipe, std::span<const token> text,
                                     std::size_t replicas, generator& draw_text, generator& draw_t) {
    const double t = recipe.t(draw_t);
    const index_t tokens = recipe.window_tokens > 0
                               ? recipe.window_tokens
                               : static_cast<index_t>(std::lround(t * static_cast<double>(s.train_length)));
    const auto parts = static_cast<index_t>(replicas);
    const index_t windows = std::max<index_t>(1, s.tokens_per_step / (tokens * parts));
    std::vector<share_of_step> shares;
    for (std::size_t r = 0; r < replicas; ++r) {
        shares.push_back({random_windows(draw_text, text, windows, tokens), t, {}});
        if (!recipe.positions) continue;
        for (index_t i = 0; i < windows; ++i) {
            const auto made = recipe.positions(draw_t, {tokens, static_cast<double>(s.train_length), t});
            shares.back().positions.insert(shares.back().positions.end(), made.begin(), made.end());
        }
    }
    return shares;
}

// Runs body(0) ... body(count - 1) at once; the first thing thrown is thrown again here.
template <class Body>
void at_once(std::size_t count, const Body& body) {
    std::vector<std::exception_ptr> failures(count);
    const auto guarded = [&](std::size_t i) {
        try {
            use_one_thread();
            body(i);
        } catch (...) {
            failures[i] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < count; ++i) others.emplace_back(guarded, i);
    guarded(0);
    for (std::thread& other : others) other.join();
    for (const auto& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

// Rises over the warm-up, then falls with a cosine to final_share.
double rate_factor(const training_run& run, index_t step) {
    const double done = static_cast<double>(step) / static_cast<double>(run.steps);
    const double rising = static_cast<double>(step + 1) / static_cast<double>(run.warm_up + 1);
    const double falling = run.final_share + (1.0 - run.final_share) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
    return std::min(1.0, rising) * falling;
}

}  // namespace

void require_device(const settings& s) {
#ifndef CORDAGE_DEMO_CUDA
    if (s.device != "cpu") throw std::runtime_error("demo: this preset needs a GPU: ./run replicate --preset gpu");
#endif
    try {
        at::empty({1}, device_of(s));
    } catch (const c10::Error& failure) {
        throw std::runtime_error("demo: no device '" + s.device + "': " + failure.what_without_backtrace());
    }
}

void use_one_thread() { at::set_num_threads(1); }

trained train(const settings& s, const training_run& run, const method& how, const shared_decoder& start,
              std::span<const token> text, int replicas, const progress_report& report) {
    const training_recipe& recipe = how.training.value();
    const auto model = std::make_shared<const decoder>(recipe.weights_learn ? start->copy() : *start);
    const at::Tensor parameters = at::tensor(how.policy.parameters(), at::kDouble);
    const bool basis_learns = parameters.numel() > 0;

    std::vector<replica> views;
    std::vector<tensors> weights, bases;
    for (int r = 0; r < replicas; ++r) {
        views.push_back({model->twin(recipe.weights_learn), parameters.detach().requires_grad_(basis_learns)});
        weights.push_back(views.back().model.parameters());
        bases.push_back({views.back().policy_parameters});
    }
    adam_group weight_group(model->parameters(), weights, 0.1);
    adam_group basis_group({parameters}, bases, 0.0);

    generator draw_text = stream(s.seed, 2), draw_t = stream(s.seed, 3);
    loss_curve losses(run.steps);
    std::vector<double> loss_of(views.size());
    for (index_t step = 0; step < run.steps; ++step) {
        const auto shares = draw_step(s, recipe, text, views.size(), draw_text, draw_t);
        at_once(views.size(), [&](std::size_t r) { loss_of[r] = add_gradients(s, how, views[r], shares[r]); });
        losses.add(step, std::accumulate(loss_of.begin(), loss_of.end(), 0.0) / static_cast<double>(loss_of.size()));
        const double factor = rate_factor(run, step);
        if (recipe.weights_learn) weight_group.step(run.rate * factor);
        if (basis_learns) basis_group.step(recipe.basis_rate * factor);
        report(static_cast<double>(step + 1) / static_cast<double>(run.steps));
    }
    const double* first = parameters.data_ptr<double>();
    return {model, std::vector<double>(first, first + parameters.numel()), std::move(losses).means()};
}

}  // namespace demo
