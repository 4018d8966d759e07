// SPDX-License-Identifier: MIT
#include "alpha_panels.hpp"

#include <cmath>

namespace {

std::vector<double> alphas(const cordage::any_policy& policy, double t) {
    std::vector<double> values(static_cast<std::size_t>(pictured_model.pairs()));
    cordage::log_alpha(policy, pictured_model, t, values);
    for (double& value : values) value = std::exp(value);
    return values;
}

axis axis_of_alpha(double lowest) {
    axis out{.title = "α", .ticks = {}, .logarithmic = true};
    for (double denominator = 1.0 / lowest; denominator > 1.0; denominator /= 2.0) {
        out.ticks.emplace_back(1.0 / denominator, "1/" + std::to_string(static_cast<int>(denominator)));
    }
    out.ticks.emplace_back(1.0, "1");
    out.last = 1.5;
    return out;
}

}  // namespace

axis axis_of_t() {
    return {.title = "t", .ticks = {{1, "1"}, {2, "2"}, {4, "4"}, {8, "8"}, {16, "16"}}, .logarithmic = true};
}

panel alpha_over_t(const std::string& title, const cordage::any_policy& policy, const alpha_range& range) {
    panel out{.title = title, .x = axis_of_t(), .y = axis_of_alpha(range.lowest), .curves = {}};
    for (const int pair : {0, 16, 32, 40, 63}) out.curves.push_back({"pair " + std::to_string(pair), {}});
    curve factor{"m(t)", {}, true};
    bool has_factor = false;
    for (int step = 0; step <= range.steps_of_t; ++step) {
        const double t = std::pow(16.0, static_cast<double>(step) / range.steps_of_t);
        const std::vector<double> values = alphas(policy, t);
        std::size_t i = 0;
        for (const std::size_t pair : {0u, 16u, 32u, 40u, 63u}) out.curves[i++].points.emplace_back(t, values[pair]);
        factor.points.emplace_back(t, policy.attention_factor(pictured_model, t));
        has_factor = has_factor || factor.points.back().second != 1.0;
    }
    if (has_factor) out.curves.push_back(factor);
    return out;
}

panel alpha_over_pairs(const std::string& title, const cordage::any_policy& policy, const alpha_range& range) {
    panel out{.title = title, .x = {"pair", {}}, .y = axis_of_alpha(range.lowest), .curves = {}};
    for (const int pair : {0, 16, 32, 48, 63}) out.x.ticks.emplace_back(pair, std::to_string(pair));
    for (const int t : {2, 4, 8, 16}) {
        curve line{"t = " + std::to_string(t), {}};
        const std::vector<double> values = alphas(policy, t);
        for (std::size_t pair = 0; pair < values.size(); ++pair) {
            line.points.emplace_back(static_cast<double>(pair), values[pair]);
        }
        out.curves.push_back(line);
    }
    return out;
}
