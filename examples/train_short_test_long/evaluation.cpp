// SPDX-License-Identifier: MIT
// Perplexity and accuracy on windows of each length, over the same tokens.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cordage/schedule/continuous.hpp"
#include "learning.hpp"
#include "model.hpp"

namespace demo {
namespace {

struct sums {
    double loss = 0.0, loss_last = 0.0, hits = 0.0;
    index_t tokens = 0, tokens_last = 0;
};

// One forward pass; of windows that end a stretch of the longest length, the last L tokens count for "last" too.
void add(const decoder& model, const rotary& turn, const batch& windows, const std::vector<bool>& ends_stretch,
         index_t last, sums& total) {
    const at::Tensor inputs = at::tensor(windows.inputs, at::kLong).view({windows.windows, windows.tokens});
    const at::Tensor targets = at::tensor(windows.targets, at::kLong);
    const at::Tensor logits = model.logits(inputs, turn);
    const at::Tensor losses = at::nll_loss(at::log_softmax(logits, 1), targets, {}, at::Reduction::None)
                                  .to(at::kDouble)
                                  .view({windows.windows, windows.tokens});
    total.loss += losses.sum().item<double>();
    total.hits += logits.argmax(1).eq(targets).sum().item<double>();
    total.tokens += targets.numel();
    for (index_t i = 0; i < windows.windows; ++i) {
        if (!ends_stretch[static_cast<std::size_t>(i)]) continue;
        total.loss_last += losses[i].slice(0, windows.tokens - last).sum().item<double>();
        total.tokens_last += last;
    }
}

}  // namespace

std::vector<score> evaluate(const settings& s, const method& how, const trained& what, std::span<const token> text,
                            const progress_report& report) {
    const at::NoGradGuard no_gradients;
    const index_t stretch = s.longest();
    // Stretches spread evenly over the text; each also needs the token after it.
    const index_t apart = (static_cast<index_t>(text.size()) - 1) / s.evaluated_blocks;
    if (apart < stretch) throw std::runtime_error("demo: the text is too short to be evaluated on");
    const auto parameters = at::tensor(what.policy_parameters, at::kDouble);

    std::vector<score> scores;
    double done = 0.0;
    for (const index_t ratio : s.ratios) {
        const index_t length = ratio * s.train_length;
        const double t = cordage::ratio_at(cordage::continuous{how.t_min}, s.rope(), static_cast<double>(length));
        const rotary turn = rotary_at(s.rope(), how.policy, parameters, t, at::arange(length, at::kLong));
        const index_t windows_a_pass = std::max<index_t>(1, s.tokens_per_step / length);
        sums total;
        batch windows{0, length, {}, {}};
        std::vector<bool> ends_stretch;
        const auto pass = [&] {
            if (windows.windows > 0) add(*what.model, turn, windows, ends_stretch, s.train_length, total);
            windows = {0, length, {}, {}};
            ends_stretch.clear();
        };
        for (index_t block = 0; block < s.evaluated_blocks; ++block) {
            for (index_t start = 0; start < stretch; start += length) {
                windows.add(text, static_cast<std::size_t>(block * apart + start));
                ends_stretch.push_back(start + length == stretch);
                if (windows.windows == windows_a_pass) pass();
            }
            report((done + static_cast<double>(block + 1) / static_cast<double>(s.evaluated_blocks)) /
                   static_cast<double>(s.ratios.size()));
        }
        pass();
        done += 1.0;
        scores.push_back({ratio, length, std::exp(total.loss / static_cast<double>(total.tokens)),
                          std::exp(total.loss_last / static_cast<double>(total.tokens_last)),
                          total.hits / static_cast<double>(total.tokens)});
    }
    return scores;
}

}  // namespace demo
