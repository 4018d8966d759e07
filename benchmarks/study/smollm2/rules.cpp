// SPDX-License-Identifier: MIT
// The rules and their settings.
#include "smollm2/rules.hpp"

#include <algorithm>

#include "cordage/clex/clex.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/clex/paper_field.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/tempered.hpp"
#include "cordage/scaling/yarn.hpp"
#include "row_names.hpp"

namespace demo {

using namespace cordage;

double rule::t_at(index_t context) const { return std::max(1.0, static_cast<double>(context) / reference); }

std::vector<rule> rules_of(const rope_config& model, index_t table_steps, index_t clex_steps) {
    const double length = model.original_length;
    // In a prototype the model was whole where a pair's wavelength is a sixteenth of its training length, not a
    // quarter.
    const by_parts ramp{4.0, 16.0};
    const score_temperature neutral{0.1, 0.0};
    const learned_table<unscaled> table(model, {static_cast<double>(table_context) / length});
    clex_options options;
    options.t_max = static_cast<double>(longest_context) / length;
    const clex<log_length_field<by_parts>> field(model, log_length_initial_weights(model, 1, 1), options, ramp);
    return {
        {row::no_scaling, job_of_rule::unscaled, unscaled{}, length},
        {row::linear, "pi", linear{}, length},
        {row::ntk_aware, "ntk", ntk_aware{}, length},
        {"YaRN", job_of_rule::yarn, yarn{}, length},
        {row::by_parts_4_16, job_of_rule::by_parts, ramp, length, false},
        {row::by_parts_1_32, "searched", by_parts{1.0, 32.0}, length / 2.0, false},
        {row::clex_all_n,
         job_of_rule::clex,
         tempered{field, neutral},
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

}  // namespace demo
