// SPDX-License-Identifier: MIT
// The rotation of one layer type of a model at one length, as numbers and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cordage/basis/basis.hpp"
#include "cordage/models/config/tower.hpp"

namespace inspect {

using cordage::index_t;

/// Threshold of the error of float32 angles, radians: the first position beyond it is reported if it is below 2^24.
inline constexpr double noticeable_angle = 1e-3;
struct float32_failure {
    index_t position;
    index_t pair;
    double error;  ///< radians
};

struct inspection {
    cordage::hf::layer_rope rope;
    double length;
    double t;
    cordage::basis basis;
};

/// @param t  used instead of the schedule's
/// @throws cordage::error  as the policy and its schedule
inspection inspect(const cordage::hf::layer_rope& rope, double length, std::optional<double> t);

std::optional<float32_failure> first_float32_failure(const cordage::basis& basis);

/// The positions below which it looks: 2^24, or fewer where there are many pairs, so that it takes about a second.
index_t positions_examined(const cordage::basis& basis);

/// The model's rotation as a few lines of text.
std::string in_words(const inspection& seen);

/// Which layers have which rule, a line for each rule; nothing if there is one rule for all and no number of layers.
std::string table_of_layers(const cordage::hf::model_ropes& model);

/// {"model_type": ..., "length": ..., "ropes": [...], "layers": [...]}, and "tower": {...} if there is one; numbers
/// with 17 digits. A layer is {"type": ..., "rule": layer_type of its rule, "indexer": of its second rotation}, with
/// null for none.
std::string as_json(const cordage::hf::model_ropes& model, double length, const std::vector<inspection>& all,
                    const std::optional<cordage::hf::tower_rope>& tower);

}  // namespace inspect
