// SPDX-License-Identifier: MIT
// The code shown in docs/methods, with the values that its pages state.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "../../examples/own_methods/base_change_power.hpp"
#include "../../examples/own_methods/resonance.hpp"
#include "../../examples/own_methods/tabulated.hpp"
#include "cordage/attention/score_factors.hpp"
#include "cordage/basis/gradient.hpp"
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/kernels.hpp"
#include "cordage/models/head_temperatures.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/lerope.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/tempered.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/schedule/schedules.hpp"

namespace {

const cordage::rope_config model{.head_dim = 128, .rotary_dim = 128, .theta_base = 10000, .original_length = 4096};

bool agrees(double x, double y) { return std::fabs(x - y) <= 1e-12 * std::fabs(y); }

/// alpha of a pair in a basis of the model.
double alpha(const cordage::basis& b, cordage::index_t pair) {
    return b.inv_freq()[static_cast<std::size_t>(pair)] / model.inv_freq(pair);
}

}  // namespace

TEST_CASE("docs/methods: no scaling, linear, base change") {
    {
        // [unscaled]
        const cordage::rope_scaling rule(model, cordage::unscaled{}, cordage::fixed{});
        // [/unscaled]
        CHECK(alpha(rule.at_length(100000), 63) == 1.0);
    }
    {
        // [linear]
        const cordage::rope_scaling rule(model, cordage::linear{}, cordage::fixed{4});
        // [/linear]
        for (const int pair : {0, 31, 63}) CHECK(agrees(alpha(rule.at_length(100), pair), 0.25));
    }
    {
        // [base_change]
        const cordage::rope_scaling code_llama(model, cordage::base_change{.base_factor = 100}, cordage::fixed{});
        const cordage::rope_scaling growing(model, own::base_change_power{.base_factor = 100, .reference_t = 4},
                                            cordage::continuous{});
        // [/base_change]
        CHECK(agrees(code_llama.at_length(16384).inv_freq()[40], std::pow(1e6, -80.0 / 128)));
        CHECK(agrees(growing.at_length(16384).inv_freq()[40], std::pow(1e6, -80.0 / 128)));
        CHECK(alpha(growing.at_length(4096), 40) == 1.0);
    }
}

TEST_CASE("docs/methods: NTK-aware scaling, fixed and dynamic") {
    // [ntk_aware]
    const cordage::rope_scaling fixed_ntk(model, cordage::ntk_aware{}, cordage::fixed{4});
    const cordage::rope_scaling dynamic_ntk(model, cordage::ntk_aware{}, cordage::dynamic{2});
    // [/ntk_aware]
    CHECK(agrees(alpha(fixed_ntk.at_length(1), 63), 0.25));
    CHECK(dynamic_ntk.ratio(4096) == 1.0);
    CHECK(dynamic_ntk.ratio(16384) == 7.0);
    CHECK(agrees(alpha(dynamic_ntk.at_length(16384), 63), 1.0 / 7));
}

TEST_CASE("docs/methods: YaRN, by parts, resonance") {
    {
        // [yarn]
        const cordage::rope_scaling as_configs_have_it(model, cordage::yarn{}, cordage::fixed{4});
        const cordage::rope_scaling dynamic_yarn(model, cordage::yarn{}, cordage::continuous{});
        // [/yarn]
        CHECK(agrees(as_configs_have_it.at_length(100).attention_factor(), 1.0 + 0.1 * std::log(4.0)));
        CHECK(dynamic_yarn.at_length(4096).attention_factor() == 1.0);
        CHECK(alpha(as_configs_have_it.at_length(100), 20) == 1.0);
        CHECK(agrees(alpha(as_configs_have_it.at_length(100), 46), 0.25));
    }
    {
        // [by_parts]
        const cordage::rope_config llama_3_1{
            .head_dim = 128, .rotary_dim = 128, .theta_base = 5e5, .original_length = 8192};
        const cordage::basis basis = cordage::make_basis(llama_3_1, cordage::llama3{}, 8.0);
        // [/by_parts]
        CHECK(agrees(basis.inv_freq()[63], llama_3_1.inv_freq(63) / 8));
        CHECK(basis.inv_freq()[28] == doctest::Approx(llama_3_1.inv_freq(28)).epsilon(1e-13));
        CHECK(basis.inv_freq()[29] < 0.999 * llama_3_1.inv_freq(29));
    }
    {
        // [resonance]
        const cordage::rope_scaling rule(model, own::resonance<cordage::yarn>{}, cordage::fixed{4});
        // [/resonance]
        const cordage::basis basis = rule.at_length(16384);
        for (const double theta : basis.inv_freq()) {
            const double wavelength = 2.0 * std::numbers::pi / theta;
            CHECK(agrees(wavelength, std::round(wavelength)));
        }
    }
}

TEST_CASE("docs/methods: DroPE") {
    {
        // [drope]
        const cordage::rope_scaling dropped(model, cordage::proportional{0.0}, cordage::fixed{});
        const cordage::basis at_rest = dropped.at_length(100000);  // rotates nothing, at any length
        // [/drope]
        for (const double inv_freq : at_rest.inv_freq()) CHECK(inv_freq == 0.0);
    }
}

