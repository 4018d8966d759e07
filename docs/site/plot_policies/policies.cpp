// SPDX-License-Identifier: MIT
// The closed forms, as docs/methods shows them.
#include <cmath>
#include <cordage/scaling/by_parts.hpp>
#include <cordage/scaling/lerope.hpp>
#include <cordage/scaling/longrope.hpp>
#include <cordage/scaling/masked.hpp>
#include <cordage/scaling/power_laws.hpp>
#include <cordage/scaling/yarn.hpp>
#include <numbers>
#include <utility>

#include "../../../examples/own_methods/base_change_power.hpp"
#include "../../../examples/own_methods/dynamic_longrope.hpp"
#include "../../../examples/own_methods/dype.hpp"
#include "../../../examples/own_methods/resonance.hpp"
#include "../../../examples/own_methods/tabulated.hpp"
#include "alpha_panels.hpp"
#include "pictures.hpp"

namespace {

picture alpha_of(const std::string& name, const cordage::any_policy& policy, const alpha_range& range = {}) {
    return {name,
            {alpha_over_t(name + ": α over t", policy, range), alpha_over_pairs("and over the pairs", policy, range)}};
}

/// What there is to scale: how many tokens each pair needs for a turn.
picture wavelengths() {
    panel p{.title = "tokens for one turn",
            .x = {"pair", {{0, "0"}, {16, "16"}, {32, "32"}, {48, "48"}, {63, "63"}}},
            .y = {"", {{1, "1"}, {10, "10"}, {100, "100"}, {1e3, "1000"}, {1e4, "10⁴"}, {1e5, "10⁵"}}, true},
            .curves = {{"θ_i", {}}, {"trained", {}, true}}};
    for (int pair = 0; pair < 64; ++pair) {
        p.curves[0].points.emplace_back(pair, 2.0 * std::numbers::pi / pictured_model.inv_freq(pair));
        p.curves[1].points.emplace_back(pair, pictured_model.original_length);
    }
    return {"unscaled", {p}};
}

/// Factors in the shape of searched ones: small for fast pairs, up to 16 for slow ones.
std::vector<double> long_factors() {
    std::vector<double> factors(64);
    for (int pair = 0; double& factor : factors) factor = 1.0 + 15.0 / (1.0 + std::exp((40.0 - pair++) / 4.0));
    return factors;
}

/// A wave, for what LeRoPE would learn.
std::vector<double> wave() {
    std::vector<double> offsets(64);
    for (int pair = 0; double& offset : offsets) offset = 0.3 * (std::sin(pair++ / 5.0) - 1.0);
    return offsets;
}

/// alpha of by_parts at t = 1, 4, 16.
own::tabulated three_knots() {
    std::vector<double> alpha;
    for (const double t : {1.0, 4.0, 16.0}) {
        for (int pair = 0; pair < 64; ++pair) {
            alpha.push_back(std::exp(cordage::by_parts{}.log_alpha(pictured_model, pair, t)));
        }
    }
    return {{1, 4, 16}, alpha};
}

/// The closed forms side by side, on the same axes.
picture overview() {
    using namespace cordage;
    const std::vector<std::pair<std::string, any_policy>> all{
        {"linear (PI)", linear{}},
        {"ntk_aware", ntk_aware{}},
        {"base_change_power", own::base_change_power{}},
        {"yarn", yarn{}},
        {"by_parts (Llama 3)", by_parts{}},
        {"dynamic_longrope", own::dynamic_longrope{long_factors(), 16}},
        {"proportional{0.75} (p-RoPE)", proportional{0.75}},
        {"dype{1.0}", own::dype{1.0}},
        {"resonance over linear", own::resonance<linear>{}}};
    picture out{.name = "overview", .panels = {}, .columns = 3};
    for (const auto& [name, policy] : all) out.panels.push_back(alpha_over_pairs(name, policy, {.lowest = 1.0 / 64}));
    return out;
}

}  // namespace

std::vector<picture> pictures_of_policies() {
    using namespace cordage;
    std::vector<unsigned char> rotates(64, 1);
    for (std::size_t pair = 48; pair < 64; ++pair) rotates[pair] = 0;
    const alpha_range deep{.lowest = 1.0 / 1024};
    return {overview(),
            wavelengths(),
            alpha_of("linear", linear{}),
            alpha_of("ntk_aware", ntk_aware{}),
            {"base_change",
             {alpha_over_t("base_change: α over t", base_change{}, deep),
              alpha_over_t("base_change_power: α over t", own::base_change_power{}, deep)}},
            alpha_of("yarn", yarn{}),
            alpha_of("by_parts", by_parts{}),
            {"longrope",
             {alpha_over_t("longrope: α over t", longrope{std::vector<double>(64, 1.0), long_factors()}),
              alpha_over_t("dynamic_longrope: α over t", own::dynamic_longrope{long_factors(), 16})}},
            {"masked",
             {alpha_over_t("proportional{0.75}: α over t", proportional{0.75}),
              alpha_over_pairs("masked yarn: over the pairs", masked<yarn>{yarn{}, rotates})}},
            {"dype",
             {alpha_over_pairs("dype{1.0}: over the pairs", own::dype{1.0}),
              alpha_over_pairs("dype{0.3}: over the pairs", own::dype{0.3})}},
            alpha_of("resonance", own::resonance<linear>{}, {.lowest = 1.0 / 16, .steps_of_t = 256}),
            alpha_of("tabulated", three_knots()),
            alpha_of("lerope", lerope<yarn>{yarn{}, wave()}, {.lowest = 1.0 / 32})};
}
