// SPDX-License-Identifier: MIT
// Pretraining: Muon and AdamW on windows that grow to L, and the gate.
#include <ATen/Parallel.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <string>

#include "cordage/scaling/power_laws.hpp"
#include "model/batches.hpp"
#include "model/learning.hpp"
#include "model/model.hpp"
#include "model/muon.hpp"

namespace demo {
namespace {

// Rises over the warm-up, then falls to 0 with a cosine.
double rate_factor(index_t step, index_t steps, index_t warm_up) {
    const double done = static_cast<double>(step) / static_cast<double>(steps);
    const double rising = static_cast<double>(step + 1) / static_cast<double>(warm_up + 1);
    return std::min(1.0, rising) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

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

class pretrainer {
 public:
    pretrainer(const settings& s, const corpus& text)
        : s_(s),
          text_(text),
          model_(std::make_shared<const decoder>(new_decoder(s))),
          optimizer_(*model_),
          draw_(stream(s.seed, 2)) {
        for (const at::Tensor& parameter : model_->parameters()) parameter.requires_grad_(true);
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
            losses.add(step, add_gradients(s_.train_length / cut));
            const double factor = rate_factor(step, steps, run.warm_up);
            optimizer_.step(run.matrix_rate * factor, run.other_rate * factor);
            report(static_cast<double>(step + 1) / static_cast<double>(steps));
        }
        return std::move(losses).means();
    }

    const shared_decoder& model() const { return model_; }

 private:
    double add_gradients(index_t length) {
        std::vector<window> windows;
        for (index_t i = 0; i < s_.pretraining.tokens_per_step / length; ++i) {
            windows.push_back(
                draw_window(draw_, s_.windows, text_.train, static_cast<token>(s_.model.vocabulary), length));
        }
        const batch b = batch_of(s_, windows, is_guessable);
        const rotary rotation = rotary_at(s_, cordage::unscaled{}, at::empty({0}, at::kDouble), 1.0, length);
        const at::Tensor loss = at::cross_entropy_loss(model_->logits(b.inputs, rotation, b.rows), b.targets);
        loss.backward();
        return loss.item<double>();
    }

    const settings& s_;
    const corpus& text_;
    shared_decoder model_;
    weight_optimizer optimizer_;
    generator draw_;
};

}  // namespace

void require_device(const settings& s) {
    try {
        at::empty({1}, device_of(s));
    } catch (const c10::Error& failure) {
        throw std::runtime_error("demo: no device '" + s.device + "': " + failure.what_without_backtrace());
    }
}

void use_one_thread() { at::set_num_threads(1); }

const char* arithmetic(const settings& s) { return multiplies_in_bfloat16(device_of(s)) ? "bfloat16" : "float32"; }

bool pretrained::passes(const settings& s) const {
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
    for (index_t i = 0; i < run.more_rounds && !made.passes(s); ++i) {
        trainer.round(run.steps / 3, false, quiet);
        made.steps += run.steps / 3;
        look();
    }
    for (const at::Tensor& parameter : made.model->parameters()) parameter.requires_grad_(false);
    return made;
}

std::vector<double> learned_parameters(const settings& s, const decoder& model, const cordage::any_policy& policy,
                                       index_t fixed, std::span<const token> text, const progress_report& report) {
    const learning_run& run = s.learning;
    const at::Tensor numbers = at::tensor(policy.parameters(), at::kDouble).requires_grad_(true);
    torch::optim::Adam adam({numbers}, torch::optim::AdamOptions(run.rate));
    generator draw = stream(s.seed, 3);
    const index_t length = s.learned_length();
    const auto is_told = [](const window& w, index_t i) {
        const token_kind kind = w.kinds[static_cast<std::size_t>(i)];
        return kind == token_kind::copied || kind == token_kind::value;
    };
    for (index_t step = 0; step < run.steps; ++step) {
        std::vector<window> windows;
        for (index_t i = 0; i < run.windows; ++i) {
            windows.push_back(draw_window(draw, s.windows, text, static_cast<token>(s.model.vocabulary), length));
        }
        const batch b = batch_of(s, windows, is_told);
        const rotary rotation = rotary_at(s, policy, numbers, run.t_learned, length);
        adam.zero_grad();
        at::cross_entropy_loss(model.logits(b.inputs, rotation, b.rows), b.targets).backward();
        if (fixed > 0) numbers.grad().slice(0, numbers.numel() - fixed).zero_();
        auto& options = static_cast<torch::optim::AdamOptions&>(adam.param_groups().front().options());
        options.lr(run.rate * rate_factor(step, run.steps, 0));
        adam.step();
        report(static_cast<double>(step + 1) / static_cast<double>(run.steps));
    }
    const double* data = numbers.data_ptr<double>();
    return {data, data + numbers.numel()};
}

}  // namespace demo