TEST_CASE("docs/methods: LongRoPE and masks") {
    {
        const std::vector<double> short_factor(64, 1.0), long_factor(64, 8.0);
        // [longrope]
        const double promised = 32;  // max_position_embeddings / original_max_position_embeddings
        const cordage::longrope policy{short_factor, long_factor,
                                       cordage::longrope_attention_factor(promised, model.original_length)};
        const cordage::rope_scaling rule(model, policy, cordage::two_regimes{});
        // [/longrope]
        CHECK(alpha(rule.at_length(4096), 40) == 1.0);
        CHECK(agrees(alpha(rule.at_length(4097), 40), 1.0 / 8));
        CHECK(agrees(rule.at_length(1).attention_factor(), std::sqrt(1.0 + std::log(32.0) / std::log(4096.0))));
    }
    {
        // [masked]
        const cordage::rope_scaling fastest_quarter(model, cordage::proportional{0.25}, cordage::fixed{});
        std::vector<unsigned char> rotates(64, 1);
        std::fill(rotates.begin() + 48, rotates.end(), static_cast<unsigned char>(0));
        const cordage::rope_scaling slow_ones_rest(model, cordage::masked<cordage::yarn>{{}, rotates},
                                                   cordage::continuous{});
        // [/masked]
        CHECK(alpha(fastest_quarter.at_length(1), 15) == 1.0);
        CHECK(alpha(fastest_quarter.at_length(1), 16) == 0.0);
        CHECK(agrees(alpha(slow_ones_rest.at_length(16384), 47), 0.25));
        CHECK(alpha(slow_ones_rest.at_length(16384), 48) == 0.0);
    }
}

TEST_CASE("docs/methods: LongRoPE's start tokens") {
    const cordage::rope_scaling rule(model, cordage::yarn{}, cordage::continuous{});
    const std::vector<int> position_ids{3, 4};
    // [start_tokens]
    const cordage::basis scaled = rule.at_length(100000);
    const cordage::basis first = cordage::make_basis(model, cordage::unscaled{}, 1.0);
    const cordage::basis own({first.inv_freq().begin(), first.inv_freq().end()}, scaled.attention_factor());
    const cordage::basis_list both({&scaled, &own});
    std::vector<std::int32_t> basis_of_token;
    for (const int position : position_ids) basis_of_token.push_back(position < 4 ? 1 : 0);
    const cordage::exact_angles angles(both.of(basis_of_token), position_ids);
    // [/start_tokens]
    for (const cordage::index_t token : {0, 1}) {
        const cordage::basis& expected = token == 0 ? first : scaled;
        CHECK(angles.phase(0, token, 20) == expected.phase(20, position_ids[static_cast<std::size_t>(token)]));
        CHECK(angles.attention_factor(0, token) == scaled.attention_factor());
    }
}

TEST_CASE("docs/methods: LeRoPE") {
    const std::vector<double> grad_inv_freq(64, 1.0);
    // [lerope]
    const cordage::yarn base{.given_attention_factor = 1.0};
    cordage::lerope<cordage::yarn> policy{base, std::vector<double>(64)};  // offsets 0: YaRN itself
    std::vector<double> offsets = policy.parameters(), gradient(offsets.size());
    cordage::add_grad_parameters(policy, model, 8.0, grad_inv_freq, gradient);
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] -= 0.1 * gradient[i];
    policy = policy.with_parameters(offsets);
    // [/lerope]
    const double theta = cordage::make_basis(model, base, 8.0).inv_freq()[5];
    CHECK(agrees(gradient[5], theta));
    CHECK(agrees(cordage::make_basis(model, policy, 8.0).inv_freq()[5], theta * std::exp(-0.1 * theta)));
    // [lerope_offsets]
    const cordage::by_parts grown;  // or a CLEX
    const std::vector<double> alpha = cordage::lerope_offsets(model, grown, 3.0, base, 2048.0);
    // [/lerope_offsets]
    const cordage::lerope<cordage::yarn> exported{base, alpha};
    CHECK(agrees(cordage::make_basis(model, exported, 2048.0).inv_freq()[40],
                 cordage::make_basis(model, grown, 3.0).inv_freq()[40]));
}

