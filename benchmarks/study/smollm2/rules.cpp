// SPDX-License-Identifier: MIT
// The rules and their settings.
#include "smollm2/rules.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cordage/clex/clex.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/clex/paper_field.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/tempered.hpp"
#include "cordage/scaling/yarn.hpp"
#include "report/formatted.hpp"
#include "row_names.hpp"

namespace demo {

using namespace cordage;

namespace {

// In a prototype the model was whole where a pair's wavelength is a sixteenth of its training length, not a quarter.
constexpr by_parts ramp{4.0, 16.0};
constexpr score_temperature neutral{0.1, 0.0};

auto field_of(const rope_config& model, std::uint64_t seed) {
    clex_options options;
    options.t_max = static_cast<double>(longest_context) / model.original_length;
    return clex<log_length_field<by_parts>>(model, log_length_initial_weights(model, 1, seed), options, ramp);
}

}  // namespace

double rule::t_at(index_t context) const { return std::max(1.0, static_cast<double>(context) / reference); }

std::vector<rule> rules_of(const rope_config& model, index_t table_steps, index_t clex_steps) {
    const double length = model.original_length;
    const learned_table<unscaled> table(model, {static_cast<double>(table_context) / length});
    return {
        {row::no_scaling, job_of_rule::unscaled, unscaled{}, length},
        {row::linear, "pi", linear{}, length},
        {row::ntk_aware, "ntk", ntk_aware{}, length},
        {"YaRN", job_of_rule::yarn, yarn{}, length},
        {row::by_parts_4_16, job_of_rule::by_parts, ramp, length, false},
        {row::by_parts_1_32, "searched", by_parts{1.0, 32.0}, length / 2.0, false},
        {row::clex_all_n,
         job_of_rule::clex,
         tempered{field_of(model, 1), neutral},
         length,
         false,
         {clex_steps, 0.1, 0.05, static_cast<index_t>(length), longest_context}},
        {row::learned_from_none,
         job_of_rule::table,
         tempered{table, neutral},
         length,
         false,
         {table_steps, 0.3, 0.1, table_context, table_context}},
    };
}

std::vector<rule> study_rules(const rope_config& model, index_t steps) {
    const double length = model.original_length;
    const auto t_of = [&](index_t context) { return static_cast<double>(context) / length; };
    std::vector<rule> all{{row::no_scaling, job_of_rule::unscaled, unscaled{}, length},
                          {"YaRN", job_of_rule::yarn, yarn{}, length},
                          {row::by_parts_4_16, job_of_rule::by_parts, ramp, length, false}};
    for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}}) {
        const auto add = [&](const char* name, const std::string& job, const any_policy& start, index_t least) {
            const index_t most = least == made_for.front() ? least : made_for.back();
            all.push_back({name,
                           job + "_" + std::to_string(seed),
                           start,
                           length,
                           false,
                           {steps, 0.1, 0.05, least, most, seed, true}});
        };
        for (const index_t n : made_for) {
            const learned_table<by_parts> table(model, {t_of(n)}, ramp);
            add(row::table_for_n, std::string(job_of_rule::table) + "_" + std::to_string(n), tempered{table, neutral},
                n);
        }
        add(row::clex_all_n, job_of_rule::clex, tempered{field_of(model, seed), neutral}, static_cast<index_t>(length));
    }
    return all;
}

std::vector<rule> searched_points(const rope_config& model) {
    std::vector<rule> points;
    for (const by_parts shape : {by_parts{1.0, 32.0}, by_parts{4.0, 16.0}, by_parts{8.0, 32.0}}) {
        for (const double share : {1.0, std::numbers::sqrt2 / 2.0, 0.5}) {
            for (const double power : {0.0, 1.0}) {
                const double reference = std::round(share * model.original_length);
                points.push_back(
                    {formatted("by parts %.0f … %.0f, t = n / %.0f%s", shape.rotations_low, shape.rotations_high,
                               reference, power == 0.0 ? "" : ", scores × (1 + ln t / 10)"),
                     "search_" + std::to_string(points.size()), tempered{shape, score_temperature{0.1, power}},
                     reference, false});
            }
        }
    }
    return points;
}

}  // namespace demo
