// SPDX-License-Identifier: MIT
// cordage_inspect: says what a model's config.json makes its rotation do at a length.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cordage/checkpoint/with_weights.hpp"
#include "cordage/config/read.hpp"
#include "cordage/config/tower.hpp"
#include "inspection.hpp"
#include "plot.hpp"

namespace {

struct settings {
    std::string config, weights, picture, layer_type;
    std::optional<double> length, t;
    bool as_json = false, lenient = false;
};

void run(const settings& chosen) {
    const auto config = cordage::hf::parse_config_file(chosen.config);
    std::optional<cordage::hf::tower_rope> tower;
    if (cordage::hf::has_tower(config)) tower = cordage::hf::read_parsed_tower(config, {.lenient = chosen.lenient});
    cordage::hf::model_ropes model;
    if (tower && tower->model_type == config.value("model_type", "") && !config.contains("text_config")) {
        model.model_type = tower->model_type;  // nothing but a tower
    } else {
        model = cordage::hf::read_parsed_config(config, {.lenient = chosen.lenient});
    }
    if (!chosen.weights.empty() && !model.ropes.empty()) {
        model.ropes = cordage::hf::with_weights(model.ropes.front(), std::filesystem::path(chosen.weights));
    }
    const auto ropes = chosen.layer_type.empty() ? model.ropes : std::vector{model.of(chosen.layer_type)};
    const double length = chosen.length.value_or(model.max_length > 0.0 ? model.max_length : 1.0);
    std::vector<inspect::inspection> all;
    all.reserve(ropes.size());
    for (const auto& rope : ropes) all.push_back(inspect::inspect(rope, length, chosen.t));
    if (chosen.as_json) {
        std::fputs(inspect::as_json(model.model_type, length, all, tower).c_str(), stdout);
    } else {
        if (!all.empty()) {
            std::printf("model type %s, ", model.model_type.empty() ? "not given" : model.model_type.c_str());
            if (model.max_length > 0.0)
                std::printf("up to %.17g positions\n", model.max_length);
            else
                std::puts("of any length");
        }
        for (const auto& seen : all) std::fputs(inspect::in_words(seen).c_str(), stdout);
        if (tower) std::fputs(describe(*tower).c_str(), stdout);
    }
    for (const auto& warning : model.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
    if (!chosen.picture.empty() && !all.empty()) inspect::draw_wavelengths(all.front(), chosen.picture);
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App options("Says what a model's config.json makes its rotary embedding do at a length.");
    options.add_option("config", chosen.config, "the model's config.json")->required();
    options.add_option("--weights", chosen.weights, "CLEX: its checkpoint, a .safetensors file, an index or a folder");
    options.add_option("--length", chosen.length, "tokens; the config's own maximum if not given");
    options.add_option("--t", chosen.t, "length ratio, in place of what the schedule says");
    options.add_option("--layer-type", chosen.layer_type, "only this one; the picture is of the first otherwise");
    options.add_option("--plot", chosen.picture, "draw the wavelengths into this .svg or .png (gnuplot)");
    options.add_flag("--json", chosen.as_json, "numbers instead of words");
    options.add_flag("--lenient", chosen.lenient, "doubtful settings are warnings instead of errors");
    CLI11_PARSE(options, argc, argv);
    try {
        run(chosen);
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
