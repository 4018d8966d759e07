// SPDX-License-Identifier: MIT
// The settings of the study and of its trial.
#include "settings.hpp"

#include <stdexcept>

#include "cordage/core/error.hpp"
#include "report/formatted.hpp"

namespace demo {
settings settings_of(const std::string& preset) {
    settings s;
    if (preset == "small") return s;
    if (preset != "trial") {
        throw std::runtime_error(
            cordage::message("demo: preset ", cordage::in_quotes(preset), " must be small or trial"));
    }
    s.pretraining.steps = 30;
    s.pretraining.more_rounds = 0;
    s.pretraining.matches_wanted = 0.0;
    s.learning.steps = 20;  // half of them pay for the grid of a search
    s.learning.searched_windows = 1;
    s.evaluated_windows = 2;
    s.gate_windows = 40;
    return s;
}

std::string described(const settings& s) {
    const auto n = [](index_t count) { return static_cast<long>(count); };
    const model_sizes& m = s.model;
    const window_shape& w = s.windows;
    const pretraining_run& p = s.pretraining;
    const learning_run& l = s.learning;
    std::string text = formatted("model %ld,%ld,%ld,%ld,%ld L %ld base %g", n(m.vocabulary), n(m.width), n(m.layers),
                                 n(m.heads), n(m.hidden), n(s.train_length), s.theta_base);
    text += formatted(" windows %ld,%ld,%ld,%ld,%ld,%ld,%ld", n(w.tokens_a_record), n(w.tokens_a_copy),
                      n(w.copied_least), n(w.copied_most), n(w.key_tokens), n(w.value_tokens), n(w.recalled_from));
    text +=
        formatted(" pretraining %ld,%ld,%g,%g,%ld,%g,%g,%g,%ld", n(p.steps), n(p.tokens_per_step), p.matrix_rate,
                  p.other_rate, n(p.warm_up), p.share_of_quarter, p.share_of_half, p.matches_wanted, n(p.more_rounds));
    text += formatted(" learning %ld,%ld,%g,%g,%ld at", n(l.steps), n(l.windows), l.t_learned, l.rate,
                      n(l.searched_windows));
    for (const index_t ratio : s.ratios) text += formatted(" %ld", n(ratio));
    return text + formatted(" evaluated %ld,%ld dev %d seed %llu", n(s.evaluated_windows), n(s.gate_windows),
                            s.evaluate_on_dev ? 1 : 0, static_cast<unsigned long long>(s.seed));
}

}  // namespace demo
