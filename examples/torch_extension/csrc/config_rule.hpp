// SPDX-License-Identifier: MIT
// What a model's config says of its rotation, by length: no libtorch, and nlohmann-json in one unit only.
#pragma once

#include <string>

#include "cordage/basis/basis.hpp"

namespace cordage_torch {

/// The basis that a model with this config.json gives layers of this type for a sequence of `length` tokens. Configs
/// are parsed once. layer_type is ignored where all layers are alike; empty it is that of the first layers that turn.
/// @throws cordage::value_error naming what is wrong with the config
cordage::basis basis_of_config(const std::string& config_json, const std::string& layer_type, double length);

/// The same rule as a JSON object: rope_type, layer_type, layer_types (of all rules), rotary_dim, head_dim, theta_base,
/// original_length, layout, depends_on_length, is_plain (one axis, lanes from the first on, no query temperature,
/// nothing learned), axis_of_pair ([] where positions have one axis), words, warnings.
std::string describe_rule(const std::string& config_json, const std::string& layer_type);

}  // namespace cordage_torch
