// SPDX-License-Identifier: MIT
// cordage_inspect: describes the rotation of a model at a length, from its files.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cordage/models/checkpoint/lerope.hpp"
#include "cordage/models/checkpoint/read_model.hpp"
#include "cordage/models/checkpoint/released_clex.hpp"
#include "cordage/models/checkpoint/with_weights.hpp"
#include "cordage/models/config/tower.hpp"
#include "inspection.hpp"
#include "plot.hpp"

namespace {

struct settings {
    std::string config, weights, picture, layer_type;
    std::optional<double> length, t;
    bool as_json = false, lenient = false;
};

/// The learned basis in a checkpoint, if any, as text.
std::string learned_in(const cordage::checkpoint& weights) {
    std::string text;
    for (const std::string& name : cordage::lerope_tensors(weights)) {
        text += "weights: a learned basis, LeRoPE's " + cordage::in_quotes(name) + "\n";
    }
    const auto fields = cordage::released_clex_tensors(weights);
    if (!fields.empty()) {
        text += cordage::message("weights: a learned basis, ", fields.size(), " tensors of CLEX from ",
                                 cordage::in_quotes(fields[0]), " on\n");
    }
    return text.empty() ? cordage::message("weights: no learned basis among ", weights.names().size(), " tensors\n")
                        : text;
}

/// What a model's files say: its rules, and its tower.
struct described {
    cordage::hf::model_ropes model;
    std::optional<cordage::hf::tower_rope> tower;
};
described read(const std::filesystem::path& config, bool lenient) {
    if (cordage::hf::is_gguf(config)) {
        return {cordage::hf::read_gguf(cordage::gguf_file(config), {.lenient = lenient}), {}};
    }
    const auto parsed = cordage::hf::parse_config_file(config.string());
    described out;
    if (cordage::hf::has_tower(parsed)) out.tower = cordage::hf::read_parsed_tower(parsed, {.lenient = lenient});
    if (out.tower && out.tower->model_type == parsed.value("model_type", "") && !parsed.contains("text_config")) {
        out.model.model_type = out.tower->model_type;  // only a tower
    } else {
        out.model = cordage::hf::read_parsed_config(parsed, {.lenient = lenient});
    }
    return out;
}

void run(const settings& chosen) {
    const auto files = cordage::hf::files_of_model(chosen.config);
    const std::filesystem::path weights_path =
        chosen.weights.empty() ? files.weights : std::filesystem::path(chosen.weights);
    auto [model, tower] = read(files.config, chosen.lenient);
    std::string learned;
    if (!weights_path.empty() && !model.ropes.empty()) {
        const cordage::checkpoint weights{weights_path};
        model = cordage::hf::with_weights(std::move(model), weights);
        learned = learned_in(weights);
    }
    if (!chosen.layer_type.empty() && model.ropes.empty()) {
        throw cordage::value_error("cordage_inspect: --layer-type must be left out: the config has no text model");
    }
    const auto ropes = chosen.layer_type.empty() ? model.ropes : std::vector{model.of(chosen.layer_type)};
    const double length = chosen.length.value_or(model.max_length > 0.0 ? model.max_length : 1.0);
    std::vector<inspect::inspection> all;
    all.reserve(ropes.size());
    for (const auto& rope : ropes) all.push_back(inspect::inspect(rope, length, chosen.t));
    if (chosen.as_json) {
        std::fputs(inspect::as_json(model, length, all, tower).c_str(), stdout);
    } else {
        if (!all.empty()) {
            std::printf("model type %s, ", model.model_type.empty() ? "not given" : model.model_type.c_str());
            if (model.max_length > 0.0)
                std::printf("up to %.17g positions\n", model.max_length);
            else
                std::puts("of any length");
        }
        std::fputs(inspect::table_of_layers(model).c_str(), stdout);
        std::fputs(learned.c_str(), stdout);
        for (const auto& seen : all) std::fputs(inspect::in_words(seen).c_str(), stdout);
        if (tower) std::fputs(describe(*tower).c_str(), stdout);
    }
    for (const auto& warning : model.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
    if (!chosen.picture.empty() && !all.empty()) inspect::draw_wavelengths(all.front(), chosen.picture);
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App options("Describes the rotary embedding of a model at a length, from its files.");
    options
        .add_option("config", chosen.config,
                    "its config.json, params.json or GGUF file, its folder, or its name in the cache of transformers")
        ->required();
    options.add_option("--weights", chosen.weights,
                       "its checkpoint, which may hold a learned basis: a .safetensors file, an index or a folder");
    options.add_option("--length", chosen.length, "tokens; the config's own maximum if not given");
    options.add_option("--t", chosen.t, "length ratio, instead of the schedule's");
    options.add_option("--layer-type", chosen.layer_type, "only this one; default: all, and the first for --plot");
    options.add_option("--plot", chosen.picture, "draw the wavelengths into this .svg or .png (gnuplot)");
    options.add_flag("--json", chosen.as_json, "JSON with numbers instead of text");
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