TEST_CASE("docs/methods: a temperature, of a policy and of heads") {
    const std::vector<int> position_ids{3, 20000};
    std::vector<double> values(512, 0.25), gradients(values), out(values.size());
    const auto view = [](std::vector<double>& x) {
        return cordage::token_major(x.data(), {.tokens = 2, .heads = 2, .head_dim = 128});
    };
    const auto q = view(values), grad_q = view(gradients), scaled = view(out);
    // [tempered]
    cordage::tempered policy{cordage::learned_table<cordage::by_parts>(model, {2, 4, 8}),
                             cordage::log_scaling_temperature(model.original_length)};
    const cordage::basis b = cordage::make_basis(model, policy, 8.0);  // its attention factor is sqrt(tau(8))
    std::vector<double> grad_inv_freq(64), grad_m(1);
    cordage::rotate_backward<cordage::half_split>(
        cordage::exact_angles(b, position_ids),
        cordage::rotation_gradients{.inv_freq = grad_inv_freq, .attention_factor = grad_m},
        cordage::grad_through(grad_q, q, grad_q));
    std::vector<double> numbers = policy.parameters(), gradient(numbers.size());  // the table's, ln slope, power
    cordage::add_grad_parameters(policy, model, 8.0, grad_inv_freq, gradient, grad_m[0]);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] -= 0.01 * gradient[i];
    policy = policy.with_parameters(numbers);
    // [/tempered]
    CHECK(agrees(b.attention_factor(), std::sqrt(cordage::log_scaling(8 * 4096, 4096))));
    CHECK(grad_m[0] == doctest::Approx(512.0 / 16.0 / b.attention_factor()));  // grad . y = 1/16 on 512 lanes
    CHECK(policy.temperature.power < 1.0);
    {
        // [temperature_of_heads]
        const std::vector<cordage::score_temperature> of_head{{0.12, 1.0}, {0.12, 0.0}};
        const cordage::head_temperatures factors{{0, 0}, {of_head[0].at(8), of_head[1].at(8)}};  // scale 0: by t alone
        cordage::scale_queries(factors, position_ids, cordage::from_to(q, scaled));
        std::vector<double> grad_tau(2), grad_of_head(2);
        cordage::scale_queries_backward(factors, position_ids, {.bias = grad_tau},
                                        cordage::grad_through(grad_q, q, grad_q));
        of_head[1].vjp(8, grad_tau[1], grad_of_head);  // to ln slope and power of head 1
        // [/temperature_of_heads]
        CHECK(agrees(out[0], 0.25 * (1.0 + 0.12 * std::log(8.0))));
        CHECK(out[128] == 0.25);
        CHECK(grad_of_head[0] == 0.0);
        CHECK(agrees(grad_of_head[1], grad_tau[1] * std::log1p(0.12 * std::log(8.0))));
    }
}

TEST_CASE("docs/methods: tables, given and learned") {
    {
        std::vector<double> alpha_of_knots(192, 1.0);
        for (std::size_t pair = 0; pair < 64; ++pair) {
            alpha_of_knots[64 + pair] = 0.5;
            alpha_of_knots[128 + pair] = 0.25;
        }
        // [tabulated]
        const own::tabulated policy({1, 2, 4}, alpha_of_knots);  // [3, 64]
        const cordage::rope_scaling rule(model, policy, cordage::continuous{});
        // [/tabulated]
        CHECK(agrees(alpha(rule.at_length(3 * 4096), 7), 1.0 / 3));  // log alpha is straight in log t here
        CHECK(agrees(alpha(rule.at_length(8 * 4096), 7), 0.25));
    }
    {
        const std::vector<double> grad_inv_freq(64, 1.0);
        // [learned_table]
        cordage::learned_table<cordage::by_parts> policy(model, {2, 4, 8});  // offsets 0: by_parts itself
        std::vector<double> offsets = policy.parameters(), gradient(offsets.size());
        cordage::add_grad_parameters(policy, model, 3.0, grad_inv_freq, gradient);  // of a batch at t = 3
        for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] -= 0.1 * gradient[i];
        policy = policy.with_parameters(offsets);
        // [/learned_table]
        const double theta = cordage::make_basis(model, cordage::by_parts{}, 3.0).inv_freq()[5];
        const double share = std::log(3.0 / 2.0) / std::log(2.0);
        CHECK(agrees(gradient[5], (1.0 - share) * model.phase_gate(5) * theta));
        CHECK(agrees(gradient[64 + 5], share * model.phase_gate(5) * theta));
        CHECK(gradient[128 + 5] == 0.0);
        CHECK(cordage::make_basis(model, policy, 3.0).inv_freq()[5] < theta);
    }
}

TEST_CASE("docs/methods: scores, temperatures and biases beside the rotation") {
    {
        // [log_scaling]
        const double on_scores = cordage::log_scaling(65536, 4096);        // 1.333: beyond the training length
        const double unchanged = cordage::log_scaling(1000, 4096);         // 1: below it
        const double shrunk = cordage::unclamped_log_scaling(1000, 4096);  // 0.830: as CLEX's released code
        // [/log_scaling]
        CHECK(on_scores == doctest::Approx(4.0 / 3).epsilon(1e-12));
        CHECK(unchanged == 1.0);
        CHECK(shrunk == doctest::Approx(0.830).epsilon(1e-3));
    }
    {
        // [query_temperature]
        const double llama_4 = cordage::llama4_temperature(8192, 0.1).at(40000);         // 1.161: in the fifth block
        const double ministral = cordage::ministral3_temperature(16384, 0.1).at(40000);  // 1.110: in the third
        const double deepseek = cordage::deepseek_softmax_scale(192, 40, 1.0);           // 0.135 = 1.87 / sqrt(192)
        // [/query_temperature]
        CHECK(llama_4 == doctest::Approx(1.161).epsilon(1e-3));
        CHECK(ministral == doctest::Approx(1.110).epsilon(1e-3));
        CHECK(deepseek == doctest::Approx(0.135).epsilon(3e-3));
    }
}
