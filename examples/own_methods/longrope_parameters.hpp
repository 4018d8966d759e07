// SPDX-License-Identifier: MIT
// Writes a basis in a form that engines without cordage read: LongRoPE's factors in a config.json (nlohmann-json).
#pragma once

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "cordage/core/bits.hpp"
#include "cordage/core/error.hpp"
#include "cordage/scaling/policy.hpp"

namespace own {

using cordage::fail, cordage::index_t, cordage::rope_config, cordage::value_error;

/// `rope_parameters` (transformers before 5: `rope_scaling`) of rope type "longrope" that reproduce this policy: at t =
/// 1 up to original_length, at `t` beyond. Factors are 1 / alpha_i, so `long_factor` is also ggml's freq_factors.
/// Engines have one attention factor for all lengths, as for YaRN: the one at `t` is written, also as `short_mscale`
/// and `long_mscale` for vLLM. The config also needs max_position_embeddings = t * original_length.
///
/// @param t  > 1; the t of the longest length, since engines have one set of factors beyond original_length
/// @throws value_error  for t; for an original_length that is not an integer of at most 2^53; for a pair that is not
///                      rotated or whose factor is 0; for an attention factor that is not finite and > 0
template <cordage::scaling_policy Policy>
nlohmann::json longrope_parameters(const rope_config& config, const Policy& policy, double t) {
    const char* const function = "longrope_parameters";
    cordage::validate(policy, config);
    cordage::validate_ratio({"longrope_parameters: t"}, t);
    if (!(t > 1.0)) fail<value_error>({function, ": t ", t, " must be > 1"});
    if (config.original_length != std::floor(config.original_length) || config.original_length > 0x1p53) {
        fail<value_error>(
            {function, ": original_length ", config.original_length, " must be an integer of at most 2^53"});
    }
    const double attention = cordage::attention_factor(policy, config, t);
    cordage::validate_positive({function, ": attention factor at t ", t}, attention);
    const auto factors_at = [&](double ratio) {
        std::vector<double> factors(static_cast<std::size_t>(config.pairs()));
        cordage::log_alpha(policy, config, ratio, factors);
        for (std::size_t i = 0; i < factors.size(); ++i) {
            const double factor = std::exp(-factors[i]);
            if (!cordage::is_finite(factor)) {
                fail<value_error>(
                    {function, ": pair ", i, " is not rotated at t ", ratio, ", must have a frequency > 0"});
            }
            if (!(factor > 0.0)) {
                fail<value_error>({function, ": pair ", i, " has factor 0 at t ", ratio, ", must be > 0"});
            }
            factors[i] = factor;
        }
        return factors;
    };
    return {{"rope_type", "longrope"},
            {"rope_theta", config.theta_base},
            {"factor", t},
            {"original_max_position_embeddings", static_cast<index_t>(config.original_length)},
            {"short_factor", factors_at(1.0)},
            {"long_factor", factors_at(t)},
            {"attention_factor", attention},
            {"short_mscale", attention},
            {"long_mscale", attention}};
}

}  // namespace own
