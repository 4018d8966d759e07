// SPDX-License-Identifier: MIT
// Perplexity and accuracy on windows of each length, over the same tokens.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cordage/attention/score_factors.hpp"
#include "cordage/schedule/schedules.hpp"
#include "model/learning.hpp"
#include "model/model.hpp"

namespace demo {
namespace {

// A trained row on windows of one length.
class reader {
 public:
    reader(const settings& s, const method& how, const trained& what, index_t length)
        : model_(*what.model), device_(device_of(s)) {
        const auto tokens = static_cast<double>(length);
        const auto parameters = at::tensor(what.policy_parameters, at::kDouble);
        turn_ = rotary_at(s, how, parameters, cordage::ratio_at(how.schedule, s.rope(), tokens),
                          at::arange(length, at::kLong));
        if (how.has_log_scaling) {
            turn_.score_factor = cordage::log_scaling(tokens, static_cast<double>(s.train_length));
        }
    }

    // [windows, tokens] each: minus log probability of the targets (float64), and whether they were guessed.
    struct read {
        at::Tensor losses, hits;
    };
    read operator()(const batch& windows) const {
        const at::Tensor inputs =
            at::tensor(windows.inputs, at::kLong).view({windows.windows, windows.tokens}).to(device_);
        const at::Tensor targets = at::tensor(windows.targets, at::kLong).to(device_);
        const at::Tensor logits = model_.logits(inputs, turn_);
        const at::Tensor losses =
            at::nll_loss(at::log_softmax(logits, 1), targets, {}, at::Reduction::None).to(at::kDouble);
        return {losses.view(inputs.sizes()), logits.argmax(1).eq(targets).view(inputs.sizes())};
    }

 private:
    const decoder& model_;
    at::Device device_;
    rotary turn_;
};

struct mean {
    double sum = 0.0;
    index_t count = 0;
    void add(const at::Tensor& part) {
        sum += part.sum().item<double>();
        count += part.numel();
    }
    double value() const { return sum / static_cast<double>(count); }
};

struct means {
    mean loss, loss_last, loss_sliding, hits;
};

// One stretch of text cut into windows.
class stretch_evaluation {
 public:
    stretch_evaluation(const settings& s, const reader& read, std::span<const token> text, index_t length)
        : s_(s), read_(read), text_(text), length_(length) {}

    void add(index_t begin, means& total) const {
        const index_t stretch = s_.longest();
        in_windows(begin, stretch / length_, length_, [&](const reader::read& r, index_t first, index_t count) {
            total.loss.add(r.losses);
            total.hits.add(r.hits);
            if (first + count == stretch / length_) {
                total.loss_last.add(r.losses[count - 1].slice(0, length_ - s_.train_length));
            }
        });
        if (!s_.slides) return;
        const index_t half = length_ / 2;
        in_windows(begin + stretch / 2 - half, stretch / length_, half,
                   [&](const reader::read& r, index_t, index_t) { total.loss_sliding.add(r.losses.slice(1, half)); });
    }

 private:
    // Windows from `begin` on, `step` apart, some at a time; body(what was read, number of the first, count).
    template <class Body>
    void in_windows(index_t begin, index_t count, index_t step, const Body& body) const {
        const index_t at_once = std::max<index_t>(1, s_.tokens_per_step / length_);
        for (index_t first = 0; first < count; first += at_once) {
            batch windows{0, length_, {}, {}};
            for (index_t i = first; i < std::min(count, first + at_once); ++i) {
                windows.add(text_, static_cast<std::size_t>(begin + i * step));
            }
            body(read_(windows), first, windows.windows);
        }
    }

    const settings& s_;
    const reader& read_;
    std::span<const token> text_;
    index_t length_;
};

}  // namespace

std::vector<score> evaluate(const settings& s, const method& how, const trained& what, std::span<const token> text,
                            const progress_report& report) {
    const at::NoGradGuard no_gradients;
    // Stretches spread evenly over the text; each also needs the token after it.
    const index_t apart = (static_cast<index_t>(text.size()) - 1) / s.evaluated_blocks;
    if (apart < s.longest()) throw std::runtime_error("demo: the text is too short to be evaluated on");
    const double all = static_cast<double>(s.ratios.size()) * static_cast<double>(s.evaluated_blocks);

    std::vector<score> scores;
    double done = 0.0;
    for (const index_t ratio : s.ratios) {
        const index_t length = ratio * s.train_length;
        const reader read(s, how, what, length);
        const stretch_evaluation evaluation(s, read, text, length);
        means total;
        for (index_t block = 0; block < s.evaluated_blocks; ++block) {
            evaluation.add(block * apart, total);
            report(++done / all);
        }
        scores.push_back({ratio, length, std::exp(total.loss.value()), std::exp(total.loss_last.value()),
                          total.hits.value(), s.slides ? std::exp(total.loss_sliding.value()) : 0.0});
    }
    return scores;
}

std::vector<recall> measure_recall(const settings& s, const method& how, const trained& what,
                                   std::span<const token> text) {
    constexpr index_t phrase = 16, cue = 8;
    const at::NoGradGuard no_gradients;
    std::vector<recall> found;
    for (const index_t distance : s.recall_distances) {
        const index_t length = distance + phrase - 1;  // and one token more to be guessed
        const reader read(s, how, what, length);
        generator draw = stream(s.seed, 100 + static_cast<std::uint64_t>(distance));
        const auto starts = text.size() - static_cast<std::size_t>(length);
        mean hits, loss, loss_without;
        for (index_t trial = 0; trial < s.recall_trials; ++trial) {
            // A window of text; the phrase at its end, and, planted, at its beginning too.
            const auto start = static_cast<std::ptrdiff_t>(cordage::draw_below(draw, starts));
            const auto from = static_cast<std::ptrdiff_t>(cordage::draw_below(draw, starts));
            std::vector<token> window(text.begin() + start, text.begin() + start + length + 1);
            std::copy_n(text.begin() + from, phrase, window.end() - phrase);
            const auto answers = [&](const at::Tensor& of) { return of[0].slice(0, length - (phrase - cue)); };
            batch without{0, length, {}, {}}, with{0, length, {}, {}};
            without.add(window, 0);
            std::copy_n(text.begin() + from, phrase, window.begin());
            with.add(window, 0);
            loss_without.add(answers(read(without).losses));
            const auto planted = read(with);
            loss.add(answers(planted.losses));
            hits.add(answers(planted.hits));
        }
        found.push_back({distance, hits.value(), loss_without.value() - loss.value()});
    }
    return found;
}

}  // namespace demo
