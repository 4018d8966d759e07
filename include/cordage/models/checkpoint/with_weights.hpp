// SPDX-License-Identifier: MIT
// A config combined with the learned parameters of the rotation in its checkpoint, CLEX or LeRoPE (nlohmann-json,
// Eigen).
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cordage/clex/clex.hpp"
#include "cordage/models/checkpoint/lerope.hpp"
#include "cordage/models/checkpoint/released_clex.hpp"
#include "cordage/models/config/model_ropes.hpp"

namespace cordage::hf {

/// The rule of a CLEX config with its policy solved from these weights: clex_released, to max_factor in steps of
/// time_dt.
/// @throws value_error or shape_error  if the rule is not of rope type "clex", or the weights do not fit it
inline layer_rope with_weights(layer_rope rope, const clex_weights& weights) {
    if (!rope.clex) fail<value_error>({"hf::with_weights: rope type '", rope.rope_type, "' must be 'clex'"});
    const clex_settings& settings = *rope.clex;
    const double hidden = std::floor(settings.param_factor * static_cast<double>(rope.config.rotary_dim));
    if (hidden != static_cast<double>(weights.hidden)) {
        fail<shape_error>(
            {"hf::with_weights: hidden width ", weights.hidden, " must be param_factor * rotary_dim = ", hidden});
    }
    const clex_options options = released_options(settings.max_factor, settings.time_dt);
    if (settings.act == "silu")
        rope.policy = clex_released<silu>(rope.config, weights, options);
    else
        rope.policy = clex_released<>(rope.config, weights, options);
    rope.policy_words = message("CLEX as released, hidden width ", weights.hidden, ", ", settings.act, ", steps of ",
                                settings.time_dt, ", with its weights");
    rope.needs_weights = false;
    return rope;
}

/// One rule for each CLEX layer of a checkpoint, named "layer 0" and so on; one with the rule's own name if all layers
/// share one field.
/// @throws as load_released_clex and the function above; value_error as clex_settings::check_states
inline std::vector<layer_rope> with_weights(const layer_rope& rope, const checkpoint& weights) {
    const std::vector<named_clex_weights> layers = load_released_clex(weights);
    if (rope.clex) {
        rope.clex->check_states("hf::with_weights", rope.config.pairs(), static_cast<index_t>(layers.size()));
    }
    std::vector<layer_rope> all;
    for (const named_clex_weights& layer : layers) {
        all.push_back(with_weights(rope, layer.weights));
        if (layer.layer) all.back().layer_type = message("layer ", *layer.layer);
    }
    return all;
}
/// As above, for a .safetensors file, an index of shards or a folder.
inline std::vector<layer_rope> with_weights(const layer_rope& rope, const std::filesystem::path& checkpoint_path) {
    return with_weights(rope, checkpoint(checkpoint_path));
}

/// Checks that rules "layer 0", "layer 1" ... are those of all layers.
inline void check_every_layer_has_weights(const model_ropes& model) {
    const std::size_t layers = std::max(model.layers.size(), model.ropes.size());
    for (std::size_t i = 0; i < layers; ++i) {
        if (i < model.ropes.size() && model.ropes[i].layer_type == message("layer ", i)) continue;
        fail<value_error>({"hf::with_weights: the checkpoint must have the CLEX matrices of each of ", layers,
                           " layers once, and those of layer ", i, " are missing"});
    }
}

/// The rules of a config combined with its checkpoint, for any model: for CLEX one rule for each layer, for LeRoPE the
/// config's policy with the offsets of the weights; unchanged if the checkpoint has no learned basis.
///
///   const auto model = hf::with_weights(hf::read_config_file("folder/config.json"), "folder");
///
/// @throws value_error or shape_error  naming the tensor and the remedy, if the checkpoint has a learned basis that the
///                                     config does not mention (it would be ignored), lacks one that the config
///                                     requires, or has one that does not fit; value_error for a CLEX config whose
///                                     layer types differ
inline model_ropes with_weights(model_ropes model, const checkpoint& weights) {
    const std::vector<std::string> offsets = lerope_tensors(weights), fields = released_clex_tensors(weights);
    const bool has_clex =
        std::ranges::any_of(model.ropes, [](const layer_rope& rope) { return rope.clex.has_value(); });
    const auto needs_offsets = [](const layer_rope& rope) { return rope.needs_weights && !rope.clex; };
    if (!std::ranges::any_of(model.ropes, needs_offsets) && !offsets.empty()) {
        fail<value_error>(
            {"hf::with_weights: tensor ", in_quotes(offsets[0]), " must be left out, or model_type ",
             in_quotes(model.model_type),
             " must be one with LeRoPE, whose code multiplies inv_freq by its exponential, such as 'mistral_large4'"});
    }
    if (!has_clex && !fields.empty()) {
        fail<value_error>({"hf::with_weights: tensor ", in_quotes(fields[0]),
                           " must be left out, or the config must have rope type 'clex': it is a learned basis"});
    }
    if (has_clex && model.ropes.size() > 1) {
        fail<value_error>({"hf::with_weights: the config must have one rule for rope type 'clex', not ",
                           model.ropes.size(), ", with ", in_quotes(model.ropes[1].layer_type),
                           ": use with_weights(rule, checkpoint) for the layers of one rule"});
    }
    if (has_clex) {
        const std::string shared = model.ropes.front().layer_type;
        model.ropes = with_weights(model.ropes.front(), weights);
        // Of a config that does not tell the number of layers, a checkpoint may have one of them.
        if (model.ropes.size() > 1 || (model.ropes.front().layer_type != shared && !model.layers.empty())) {
            check_every_layer_has_weights(model);
        }
        if (model.ropes.size() > 1) {
            model.layers.assign(model.ropes.size(), {});
            for (std::size_t i = 0; i < model.layers.size(); ++i) model.layers[i].rule = i;
        }
    }
    for (layer_rope& one : model.ropes) {
        if (!needs_offsets(one)) continue;
        one.policy = lerope<any_policy>{one.policy, load_lerope(weights, one.config.pairs())};
        one.policy_words += "; times exp(alpha) of the weights (LeRoPE)";
        one.needs_weights = false;
    }
    return model;
}
/// As above, for a .safetensors file, an index of shards or a folder; the model as it is for an empty path.
inline model_ropes with_weights(model_ropes model, const std::filesystem::path& checkpoint_path) {
    if (checkpoint_path.empty()) return model;
    return with_weights(std::move(model), checkpoint(checkpoint_path));
}

}  // namespace cordage::hf
