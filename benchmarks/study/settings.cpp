// SPDX-License-Identifier: MIT
// The presets.
#include "settings.hpp"

#include <algorithm>
#include <stdexcept>

#include "report/formatted.hpp"

namespace demo {
namespace {

using change = void (*)(settings&);

void to_study(settings& s) {
    s.ratios = {1, 2, 4, 8, 16};
    s.rows = row_set::all;
}

void to_a_few_steps(settings& s) {
    s.pretraining.steps = 30;
    s.pretraining.more_rounds = 0;
    s.pretraining.matches_wanted = 0.0;
    s.learning.steps = 20;  // half of them pay for the grid of a search
    s.learning.searched_windows = 1;
    s.evaluated_windows = 2;
    s.gate_windows = 40;
}

struct preset {
    std::string name;
    std::vector<change> changes;  // of the settings as they are, in order
};

// An ablation: one thing of the study is another, and few rows are made.
preset ablation(const std::string& name, change what) {
    return {name, {to_study, [](settings& s) { s.rows = row_set::few; }, what}};
}

const std::vector<preset>& presets() {
    static const std::vector<preset> all{
        {"small", {to_study}},
        {"trial", {to_study, to_a_few_steps}},
        ablation("length-64", [](settings& s) { s.train_length = 64; }),
        ablation("length-256",
                 [](settings& s) {
                     s.train_length = 256;
                     s.pretraining.steps = 1920;  // after 1280, lookup had formed in one model of two
                 }),
        ablation("base-200",
                 [](settings& s) {
                     s.theta_base = 200.0;
                     s.pretraining.steps = 1920;  // lookup forms a million tokens later
                 }),
        ablation("base-500000", [](settings& s) { s.theta_base = 500000.0; }),
        ablation("narrow", [](settings& s) { s.model = {.width = 64, .heads = 2, .hidden = 172}; }),
        ablation("wide", [](settings& s) { s.model = {.width = 256, .heads = 8, .hidden = 688}; }),
        ablation("one-head", [](settings& s) { s.model.heads = 1; }),
        ablation("two-heads", [](settings& s) { s.model.heads = 2; }),
        ablation("longer",
                 [](settings& s) {
                     s.ratios.push_back(32);
                     s.evaluated_windows = 20;  // those of 4096 tokens take most of the time
                 }),
        ablation("manuals", [](settings& s) { s.text = corpus_kind::perl_manuals; }),
        ablation("new-models", [](settings& s) { s.first_seed = 12; }),
    };
    return all;
}

}  // namespace

std::vector<std::string> preset_names() {
    std::vector<std::string> names;
    for (const preset& p : presets()) names.push_back(p.name);
    return names;
}

settings settings_of(const std::string& name) {
    const auto found = std::ranges::find(presets(), name, &preset::name);
    if (found == presets().end()) {
        std::string names;
        for (const std::string& known : preset_names()) names += " " + known;
        throw std::runtime_error("demo: preset '" + name + "' must be one of" + names);
    }
    settings s;
    for (const change what : found->changes) what(s);
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
    return text + formatted(" evaluated %ld,%ld text %d dev %d seed %llu", n(s.evaluated_windows), n(s.gate_windows),
                            static_cast<int>(s.text), s.evaluate_on_dev ? 1 : 0,
                            static_cast<unsigned long long>(s.seed));
}

}  // namespace demo
