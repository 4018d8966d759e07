// SPDX-License-Identifier: MIT
// Making the rows. Those of the first models alone tell how, and against what else, the main ones hold.
#include "methods.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <concepts>

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

method learned(const std::string& name, const any_policy& policy, const number_learning& by,
               own_numbers own = own_numbers::none) {
    return {.name = name, .reads = {.policy = policy, .own = own}, .learning = by};
}
method searched_row(const std::string& name, policy_search search) {
    return {.name = name, .reads = {parts}, .search = std::move(search)};
}
method of_few_models(method how) {
    how.is_main = false;
    return how;
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

// Of every octave up to the longest window alike.
number_learning over_all_t(const settings& s) {
    number_learning by = usual_learning(s);
    by.t_least = 1.0;
    by.t_most = static_cast<double>(s.ratios.back());
    return by;
}
number_learning always(const settings& s, double t) {
    number_learning by = usual_learning(s);
    by.t_least = by.t_most = t;
    return by;
}
number_learning from(const settings& s, learned_tokens which) {
    number_learning by = usual_learning(s);
    by.from = which;
    return by;
}
number_learning at_rate(const settings& s, double rate) {
    number_learning by = usual_learning(s);
    by.rate = rate;
    return by;
}
number_learning basis_alone(const settings& s) {
    number_learning by = usual_learning(s);
    by.learns_temperature = false;
    return by;
}

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
any_policy one_knot(const settings& s) { return table_of(s, {s.learning.t_learned}); }
// Linear in ln t up to its only knot.
any_policy constant_field(const settings& s) { return table_of(s, {static_cast<double>(2 * s.ratios.back())}); }
any_policy log_time(const settings& s) { return clex_over<log_length_field<by_parts>>(s, parts); }

void add_learned_by_layer(const settings& s, std::vector<method>& rows) {
    rows.push_back(
        learned(row::learned_by_layer, log_scaled(s, one_knot(s)), usual_learning(s), own_numbers::all_of_layer));
}

stretched<by_parts> stretched_parts(double low, double high, double multiplier) { return {{low, high}, multiplier}; }

// Half of the budget for a ramp and a temperature, the rest for what learns over them.
method searched_then_learned(const std::string& name, const settings& s, own_numbers own = own_numbers::none) {
    const auto table = [s](double low, double high, double multiplier) {
        return learned_table<stretched<by_parts>>(s.rope(), {s.learning.t_learned},
                                                  stretched_parts(low, high, multiplier));
    };
    method made = searched_row(name, grid_of(s, table));
    made.learning = usual_learning(s);
    made.reads.own = own;
    return made;
}

void add_searches(const settings& s, std::vector<method>& rows) {
    const auto yarn_of = [](double low, double high, double multiplier) {
        return stretched<yarn>{{.beta_fast = high, .beta_slow = low, .truncate = false}, multiplier};
    };
    rows.push_back(searched_row("YaRN, searched", grid_of(s, yarn_of)));
    rows.push_back(searched_then_learned(row::searched_then_by_layer, s, own_numbers::all_of_layer));
}

void add_learned_at_one_t(const settings& s, std::vector<method>& rows) {
    const any_policy table = one_knot(s);
    const learned_table<unscaled> without_prior(s.rope(), {s.learning.t_learned});
    const auto longest = static_cast<double>(s.ratios.back());
    rows.push_back(of_few_models(learned(row::learned_log_scaled, log_scaled(s, table), basis_alone(s))));
    rows.push_back(of_few_models(learned(row::learned_no_temperature, table, usual_learning(s))));
    rows.push_back(of_few_models(
        learned("learned basis from no scaling + temperature", log_scaled(s, without_prior), usual_learning(s))));
    rows.push_back(of_few_models(learned(row::constant_field, log_scaled(s, constant_field(s)), usual_learning(s))));
    for (const double t : {4.0, longest}) {
        rows.push_back(of_few_models(learned(formatted("learned basis + temperature at t = %g", t),
                                             log_scaled(s, table_of(s, {t})), always(s, t))));
    }
}

void add_learned_over_t(const settings& s, std::vector<method>& rows) {
    const number_learning by = over_all_t(s);
    rows.push_back(of_few_models(learned("learned basis + temperature, all t", log_scaled(s, one_knot(s)), by)));
    rows.push_back(learned(row::five_knots_all_t, log_scaled(s, table_of(s, even_knots(s, 5))), by));
    rows.push_back(of_few_models(learned("constant field + temperature, all t", log_scaled(s, constant_field(s)), by)));
    rows.push_back(learned(row::clex_all_t, log_scaled(s, log_time(s)), by));
}

void add_fields(const settings& s, std::vector<method>& rows) {
    const number_learning usual = usual_learning(s), basis = basis_alone(s);
    const number_learning slow = at_rate(s, 1e-5);  // in t fields act over a longer interval
    const any_policy over_ntk = clex_over<log_length_field<ntk_aware>>(s, {}),
                     paper = clex_over<paper_field<by_parts>>(s, parts),
                     paper_over_ntk = clex_over<paper_field<ntk_aware>>(s, {});
    rows.push_back(learned(row::clex_log_time, log_scaled(s, log_time(s)), usual));
    rows.push_back(of_few_models(learned("CLEX in log time, log scaling", log_scaled(s, log_time(s)), basis)));
    rows.push_back(of_few_models(learned("CLEX in log time, no temperature", log_time(s), usual)));
    rows.push_back(of_few_models(learned(row::clex_over_ntk, log_scaled(s, over_ntk), usual)));
    rows.push_back(
        of_few_models(learned("CLEX, paper's field over by parts + temperature", log_scaled(s, paper), slow)));
    rows.push_back(
        of_few_models(learned("CLEX, paper's field over NTK + temperature", log_scaled(s, paper_over_ntk), slow)));
}

void add_objectives(const settings& s, std::vector<method>& rows) {
    const any_policy policy = log_scaled(s, one_knot(s));
    rows.push_back(
        of_few_models(learned("learned basis + temperature, from all tokens", policy, from(s, learned_tokens::all))));
    rows.push_back(of_few_models(
        learned("learned basis + temperature, from the last quarter", policy, from(s, learned_tokens::last_quarter))));
    method by_layer = searched_then_learned(row::searched_then_by_layer_from_all, s, own_numbers::all_of_layer);
    by_layer.learning->from = learned_tokens::all;
    rows.push_back(by_layer);
}

void add_own_numbers(const settings& s, std::vector<method>& rows) {
    const auto row_of = [&](const char* name, own_numbers own) {
        return learned(name, log_scaled(s, one_knot(s)), usual_learning(s), own);
    };
    rows.push_back(
        of_few_models(row_of("learned basis + temperature, temperature by layer", own_numbers::temperature_of_layer)));
    rows.push_back(row_of(row::learned_by_head, own_numbers::temperature_of_head));
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
    return text + described(s, how.reads);
}

namespace {

// Closed forms, and what is learned or searched in the usual way.
std::vector<method> usual_methods(const settings& s) {
    std::vector<method> rows = closed_forms();
    for (const method& m : closed_forms()) {
        rows.push_back(closed(m.name + " + log scaling", log_scaled(s, m.reads.policy)));
    }
    rows.push_back(learned(row::by_parts_temperature, log_scaled(s, parts), usual_learning(s)));
    rows.push_back(learned(row::learned, log_scaled(s, one_knot(s)), usual_learning(s)));
    rows.push_back(searched_row(row::by_parts_searched, grid_of(s, stretched_parts)));
    rows.push_back(searched_then_learned(row::searched_then_learned, s));
    return rows;
}

}  // namespace

std::vector<method> study_methods(const settings& s) {
    std::vector<method> rows = usual_methods(s);
    for (auto add : {add_learned_by_layer, add_searches, add_learned_at_one_t, add_learned_over_t, add_fields,
                     add_objectives, add_own_numbers}) {
        add(s, rows);
    }
    return rows;
}

std::vector<method> rows_of(const settings& s) {
    std::vector<method> rows = study_methods(s);
    if (s.rows == row_set::few) {
        const std::vector<std::string> few{row::no_scaling,
                                           row::by_parts,
                                           row::by_parts_log_scaled,
                                           row::by_parts_searched,
                                           row::searched_then_by_layer,
                                           row::learned,
                                           row::learned_by_layer,
                                           row::learned_by_head,
                                           row::clex_log_time,
                                           row::clex_all_t};
        std::erase_if(rows, [&](const method& how) { return std::ranges::find(few, how.name) == few.end(); });
    }
    return rows;
}

}  // namespace demo
