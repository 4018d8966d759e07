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
#include "report/formatted.hpp"
#include "row_names.hpp"
#include "search/grid.hpp"

namespace demo {
namespace {

using namespace cordage;

// A ramp of 1 to 32 rotations, as YaRN's, does not suit so short an L.
constexpr by_parts parts{0.5, 4.0};
constexpr yarn yarn_for_short_length{.beta_fast = 4.0, .beta_slow = 0.5, .truncate = false};

any_policy log_scaled(const settings& s, const any_policy& policy) {
    return tempered{policy, log_scaling_temperature(static_cast<double>(s.train_length))};
}

method closed(const std::string& name, const any_policy& policy) { return {.name = name, .reads = {policy}}; }

std::vector<method> closed_forms() {
    return {closed(row::no_scaling, unscaled{}), closed(row::linear, linear{}), closed(row::ntk_aware, ntk_aware{}),
            closed(row::by_parts, parts), closed("YaRN", yarn_for_short_length)};
}

method learned(const std::string& name, const any_policy& policy, const learned_t& t,
               own_numbers own = own_numbers::none) {
    return {.name = name, .reads = {.policy = policy, .own = own}, .learning = t};
}
method searched(const std::string& name, policy_search search) {
    return {.name = name, .reads = {parts}, .search = std::move(search)};
}

// A ramp that interpolates for a longer text than it reads, without a temperature.
template <class Ramp>
struct stretched {
    Ramp ramp;
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

// Of make_ramp(rotations_low, rotations_high, multiplier) and the temperature's slope.
template <class MakeRamp>
policy_search grid_of(const settings& s, const MakeRamp& make_ramp) {
    const auto make = [s, make_ramp](std::span<const double> point) -> any_policy {
        const auto [low, high, multiplier, slope] = by_parts_at(point);
        // A ramp of no width has no form.
        return tempered{make_ramp(low, std::max(high, 1.001 * low), multiplier), temperature_of(s, slope)};
    };
    const std::vector<axis> axes = by_parts_axes();
    return {axes.size(), make,
            [axes](const objective& loss, index_t budget) { return search_grid(loss, axes, budget); }};
}

template <class Field>
any_policy clex_over(const settings& s, const typename Field::prior_type& prior) {
    clex_options options;
    options.t_max = static_cast<double>(s.ratios.back());
    constexpr bool has_means = std::same_as<Field, log_length_field<typename Field::prior_type>>;
    const auto weights = has_means ? log_length_initial_weights : clex_initial_weights;
    return clex<Field>(s.rope(), weights(s.rope(), 1, s.seed), options, prior);
}

learned_t usual_t(const settings& s) { return {s.learning.t_learned, s.learning.t_learned}; }
// Every octave up to the longest window alike.
learned_t all_t(const settings& s) { return {1.0, static_cast<double>(s.ratios.back())}; }

// Evenly in ln t, the last at the longest window.
std::vector<double> even_knots(const settings& s, int count) {
    std::vector<double> knots;
    for (int k = 1; k <= count; ++k) {
        knots.push_back(std::pow(static_cast<double>(s.ratios.back()), static_cast<double>(k) / count));
    }
    return knots;
}
any_policy table_of(const settings& s, std::vector<double> knots) {
    return learned_table<by_parts>(s.rope(), std::move(knots), parts);
}
any_policy log_time(const settings& s) {
    clex_options options;
    options.t_max = static_cast<double>(s.ratios.back());
    return clex<log_length_field<by_parts>>(s.rope(), log_length_initial_weights(s.rope(), 1, s.seed), options, parts);
}

policy_search ramps(const settings& s) {
    return grid_of(s, [](double low, double high, double multiplier) {
        return stretched<by_parts>{{low, high}, multiplier};
    });
}
// Ramps with an offset of each pair, 0 at first.
policy_search tables_over_ramps(const settings& s) {
    return grid_of(s, [s](double low, double high, double multiplier) {
        return learned_table<stretched<by_parts>>(s.rope(), {s.learning.t_learned}, {{low, high}, multiplier});
    });
}

// Half of the budget for a ramp and a temperature, the rest for what learns over them.
method searched_then_learned(const std::string& name, const settings& s, policy_search search, own_numbers own) {
    method made = searched(name, std::move(search));
    made.learning = usual_t(s);
    made.reads.own = own;
    return made;
}

std::vector<method> searched_rows(const settings& s) {
    return {searched(row::by_parts_searched, ramps(s)),
            searched_then_learned(row::searched_then_by_head, s, ramps(s), own_numbers::temperature_of_head),
            searched_then_learned(row::searched_then_learned, s, tables_over_ramps(s), own_numbers::none),
            searched_then_learned(row::searched_then_by_layer, s, tables_over_ramps(s), own_numbers::all_of_layer)};
}

std::vector<method> learned_rows(const settings& s) {
    const any_policy table = table_of(s, {s.learning.t_learned});
    return {learned(row::learned_no_temperature, table, usual_t(s)),
            learned(row::learned, log_scaled(s, table), usual_t(s)),
            learned(row::learned_by_head, log_scaled(s, table), usual_t(s), own_numbers::temperature_of_head),
            learned(row::five_knots_all_t, log_scaled(s, table_of(s, even_knots(s, 5))), all_t(s)),
            learned(row::clex_log_time, log_scaled(s, log_time(s)), usual_t(s)),
            learned(row::clex_all_t, log_scaled(s, log_time(s)), all_t(s))};
}

// What labels add: rows whose loss is that of the tokens which can be looked up.
std::vector<method> rows_from_labels(const settings& s) {
    std::vector<method> rows = searched_rows(s);
    std::erase_if(rows, [](const method& m) { return m.name == row::searched_then_learned; });
    for (method& m : rows) {
        m.name += row::from_labels;
        m.scored = scored_tokens::copies_and_values;
    }
    return rows;
}

}  // namespace

cordage::any_policy method::policy_of(std::span<const double> found) const {
    const std::size_t searched = search ? search->numbers : 0;
    const any_policy start = search ? search->policy_at(found.first(searched)) : reads.policy;
    return learning ? start.with_parameters(found.subspan(searched)) : start;
}

std::string method::file_name() const { return file_name_of(name); }

std::string file_name_of(const std::string& name) {
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

std::string described(const settings& s, const method& how) {
    std::string text = described(s);
    if (how.learning) text += described(s, *how.learning);
    if (how.finds_numbers() && how.scored == scored_tokens::copies_and_values) text += " from copies and values";
    return text + described(s, how.reads);
}

std::vector<method> rows_of(const settings& s) {
    std::vector<method> rows = closed_forms();
    for (const method& m : closed_forms()) {
        rows.push_back(closed(m.name + " + log scaling", log_scaled(s, m.reads.policy)));
    }
    for (const auto& some : {searched_rows(s), learned_rows(s), rows_from_labels(s)}) {
        rows.insert(rows.end(), some.begin(), some.end());
    }
    return rows;
}

}  // namespace demo
