// SPDX-License-Identifier: MIT
// Making the rows.
#include "methods.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "cordage/clex/clex.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/tempered.hpp"
#include "cordage/scaling/yarn.hpp"
#include "search/cma_es.hpp"
#include "search/grid.hpp"
#include "search/monotone_evolution.hpp"

namespace demo {
namespace {

using namespace cordage;

// A ramp of 1 to 32 rotations, as YaRN's, does not suit so short an L.
constexpr by_parts parts{0.5, 4.0};
constexpr yarn yarn_for_short_length{.beta_fast = 4.0, .beta_slow = 0.5, .truncate = false};

any_policy log_scaled(const settings& s, const any_policy& policy) {
    return tempered{policy, log_scaling_temperature(static_cast<double>(s.train_length))};
}

std::vector<method> closed_forms() {
    return {{"no scaling", unscaled{}},
            {"PI", linear{}},
            {"NTK-aware", ntk_aware{}},
            {"by parts", parts},
            {"YaRN", yarn_for_short_length}};
}

// By parts that interpolates for a longer text than it reads.
struct stretched_parts {
    by_parts ramp;
    double multiplier;

    double log_alpha(const rope_config& c, index_t pair, double t) const {
        return t > 1.0 ? ramp.log_alpha(c, pair, std::max(1.0, multiplier * t)) : 0.0;
    }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const {
        return multiplier * ramp.log_alpha_rate(c, pair, std::max(1.0, multiplier * t));
    }
};

// tau(t) = 1 + slope ln t / ln L: log scaling is slope 1.
score_temperature temperature_of(const settings& s, double slope) {
    constexpr double least = 1e-9;  // as good as none
    return {std::max(slope, least) / std::log(static_cast<double>(s.train_length)), 1.0};
}

// Runs a search over points, each of which makes a policy.
template <class MakePolicy, class Search>
policy_search searched(MakePolicy make, Search search) {
    return [make, search](const policy_loss& loss, index_t budget) {
        const objective what{[&](std::span<const double> point) { return loss.of(make(point)); }, loss.token_forwards};
        const search_result found = search(what, budget);
        return chosen_policy{make(found.best().point), found.best().point, found.token_forwards};
    };
}

policy_search grid_of_parts(const settings& s) {
    const auto make = [s](std::span<const double> point) -> any_policy {
        const auto [low, high, multiplier, slope] = by_parts_at(point);
        // A ramp of no width has no form.
        return tempered{stretched_parts{{low, std::max(high, 1.001 * low)}, multiplier}, temperature_of(s, slope)};
    };
    return searched(make,
                    [](const objective& what, index_t budget) { return search_grid(what, by_parts_axes(), budget); });
}

policy_search cma_of(const any_policy& start) {
    const auto make = [start](std::span<const double> point) { return start.with_parameters(point); };
    return searched(make, [start](const objective& what, index_t budget) {
        return search_cma_es(what, {start.parameters(), 0.1}, budget);
    });
}

// Of log(1 / alpha) at learning.t_learned and the temperature's slope, from closed forms.
policy_search evolution(const settings& s) {
    const double t = s.learning.t_learned;
    const auto make = [s, t](std::span<const double> point) -> any_policy {
        std::vector<double> log_alpha(point.begin(), point.end() - 1);
        for (double& number : log_alpha) number = -number;
        const learned_table<unscaled> table(s.rope(), {t});
        return tempered{table.with_parameters(log_alpha), temperature_of(s, point.back())};
    };
    evolution_options options{
        .starts = {}, .ordered = s.rope().pairs(), .lowest = 0.0, .highest = std::log(2.0 * t), .reach = 0.3};
    for (const any_policy& start : {any_policy(linear{}), any_policy(ntk_aware{}), any_policy(parts)}) {
        std::vector<double> point(static_cast<std::size_t>(s.rope().pairs()));
        start.log_alpha(s.rope(), t, point);
        for (double& number : point) number = std::max(0.0, -number);
        point.push_back(1.0);
        options.starts.push_back(point);
    }
    return searched(
        make, [options](const objective& what, index_t budget) { return search_monotone(what, options, budget); });
}

template <class Field>
any_policy clex_over(const settings& s, const typename Field::prior_type& prior) {
    clex_options options;
    options.t_max = static_cast<double>(s.ratios.back());
    return clex<Field>(s.rope(), clex_initial_weights(s.rope(), 1, s.seed), options, prior);
}

}  // namespace

std::string method::file_name() const {
    std::string made;
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            made.push_back(c);
        } else if (!made.empty() && made.back() != '_') {
            made.push_back('_');
        }
    }
    return made;
}

std::vector<method> demo_methods(const settings& s) {
    std::vector<method> rows = closed_forms();
    for (const method& m : closed_forms()) rows.push_back({m.name + " + log scaling", log_scaled(s, m.policy)});
    const learned_table<by_parts> table(s.rope(), {s.learning.t_learned}, parts);
    rows.push_back({"by parts + learned temperature", log_scaled(s, parts), true});
    rows.push_back({"learned basis + temperature", log_scaled(s, table), true});
    return rows;
}

std::vector<method> study_methods(const settings& s) {
    std::vector<method> rows = demo_methods(s);
    const double learned = s.learning.t_learned;
    const any_policy table = learned_table<by_parts>(s.rope(), {learned}, parts);
    rows.push_back({tuned_closed_form, parts, false, 0, grid_of_parts(s)});
    rows.push_back({"basis + temperature by CMA-ES", parts, false, 0, cma_of(log_scaled(s, table))});
    rows.push_back({"basis + temperature by evolution", parts, false, 0, evolution(s)});
    rows.push_back({"learned basis, log scaling", log_scaled(s, table), true, 2});
    rows.push_back({"learned basis, no temperature", table, true});
    // Linear in ln t up to the last knot.
    const learned_table<by_parts> constant_field(s.rope(), {static_cast<double>(2 * s.ratios.back())}, parts);
    rows.push_back({"constant field + temperature", log_scaled(s, constant_field), true});
    rows.push_back(
        {"CLEX in log time + temperature", log_scaled(s, clex_over<log_time_field<by_parts>>(s, parts)), true});
    rows.push_back(
        {"CLEX in log time over NTK + temperature", log_scaled(s, clex_over<log_time_field<ntk_aware>>(s, {})), true});
    return rows;
}

}  // namespace demo
