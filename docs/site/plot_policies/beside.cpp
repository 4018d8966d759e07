// SPDX-License-Identifier: MIT
// What stands beside the rotation: schedules, magnitudes, biases and temperatures.
#include <cordage/attention/score_factors.hpp>
#include <cordage/scaling/by_parts.hpp>
#include <cordage/scaling/tempered.hpp>
#include <cordage/scaling/yarn.hpp>
#include <cordage/schedule/schedules.hpp>

#include "../../../examples/own_methods/alibi.hpp"
#include "../../../examples/own_methods/xpos.hpp"
#include "alpha_panels.hpp"
#include "pictures.hpp"

namespace {

/// A curve through the values at begin, begin + step ... end.
template <class Value>
curve along(const std::string& name, double begin, double end, double step, const Value& value) {
    curve out{name, {}};
    const auto count = static_cast<int>((end - begin) / step);
    for (int i = 0; i <= count; ++i) {
        const double x = begin + i * step;
        out.points.emplace_back(x, value(x));
    }
    return out;
}

axis axis_of_tokens() { return {"tokens", {{0, "0"}, {16384, "16k"}, {32768, "32k"}, {49152, "48k"}, {65536, "64k"}}}; }

panel schedules(const std::string& title, const std::vector<std::pair<std::string, cordage::any_schedule>>& all) {
    panel p{.title = title,
            .x = axis_of_tokens(),
            .y = {"", {{0, "0"}, {4, "4"}, {8, "8"}, {12, "12"}, {16, "16"}}},
            .curves = {}};
    for (const auto& one : all) {
        p.curves.push_back(along(one.first, 1, 65536, 64,
                                 [&](double length) { return cordage::ratio_at(one.second, pictured_model, length); }));
    }
    return p;
}

panel magnitudes_of_xpos() {
    panel p{.title = "xpos: factor on q",
            .x = {"position", {{0, "0"}, {1024, "1k"}, {2048, "2k"}, {3072, "3k"}, {4096, "4k"}}},
            .y = {"", {{0, "0"}, {0.25, "0.25"}, {0.5, "0.5"}, {0.75, "0.75"}, {1, "1"}}},
            .curves = {}};
    for (const int pair : {0, 16, 32, 48, 63}) {
        p.curves.push_back(along("pair " + std::to_string(pair), 0, 4096, 64, [&](double position) {
            return own::xpos{}.query_scale(pictured_model, pair, position);
        }));
    }
    return p;
}

panel biases_of_alibi() {
    panel p{.title = "alibi: added to a score",
            .x = {"distance", {{0, "0"}, {64, "64"}, {128, "128"}, {192, "192"}, {256, "256"}}},
            .y = {"", {{-20, "-20"}, {-15, "-15"}, {-10, "-10"}, {-5, "-5"}, {0, "0"}}},
            .curves = {}};
    const std::vector<double> slopes = own::alibi_slopes(8);
    for (const std::size_t head : {0u, 2u, 4u, 6u, 7u}) {
        p.curves.push_back(along("head " + std::to_string(head), 0, 256, 1,
                                 [&](double distance) { return own::alibi_bias(slopes[head], distance, 0); }));
    }
    return p;
}

panel scales_by_length() {
    return {.title = "factor on scores by length",
            .x = axis_of_tokens(),
            .y = {"", {{0.8, "0.8"}, {0.9, "0.9"}, {1, "1"}, {1.1, "1.1"}, {1.2, "1.2"}, {1.3, "1.3"}, {1.4, "1.4"}}},
            .curves = {
                along("log", 512, 65536, 512, [](double n) { return cordage::log_scaling(n, 4096); }),
                along("unclamped", 512, 65536, 512, [](double n) { return cordage::unclamped_log_scaling(n, 4096); })}};
}

panel temperatures() {
    const auto llama4 = cordage::llama4_temperature();
    const auto ministral = cordage::ministral3_temperature(16384);
    return {.title = "factor on a query by position",
            .x = axis_of_tokens(),
            .y = {"", {{1, "1"}, {1.05, "1.05"}, {1.1, "1.1"}, {1.15, "1.15"}, {1.2, "1.2"}, {1.25, "1.25"}}},
            .curves = {along("Llama 4", 0, 65536, 64, [&](double p) { return llama4.at(p); }),
                       along("Ministral 3", 0, 65536, 64, [&](double p) { return ministral.at(p); })}};
}

panel score_factors() {
    return {
        .title = "factor on scores by t",
        .x = axis_of_t(),
        .y = {"", {{1, "1"}, {1.2, "1.2"}, {1.4, "1.4"}, {1.6, "1.6"}, {1.8, "1.8"}}},
        .curves = {along("DeepSeek", 1, 16, 0.125, [](double t) { return cordage::deepseek_score_factor(t, 1.0); })}};
}

panel score_temperatures() {
    const auto curve_of = [](const std::string& name, const cordage::score_temperature& of_scores) {
        return along(name, 1, 16, 0.125, [=](double t) { return of_scores.at(t); });
    };
    return {.title = "τ: factor on scores over t",
            .x = axis_of_t(),
            .y = {"", {{1, "1"}, {1.2, "1.2"}, {1.4, "1.4"}, {1.6, "1.6"}, {1.8, "1.8"}}},
            .curves = {curve_of("log", cordage::log_scaling_temperature(pictured_model.original_length)),
                       curve_of("YaRN", cordage::yarn_temperature()),
                       curve_of("power 2", {cordage::log_scaling_temperature(pictured_model.original_length).slope, 2}),
                       curve_of("power 0", {0.1, 0})}};
}

panel attention_factors() {
    const auto curve_of = [](const std::string& name, const cordage::any_policy& policy) {
        return along(name, 1, 16, 0.125, [=](double t) { return policy.attention_factor(pictured_model, t); });
    };
    using namespace cordage;
    const score_temperature log_scaled = log_scaling_temperature(pictured_model.original_length);
    return {.title = "m: factor on cos and sin",
            .x = axis_of_t(),
            .y = {"", {{1, "1"}, {1.1, "1.1"}, {1.2, "1.2"}, {1.3, "1.3"}, {1.4, "1.4"}, {1.5, "1.5"}}},
            .curves = {curve_of("by parts, log", tempered{by_parts{}, log_scaled}), curve_of("yarn", yarn{}),
                       curve_of("yarn, log", tempered{yarn{}, log_scaled})}};
}

}  // namespace

std::vector<picture> pictures_beside_the_rotation() {
    using namespace cordage;
    return {{"schedules",
             {schedules("t by length", {{"fixed", fixed{8}}, {"continuous", continuous{}}, {"dynamic", dynamic{2}}}),
              schedules("t by length, in steps", {{"nearest", nearest_upper_bound({1, 2, 4, 8, 16})},
                                                  {"rounded up", rounded_up{16}},
                                                  {"two regimes", two_regimes{2}}})}},
            {"xpos", {magnitudes_of_xpos()}},
            {"alibi", {biases_of_alibi()}},
            {"log_scaling", {scales_by_length()}},
            {"temperature", {score_temperatures(), attention_factors()}},
            {"query_temperature", {temperatures(), score_factors()}}};
}
