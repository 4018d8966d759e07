// SPDX-License-Identifier: MIT
// Pretraining: Muon and AdamW on windows that grow to L, and the gate; numbers that learn over frozen weights.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "cordage/scaling/power_laws.hpp"
#include "model/batches.hpp"
#include "model/learning.hpp"
#include "model/model.hpp"
#include "model/muon.hpp"

namespace demo {
namespace {

// Means over 50 parts of the steps.
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
    static constexpr index_t parts = 50;
    index_t steps_, count_ = 0;
    double sum_ = 0.0;
    std::vector<double> means_;
};

std::vector<window> draw_windows(generator& draw, const settings& s, std::span<const token> text, index_t count,
                                 index_t length) {
    std::vector<window> windows;
    for (index_t i = 0; i < count; ++i) {
        windows.push_back(draw_window(draw, s.windows, text, static_cast<token>(s.model.vocabulary), length));
    }
    return windows;
}

// Adds the gradients of a batch's mean loss; returns it.
double add_gradients(const decoder& model, const batch& b, const std::vector<rotary>& rotations) {
    const at::Tensor logits = model.logits(b.inputs, rotations, b.rows);
    const at::Tensor loss = at::cross_entropy_loss(logits, b.targets);
    loss.backward();
    return loss.item<double>();
}

// Adam of a policy's numbers.
class number_optimizer {
 public:
    explicit number_optimizer(const std::vector<double>& first)
        : numbers_(at::tensor(first, at::kDouble).requires_grad_(true)),
          adam_({numbers_}, torch::optim::AdamOptions()) {}

    const at::Tensor& numbers() const { return numbers_; }
    void step(double rate) {
        static_cast<torch::optim::AdamOptions&>(adam_.param_groups().front().options()).lr(rate);
        adam_.step();
        adam_.zero_grad();
    }
    std::vector<double> values() const {
        const double* data = numbers_.data_ptr<double>();
        return {data, data + numbers_.numel()};
    }

 private:
    at::Tensor numbers_;
    torch::optim::Adam adam_;
};

void set_requires_grad(const decoder& model, bool wanted) {
    for (const at::Tensor& parameter : model.parameters()) parameter.requires_grad_(wanted);
}

class pretrainer {
 public:
    pretrainer(const settings& s, const corpus& text)
        : s_(s),
          text_(text),
          model_(std::make_shared<const decoder>(new_decoder(s))),
          optimizer_(*model_),
          draw_(stream(s.seed, 2)) {
        set_requires_grad(*model_, true);
    }

    // One round of steps. With a curriculum its first windows are shorter.
    std::vector<double> round(index_t steps, bool has_curriculum, const progress_report& report) {
        const pretraining_run& run = s_.pretraining;
        loss_curve losses(steps);
        for (index_t step = 0; step < steps; ++step) {
            const double done = static_cast<double>(step) / static_cast<double>(steps);
            const index_t cut = !has_curriculum || done >= run.share_of_quarter + run.share_of_half ? 1
                                : done < run.share_of_quarter                                       ? 4
                                                                                                    : 2;
            const index_t length = s_.train_length / cut;
            const auto windows = draw_windows(draw_, s_, text_.train, run.tokens_per_step / length, length);
            const auto rotations =
                rotaries_at(s_, {cordage::unscaled{}}, at::empty({0}, at::kDouble), 1.0, true_positions(length));
            losses.add(step, add_gradients(*model_, batch_of(windows, is_guessable), rotations));
            const double factor = rate_factor(step, steps, static_cast<double>(run.warm_up));
            optimizer_.step(run.matrix_rate * factor, run.other_rate * factor);
            report(static_cast<double>(step + 1) / static_cast<double>(steps));
        }
        return std::move(losses).means();
    }

    const shared_decoder& model() const { return model_; }

 private:
    const settings& s_;
    const corpus& text_;
    shared_decoder model_;
    weight_optimizer optimizer_;
    generator draw_;
};

}  // namespace

void prepare_libtorch() { at::set_num_threads(1); }

bool passes_gate(const settings& s, std::span<const observation> seen) {
    const std::vector<double> matches = by_octave(seen, measure::match);
    return !matches.empty() && *std::ranges::min_element(matches) >= s.pretraining.matches_wanted;
}

pretrained pretrain(const settings& s, const corpus& text, const progress_report& report) {
    const pretraining_run& run = s.pretraining;
    const auto quiet = [](double) {};
    pretrainer trainer(s, text);
    pretrained made{trainer.model()};
    const auto look = [&] {
        made.seen = observe(s, *made.model, {cordage::unscaled{}}, {text.dev, dev_windows}, s.train_length,
                            s.gate_windows, quiet);
    };
    made.losses = trainer.round(run.steps, true, report);
    made.steps = run.steps;
    look();
    for (index_t i = 0; i < run.more_rounds && !passes_gate(s, made.seen); ++i) {
        trainer.round(run.steps / 3, false, quiet);
        made.steps += run.steps / 3;
        look();
    }
    set_requires_grad(*made.model, false);
    return made;
}

learning_outcome learn_numbers(const settings& s, const decoder& model, const reading& how, const learned_t& t,
                               scored_tokens which, index_t budget, std::span<const token> text,
                               const progress_report& report) {
    number_optimizer optimizer(first_numbers(s, how));
    generator draw = stream(s.seed, 3), draw_t = stream(s.seed, 4);
    const auto scored = [&](const window& w, index_t i) { return is_scored(which, w, i); };
    index_t spent = 0;
    while (true) {
        const learning_step step = draw_step(draw_t, s, t);
        if (spent + step.token_forwards() > budget) break;
        const auto windows = draw_windows(draw, s, text, step.windows, step.length);
        add_gradients(model, batch_of(windows, scored),
                      rotaries_at(s, how, optimizer.numbers(), step.t, true_positions(step.length)));
        optimizer.step(s.learning.rate * rate_factor(spent, budget, 0.0));
        spent += step.token_forwards();
        report(static_cast<double>(spent) / static_cast<double>(budget));
    }
    return {optimizer.values(), spent};
}

}  // namespace demo
