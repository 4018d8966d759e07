// SPDX-License-Identifier: MIT
// A CLEX with random instead of learned weights, so that its bases differ from every closed form.
#pragma once

#include <cmath>

#include "cordage/clex/initial_weights.hpp"
#include "cordage/cordage.hpp"

using clex_policy = cordage::clex<>;

inline clex_policy drawn_clex(const cordage::rope_config& model, double t_max) {
    cordage::clex_weights weights = cordage::clex_initial_weights(model, 1, 7);
    for (std::size_t i = 0; i < weights.down.size(); ++i) weights.down[i] = 0.01 * std::sin(static_cast<double>(i));
    return clex_policy(model, weights, {.t_max = t_max});
}

/// 1, 1 + step ... up to t_max: the K ratios that a server keeps ready.
inline std::vector<double> ratios_up_to(double t_max, double step) {
    std::vector<double> cached_t;
    for (double t = 1.0; t <= t_max; t += step) cached_t.push_back(t);
    return cached_t;
}
