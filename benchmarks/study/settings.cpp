// SPDX-License-Identifier: MIT
// The presets and their variants.
#include "settings.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "report/formatted.hpp"

namespace demo {
namespace {

settings small() {
    settings s;
    s.continuing.steps = 80;
    s.frozen_weights.steps = 90;
    s.evaluated_blocks = 10;
    s.slides = true;
    s.recall_trials = 20;
    s.recall_distances = {16, 48, 112, 240, 496, 1000};
    return s;
}

settings gpu() {
    settings s;
    s.device = "cuda";
    s.text = corpus_kind::kernel_documentation;
    s.model = {2048, 512, 10, 8, 1376};
    s.train_length = 512;
    s.tokens_per_step = 16384;
    s.pretraining = {3000, 1e-3, 0.1, 100};
    s.continuing = {400, 3e-4, 0.0, 20};
    s.frozen_weights.steps = 300;
    s.evaluated_blocks = 24;
    s.slides = true;
    s.recall_distances = {16, 112, 496, 1008, 2032, 4080, 8000};
    return s;
}

settings in_a_few_steps(settings s) {
    s.pretraining.steps = 40;
    s.continuing.steps = 4;
    s.frozen_weights.steps = 4;
    s.evaluated_blocks = 2;
    s.recall_trials = 2;
    return s;
}
settings trial() { return in_a_few_steps(small()); }
settings gpu_trial() { return in_a_few_steps(gpu()); }

settings quick() {
    settings s;
    s.pretraining.steps = 300;
    s.continuing.steps = 60;
    s.frozen_weights.steps = 80;
    s.evaluated_blocks = 12;
    return s;
}

using change = std::pair<std::string, std::function<void(settings&)>>;

const std::vector<change>& variants() {
    static const std::vector<change> all{
        {"base", [](settings&) {}},
        {"dev", [](settings& s) { s.evaluate_on_dev = true; }},
        {"half as wide",
         [](settings& s) {
             s.model.width /= 2;
             s.model.heads /= 2;
             s.model.hidden /= 2;
         }},
        {"half as deep", [](settings& s) { s.model.layers /= 2; }},
        {"a quarter of the text", [](settings& s) { s.training_share = 0.25; }},
        {"L twice as long", [](settings& s) { s.train_length *= 2; }},
        {"manuals", [](settings& s) { s.text = corpus_kind::perl_manuals; }},
    };
    return all;
}

}  // namespace

settings settings_of(const std::string& preset, const std::string& variant) {
    const std::vector<std::pair<std::string, settings (*)()>> presets{{"demo", [] { return settings{}; }},
                                                                      {"quick", quick},
                                                                      {"small", small},
                                                                      {"gpu", gpu},
                                                                      {"trial", trial},
                                                                      {"gpu-trial", gpu_trial}};
    const auto of_name = [](const auto& list, const std::string& name, const char* kind) {
        const auto found =
            std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.first == name; });
        if (found == list.end()) throw std::runtime_error(formatted("demo: no %s is called '%s'", kind, name.c_str()));
        return found->second;
    };
    settings s = of_name(presets, preset, "preset")();
    of_name(variants(), variant, "variant")(s);
    if (variant != "base") s.recall_distances.clear();  // no study shows it of these
    return s;
}

std::vector<std::string> variant_names() {
    std::vector<std::string> names;
    for (const change& c : variants()) names.push_back(c.first);
    return names;
}

std::string described(const settings& s) {
    const auto n = [](index_t count) { return static_cast<long>(count); };
    const auto run = [&](const training_run& r) {
        return formatted("%ld,%g,%g,%ld", n(r.steps), r.rate, r.final_share, n(r.warm_up));
    };
    std::string text = formatted("model %ld,%ld,%ld,%ld,%ld L %ld t %g step %ld", n(s.model.vocabulary),
                                 n(s.model.width), n(s.model.layers), n(s.model.heads), n(s.model.hidden),
                                 n(s.train_length), s.t_train, n(s.tokens_per_step));
    text += " runs " + run(s.pretraining) + " " + run(s.continuing) + " " + run(s.frozen_weights) + " at";
    for (const index_t ratio : s.ratios) text += formatted(" %ld", n(ratio));
    text += formatted(" blocks %ld slides %d recall %ld", n(s.evaluated_blocks), s.slides ? 1 : 0, n(s.recall_trials));
    for (const index_t distance : s.recall_distances) text += formatted(" %ld", n(distance));
    if (s.device != "cpu") text += " device " + s.device;
    return text + formatted(" seed %llu text %d share %g dev %d", static_cast<unsigned long long>(s.seed),
                            static_cast<int>(s.text), s.training_share, s.evaluate_on_dev ? 1 : 0);
}

}  // namespace demo
