// SPDX-License-Identifier: MIT
// The variants of RoPE that the benchmarks compare, by name: one line adds a policy to every benchmark.
#pragma once

#include <string>
#include <vector>

#include "../examples/own_methods/base_change_power.hpp"
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"

namespace cordage::benchmarks {

struct variant {
    std::string name;
    any_policy policy;
};

/// A typical model: heads of 128 lanes, trained on 4096 tokens.
inline rope_config usual_config() {
    return {.head_dim = 128, .rotary_dim = 128, .theta_base = 10000.0, .original_length = 4096.0};
}

inline std::vector<variant> closed_forms() {
    return {{"unscaled", unscaled{}},
            {"linear", linear{}},
            {"ntk_aware", ntk_aware{}},
            {"base_change", base_change{}},
            {"base_change_power", own::base_change_power{}},
            {"by_parts", by_parts{}},
            {"yarn", yarn{}}};
}

}  // namespace cordage::benchmarks
