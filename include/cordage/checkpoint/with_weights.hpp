// SPDX-License-Identifier: MIT
// A CLEX config together with the weights of its checkpoint (nlohmann-json, Eigen).
#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cordage/checkpoint/released_clex.hpp"
#include "cordage/clex/clex.hpp"
#include "cordage/config/model_ropes.hpp"

namespace cordage::hf {

/// The rule of a CLEX config with its policy solved from these weights: clex_released, to max_factor in steps of
/// time_dt.
/// @throws value_error or shape_error  if the rule is not of rope type "clex", or the weights do not fit it
inline layer_rope with_weights(layer_rope rope, const clex_row_weights& weights) {
    if (!rope.clex) fail<value_error>({"hf::with_weights: rope type '", rope.rope_type, "' must be 'clex'"});
    const clex_settings& settings = *rope.clex;
    const double hidden = std::floor(settings.param_factor * static_cast<double>(rope.config.rotary_dim));
    if (hidden != static_cast<double>(weights.hidden)) {
        fail<shape_error>(
            {"hf::with_weights: hidden width ", weights.hidden, " must be param_factor * rotary_dim = ", hidden});
    }
    const clex_options options = released_options(settings.max_factor, settings.time_dt);
    if (settings.act == "silu")
        rope.policy = clex_released<silu>(rope.config, to_columns(weights), options);
    else
        rope.policy = clex_released<>(rope.config, to_columns(weights), options);
    rope.policy_words = message("CLEX as released, hidden width ", weights.hidden, ", ", settings.act, ", steps of ",
                                settings.time_dt, ", with its weights");
    return rope;
}

/// One rule for each CLEX layer of a checkpoint (file, index of shards or folder), named "layer 0" and so on; one with
/// the rule's own name where all layers share one field.
/// @throws as load_released_clex and the function above; value_error as clex_settings::check_states
inline std::vector<layer_rope> with_weights(const layer_rope& rope, const std::filesystem::path& checkpoint_path) {
    const std::vector<named_clex_weights> layers = load_released_clex(checkpoint_path);
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

}  // namespace cordage::hf
