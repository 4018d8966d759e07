// SPDX-License-Identifier: MIT
// DeepSeek's scale of attention scores under YaRN; stage attention.
#pragma once

#include <cmath>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage {

/// (0.1 mscale_all_dim ln t + 1)^2, the factor that DeepSeek-V2 and later put on every score under YaRN, on the
/// lanes that do not turn too (transformers 5.23, DeepseekV3Attention.scaling); 1 where mscale_all_dim is 0 or t <= 1.
///
/// It comes beside YaRN's own factor on cos and sin, which is a ratio there, (0.1 mscale ln t + 1) / (0.1
/// mscale_all_dim ln t + 1), and 1 for DeepSeek's equal pair.
///
/// @param t  the "factor" of rope_scaling, > 0
/// @throws value_error
inline double deepseek_score_factor(double t, double mscale_all_dim) {
    validate_positive({"deepseek_score_factor: t"}, t);
    validate_number({"deepseek_score_factor: mscale_all_dim"}, mscale_all_dim, mscale_all_dim >= 0.0, {">= 0"});
    const double magnitude = t > 1.0 ? 0.1 * mscale_all_dim * std::log(t) + 1.0 : 1.0;
    return magnitude * magnitude;
}

/// What q . k is multiplied with before the softmax: qk_head_dim^(-1/2) deepseek_score_factor(t, mscale_all_dim).
///
/// @param qk_head_dim  lanes of q, those that turn and those that do not: 128 + 64 in DeepSeek-V3
/// @throws value_error
inline double deepseek_softmax_scale(index_t qk_head_dim, double t, double mscale_all_dim) {
    if (qk_head_dim < 1) {
        fail<value_error>({"deepseek_softmax_scale: qk_head_dim ", qk_head_dim, " must be >= 1"});
    }
    return deepseek_score_factor(t, mscale_all_dim) / std::sqrt(static_cast<double>(qk_head_dim));
}

}  // namespace cordage
