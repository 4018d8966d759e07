// SPDX-License-Identifier: MIT
// The presets.
#include "settings.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "report/formatted.hpp"

namespace demo {
namespace {

settings small() {
    settings s;
    s.ratios = {1, 2, 4, 8, 16};
    return s;
}

settings in_a_few_steps(settings s) {
    s.pretraining.steps = 30;
    s.pretraining.more_rounds = 0;
    s.pretraining.matches_wanted = 0.0;
    s.learning.steps = 10;
    s.learning.searched_windows = 1;
    s.evaluated_windows = 2;
    s.gate_windows = 40;
    return s;
}
settings demo_trial() { return in_a_few_steps({}); }
settings trial() { return in_a_few_steps(small()); }

}  // namespace

settings settings_of(const std::string& preset) {
    const std::vector<std::pair<std::string, settings (*)()>> presets{
        {"demo", [] { return settings{}; }}, {"small", small}, {"demo-trial", demo_trial}, {"trial", trial}};
    const auto found = std::ranges::find(presets, preset, [](const auto& entry) { return entry.first; });
    if (found == presets.end()) throw std::runtime_error("demo: no preset is called '" + preset + "'");
    return found->second();
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
    return text + formatted(" evaluated %ld,%ld text %d device %s dev %d seed %llu", n(s.evaluated_windows),
                            n(s.gate_windows), static_cast<int>(s.text), s.device.c_str(), s.evaluate_on_dev ? 1 : 0,
                            static_cast<unsigned long long>(s.seed));
}

}  // namespace demo
