// SPDX-License-Identifier: MIT
// What one layer type of a model does at one length, in numbers and in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cordage/basis/basis.hpp"
#include "cordage/config/tower.hpp"

namespace inspect {

using cordage::index_t;

/// The first position at which an angle made in float32 is this far from the true one, if there is one below 2^24.
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

/// @param t  in place of what the schedule says
/// @throws cordage::error  as the policy and its schedule do
inspection inspect(const cordage::hf::layer_rope& rope, double length, std::optional<double> t);

std::optional<float32_failure> first_float32_failure(const cordage::basis& basis);

/// What the model will do, some lines.
std::string in_words(const inspection& seen);

/// {"model_type": ..., "length": ..., "ropes": [...]}, and "tower": {...} where there is one; numbers with 17 digits.
std::string as_json(const std::string& model_type, double length, const std::vector<inspection>& all,
                    const std::optional<cordage::hf::tower_rope>& tower);

}  // namespace inspect
