// SPDX-License-Identifier: MIT
// A basis as engines without cordage read it: LongRoPE's factors of a config.json; the stage that reads and writes
// configs (nlohmann-json).
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "cordage/core/bits.hpp"
#include "cordage/core/error.hpp"
#include "cordage/scaling/policy.hpp"

namespace cordage::hf {

/// What `rope_parameters` (transformers before 5: `rope_scaling`) says of rope type "longrope" so that a model turns
/// by this policy: at t = 1 up to original_length, at `t` beyond. Factors are 1 / alpha_i, so ggml takes `long_factor`
/// as its freq_factors too. The config beside it needs max_position_embeddings = t * original_length.
///
/// @param t  > 1; what the longest length needs, as engines know one set of factors beyond original_length
/// @throws value_error  for t, an original_length that is not a whole number of at most 2^53, a pair at rest or
///                      endlessly fast, which has no factor, or another attention factor at t than at 1, as engines
///                      know one
template <scaling_policy Policy>
nlohmann::json longrope_parameters(const rope_config& config, const Policy& policy, double t) {
    const char* const function = "hf::longrope_parameters";
    cordage::validate(policy, config);
    validate_ratio({"hf::longrope_parameters: t"}, t);
    if (!(t > 1.0)) fail<value_error>({function, ": t ", t, " must be > 1"});
    if (config.original_length != std::floor(config.original_length) || config.original_length > 0x1p53) {
        fail<value_error>(
            {function, ": original_length ", config.original_length, " must be a whole number of at most 2^53"});
    }
    const double attention = attention_factor(policy, config, t), at_1 = attention_factor(policy, config, 1.0);
    if (attention != at_1) {
        fail<value_error>({function, ": attention factor ", attention, " at t ", t, " must be that at t 1, ", at_1});
    }
    const auto factors_at = [&](double ratio) {
        std::vector<double> factors(static_cast<std::size_t>(config.pairs()));
        log_alpha(policy, config, ratio, factors);
        for (std::size_t i = 0; i < factors.size(); ++i) {
            const double factor = std::exp(-factors[i]);
            if (!is_finite(factor)) {
                fail<value_error>({function, ": pair ", i, " is at rest at t ", ratio, ", must turn"});
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
            {"attention_factor", attention}};
}

}  // namespace cordage::hf
