// SPDX-License-Identifier: MIT
// LongRoPE factors that were written are read back as the same basis.
#include "../../examples/own_methods/longrope_parameters.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "../../examples/own_methods/base_change_power.hpp"
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/clex/clex.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/tempered.hpp"

using namespace cordage;
using namespace own;

namespace {

const rope_config model{.head_dim = 64, .rotary_dim = 64, .theta_base = 5e5, .original_length = 2048};

template <class Policy>
hf::layer_rope read_back(const Policy& policy, double t) {
    const nlohmann::json config = {{"model_type", "llama"},
                                   {"head_dim", model.head_dim},
                                   {"max_position_embeddings", static_cast<index_t>(t * model.original_length)},
                                   {"rope_parameters", longrope_parameters(model, policy, t)}};
    return hf::read_config(config.dump()).of("");
}

}  // namespace

TEST_CASE("examples/longrope_parameters: a learned basis, written and read, rotates as before in both regimes") {
    clex_weights weights = clex_initial_weights(model, 1, 3);
    for (std::size_t i = 0; i < weights.down.size(); ++i) weights.down[i] = 0.02 * std::sin(static_cast<double>(i));
    const clex<log_length_field<by_parts>> learned(model, weights, {.t_max = 8});
    const hf::layer_rope served = read_back(learned, 8.0);
    const rope_scaling rule(served.config, served.policy, served.schedule);
    for (const auto& [length, t] : {std::pair{2048.0, 1.0}, std::pair{2049.0, 8.0}, std::pair{16384.0, 8.0}}) {
        const basis expected = make_basis(model, learned, t), found = rule.at_length(length);
        CHECK(found.attention_factor() == expected.attention_factor());
        for (std::size_t i = 0; i < 32; ++i) {
            CHECK(found.inv_freq()[i] == doctest::Approx(expected.inv_freq()[i]).epsilon(1e-13));
        }
    }
}

TEST_CASE("examples/longrope_parameters: a temperature is the attention factor of the exported t, in both regimes") {
    const tempered policy{by_parts{}, log_scaling_temperature(2048.0)};
    const hf::layer_rope served = read_back(policy, 8.0);
    const rope_scaling rule(served.config, served.policy, served.schedule);
    const basis expected = make_basis(model, policy, 8.0), found = rule.at_length(16384);
    CHECK(found.attention_factor() == expected.attention_factor());
    CHECK(found.attention_factor() == doctest::Approx(std::sqrt(std::log(16384.0) / std::log(2048.0))));
    for (std::size_t i = 0; i < 32; ++i) {
        CHECK(found.inv_freq()[i] == doctest::Approx(expected.inv_freq()[i]).epsilon(1e-13));
    }
    CHECK(rule.at_length(2048).attention_factor() == expected.attention_factor());
    CHECK(rule.at_length(2048).inv_freq()[31] == doctest::Approx(model.inv_freq(31)).epsilon(1e-13));
}

TEST_CASE("examples/longrope_parameters: policies that LongRoPE cannot represent are rejected") {
    CHECK_THROWS_WITH_AS(longrope_parameters(model, by_parts{}, 1.0), "longrope_parameters: t 1 must be > 1",
                         value_error);
    CHECK_THROWS_AS(longrope_parameters(model, by_parts{}, NAN), value_error);
    CHECK_THROWS_WITH_AS(longrope_parameters(model, tempered{by_parts{}, score_temperature{1e10, 1e10}}, 4.0),
                         "longrope_parameters: attention factor at t 4 inf must be finite and > 0", value_error);
    std::vector<unsigned char> rotates(32, 1);
    rotates[31] = 0;
    CHECK_THROWS_WITH_AS(longrope_parameters(model, masked<by_parts>{{}, rotates}, 4.0),
                         "longrope_parameters: pair 31 is not rotated at t 1, must have a frequency > 0", value_error);
    rope_config broken = model;
    broken.original_length = 2048.5;
    CHECK_THROWS_AS(longrope_parameters(broken, by_parts{}, 4.0), value_error);
    broken.original_length = 1e300;  // integral, but too large for an integer
    CHECK_THROWS_AS(longrope_parameters(broken, by_parts{}, 4.0), value_error);
    CHECK_THROWS_WITH_AS(longrope_parameters(model, own::base_change_power{1e-300, 1.0 + 1e-12}, 4.0),
                         "longrope_parameters: pair 1 has factor 0 at t 4, must be > 0", value_error);
}
