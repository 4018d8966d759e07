// SPDX-License-Identifier: MIT
// What is claimed, and which rows tell.
#include "report/claims.hpp"
#include "report/study_rows.hpp"

namespace demo {
namespace {

// What is called no cost: a hundredth of match, or of a nat a token.
constexpr double no_cost = 0.01;

expectation more(measure what, index_t ratio) { return {what, ratio, side::above}; }
expectation less(measure what, index_t ratio) { return {what, ratio, side::below}; }
expectation finds_half(index_t ratio) { return {measure::match, ratio, side::above, 0.5}; }
expectation finds_less_than_half(index_t ratio) { return {measure::match, ratio, side::below, 0.5}; }
expectation no_fewer_matches(index_t ratio) { return {measure::match, ratio, side::above, -no_cost}; }
expectation no_more_loss(measure what, index_t ratio) { return {what, ratio, side::below, no_cost}; }

claim_group of_the_goal() {
    using enum measure;
    const auto against_tuned = [](const char* text, std::vector<expectation> parts) {
        return claim{text, row::learned, row::by_parts_searched, std::move(parts)};
    };
    return {"A learned basis and temperature against by parts chosen for the model",
            {against_tuned("It finds more at 8L, where it learns.", {more(match, 8)}),
             against_tuned("It finds more at 16L, twice as far.", {more(match, 16)}),
             against_tuned("It continues copies better at 8L and 16L.", {less(copy_loss, 8), less(copy_loss, 16)}),
             against_tuned("It costs nothing inside L.",
                           {no_fewer_matches(1), no_more_loss(copy_loss, 1), no_more_loss(plain_loss, 1)}),
             against_tuned("It costs nothing at 2L and 4L.", {no_fewer_matches(2), no_fewer_matches(4)}),
             against_tuned("Other text costs no more at 8L and 16L.",
                           {no_more_loss(plain_loss, 8), no_more_loss(plain_loss, 16)})}};
}

claim_group of_the_ode() {
    using enum measure;
    return {
        "Must it be an ODE?",
        {{"At the t it learns at, CLEX finds more than a table.", row::clex_log_time, row::learned, {more(match, 8)}},
         {"At smaller t it finds more than a table.",
          row::clex_log_time,
          row::learned,
          {more(match, 2), more(match, 4)}},
         {"Beyond that t it finds more than a table.", row::clex_log_time, row::learned, {more(match, 16)}},
         {"CLEX finds more than a constant field, log α linear in ln t.",
          row::clex_log_time,
          row::constant_field,
          {more(match, 4), more(match, 8), more(match, 16)}},
         {"A constant field finds more beyond 8L than a table.", row::constant_field, row::learned, {more(match, 16)}},
         {"The prior matters: over by parts CLEX finds more than over NTK-aware.",
          row::clex_log_time,
          row::clex_over_ntk,
          {more(match, 8), more(match, 16)}}}};
}

claim_group of_reach() {
    const auto half_at_16 = [](const char* text, const char* name) { return claim{text, name, "", {finds_half(16)}}; };
    return {"How far past the t they learn at",
            {half_at_16("A table learned at 8L finds half at 16L.", row::learned),
             half_at_16("A constant field learned at 8L finds half at 16L.", row::constant_field),
             half_at_16("CLEX learned at 8L finds half at 16L.", row::clex_log_time),
             half_at_16("By parts chosen at 8L finds half at 16L.", row::by_parts_searched)}};
}

claim_group of_temperature() {
    using enum measure;
    const auto helps = [](const char* text, const std::string& name) {
        return claim{text, name + " + log scaling", name, {more(match, 4), more(match, 8)}};
    };
    return {"Temperature is half of the method",
            {helps("Log scaling helps by parts.", row::by_parts),
             helps("It helps YaRN.", "YaRN"),
             helps("It helps NTK-aware.", row::ntk_aware),
             helps("It helps a model without scaling.", row::no_scaling),
             {"A learned temperature finds more than log scaling, over by parts.",
              row::by_parts_temperature,
              row::by_parts_log_scaled,
              {more(match, 8), more(match, 16)}},
             {"A learned basis finds more with log scaling than with no temperature.",
              row::learned_log_scaled,
              row::learned_no_temperature,
              {more(match, 8), more(match, 16)}},
             {"It finds more with a learned temperature than with log scaling.",
              row::learned,
              row::learned_log_scaled,
              {more(match, 8), more(match, 16)}},
             {"A learned basis alone is worth more than log scaling alone.",
              row::learned_no_temperature,
              row::by_parts_log_scaled,
              {more(match, 8), more(match, 16)}}}};
}

claim_group of_search() {
    using enum measure;
    const auto gradient_over = [](const char* text, const char* name) {
        return claim{text, row::learned, name, {more(match, 8), less(copy_loss, 8)}};
    };
    return {"Gradient against search, at equal token-forwards",
            {gradient_over("The gradient finds a better basis and temperature than CMA-ES.", row::by_cma_es),
             gradient_over("It finds a better one than LongRoPE's evolution.", row::by_evolution),
             {"A ramp, interpolation and temperature chosen for the model beat by parts + log scaling.",
              row::by_parts_searched,
              row::by_parts_log_scaled,
              {more(match, 8), more(match, 16)}}}};
}

claim_group of_the_paper() {
    using enum measure;
    return {"The CLEX paper",
            {{"Without scaling a model fails beyond its L.",
              row::no_scaling,
              "",
              {finds_less_than_half(4), finds_less_than_half(8), finds_less_than_half(16)}},
             {"Its perplexity climbs with the length.",
              row::no_scaling,
              row::no_scaling,
              {{plain_loss, 4, side::above, 0.0, 1}, {plain_loss, 16, side::above, 0.0, 1}}},
             {"Over frozen weights PI finds less than half at 2L.", row::linear, "", {finds_less_than_half(2)}},
             {"Over frozen weights NTK-aware serves 2L, and not 8L.",
              row::ntk_aware,
              "",
              {finds_half(2), finds_less_than_half(8)}},
             {"Perplexity falls as the text grows (here over frozen weights, plain text).",
              row::learned,
              row::learned,
              {{plain_loss, 4, side::below, 0.0, 1}, {plain_loss, 8, side::below, 0.0, 1}}}}};
}

}  // namespace

std::vector<claim_group> study_claims() {
    return {of_the_goal(), of_the_ode(), of_reach(), of_temperature(), of_search(), of_the_paper()};
}

}  // namespace demo
