// SPDX-License-Identifier: MIT
// The rotation of a model at a length, from its config: no libtorch, and nlohmann-json in one unit only.
#pragma once

#include <string>

#include "cordage/basis/basis.hpp"

namespace cordage_torch {

/// The basis that a model with this config.json gives layers of this type for a sequence of `length` tokens. Configs
/// are parsed once. layer_type is ignored if all layers are alike; if empty, that of the first rotated layers.
/// @param is_scaled  the rope dictionary in the config is the caller's, in place of the model's own
/// @throws cordage::value_error naming the fault in the config
cordage::basis basis_of_config(const std::string& config_json, const std::string& layer_type, bool is_scaled,
                               double length);

/// The same rule as a JSON object: rope_type, layer_type, layer_types (of all rules), rotary_dim, head_dim, theta_base,
/// original_length, layout, depends_on_length, is_plain (no query temperature, nothing learned), first_lane (where the
/// rotated lanes begin in a head of the model), axis_of_pair ([] where positions have one axis), words, warnings.
std::string describe_rule(const std::string& config_json, const std::string& layer_type, bool is_scaled);

}  // namespace cordage_torch
