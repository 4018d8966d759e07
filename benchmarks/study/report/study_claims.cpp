// SPDX-License-Identifier: MIT
// What is claimed, and which rows tell.
#include <algorithm>
#include <utility>

#include "report/claims.hpp"
#include "row_names.hpp"

namespace demo {
namespace {

using enum measure;

// What is called no cost: a hundredth of match, or of a nat a token.
constexpr double no_cost = 0.01;

expectation more(measure what, index_t ratio) { return {what, ratio, side::above}; }
expectation less(measure what, index_t ratio) { return {what, ratio, side::below}; }
expectation finds_half(index_t ratio) { return {match, ratio, side::above, 0.5}; }
expectation finds_less_than_half(index_t ratio) { return {match, ratio, side::below, 0.5}; }
expectation no_fewer_matches(index_t ratio) { return {match, ratio, side::above, -no_cost}; }
expectation no_more_loss(measure what, index_t ratio) { return {what, ratio, side::below, no_cost}; }

claim finds_more(const char* text, const std::string& row, const std::string& against, std::vector<index_t> ratios) {
    claim made{text, row, against, {}};
    for (const index_t ratio : ratios) made.parts.push_back(more(match, ratio));
    return made;
}

// The goal's claims about a row, begun by `which`.
std::vector<claim> against_searched(const std::string& which, const std::string& row) {
    const auto claimed = [&](const char* text, std::vector<expectation> parts) {
        return claim{which + text, row, row::by_parts_searched, std::move(parts)};
    };
    return {claimed(" finds more at 8L, where it learns.", {more(match, 8)}),
            claimed(" finds more at 16L, twice as far.", {more(match, 16)}),
            claimed(" continues copies better at 8L and 16L.", {less(copy_loss, 8), less(copy_loss, 16)}),
            claimed(" costs nothing inside L.",
                    {no_fewer_matches(1), no_more_loss(copy_loss, 1), no_more_loss(plain_loss, 1)}),
            claimed(" costs nothing at 2L and 4L.", {no_fewer_matches(2), no_fewer_matches(4)}),
            claimed(" costs other text nothing at 8L and 16L.",
                    {no_more_loss(plain_loss, 8), no_more_loss(plain_loss, 16)})};
}

claim_group of_the_goal() {
    claim_group made{"A learned basis and temperature against by parts chosen for the model", {}};
    for (const auto& [which, row] :
         {std::pair("Searched, then learned by layer, it", row::searched_then_by_layer),
          std::pair("Searched, then one for all layers, it", row::searched_then_learned),
          std::pair("Learned by layer it", row::learned_by_layer), std::pair("One for all layers", row::learned),
          std::pair("CLEX learned over all t", row::clex_all_t)}) {
        for (claim& c : against_searched(which, row)) made.claims.push_back(std::move(c));
    }
    made.claims.push_back(
        finds_more("Learned by layer it finds more at 8L and 16L after a search than from by parts{0.5, 4}.",
                   row::searched_then_by_layer, row::learned_by_layer, {8, 16}));
    const std::string from_all = row::searched_then_by_layer_from_all;
    made.claims.push_back(finds_more("Learned by layer after a search, from all tokens, it finds more at 8L and 16L.",
                                     from_all, row::by_parts_searched, {8, 16}));
    made.claims.push_back({"So learned, it costs other text nothing at 8L and 16L.",
                           from_all,
                           row::by_parts_searched,
                           {no_more_loss(plain_loss, 8), no_more_loss(plain_loss, 16)}});
    made.claims.push_back(finds_more("By layer it finds more at 8L and 16L than one for all layers.",
                                     row::learned_by_layer, row::learned, {8, 16}));
    made.claims.push_back(
        finds_more("It finds more at 4L and 8L than without a gate.", row::learned, row::learned_without_gate, {4, 8}));
    return made;
}

claim_group of_the_ode() {
    return {
        "Must it be an ODE?",
        {finds_more("At the t it learns at, CLEX finds more than a table.", row::clex_log_time, row::learned, {8}),
         finds_more("At smaller t CLEX finds more than a table.", row::clex_log_time, row::learned, {2, 4}),
         finds_more("Beyond the t it learns at, CLEX finds more than a table.", row::clex_log_time, row::learned, {16}),
         finds_more("Learned over all t, CLEX finds more than a table of five knots.", row::clex_all_t,
                    row::five_knots_all_t, {2, 4, 8, 16}),
         finds_more("Learned over all t, CLEX finds more than a constant field, log α linear in ln t.", row::clex_all_t,
                    "constant field + temperature, all t", {2, 4, 8, 16}),
         finds_more("Learned at 8L, CLEX finds more than a constant field.", row::clex_log_time, row::constant_field,
                    {4, 8, 16})}};
}

claim_group of_one_solve() {
    return {"One solve for all t against a table for each t",
            {{"CLEX learned over all t finds as much at 4L as a table learned at 4L.",
              row::clex_all_t,
              row::learned_at_4,
              {no_fewer_matches(4)}},
             {"CLEX learned over all t finds as much at 8L as a table learned at 8L.",
              row::clex_all_t,
              row::learned,
              {no_fewer_matches(8)}},
             {"CLEX learned over all t finds as much at 16L as a table learned at 16L.",
              row::clex_all_t,
              row::learned_at_16,
              {no_fewer_matches(16)}},
             {"CLEX learned over all t finds as much at 8L as CLEX learned at 8L.",
              row::clex_all_t,
              row::clex_log_time,
              {no_fewer_matches(8)}}}};
}

claim_group of_reach() {
    const auto half_at_16 = [](const char* text, const char* name) { return claim{text, name, "", {finds_half(16)}}; };
    return {"How far past the t they learn at",
            {half_at_16("A table learned at 8L finds half at 16L.", row::learned),
             half_at_16("A constant field learned at 8L finds half at 16L.", row::constant_field),
             half_at_16("CLEX learned at 8L finds half at 16L.", row::clex_log_time),
             half_at_16("By parts chosen at 8L finds half at 16L.", row::by_parts_searched),
             finds_more("A table learned at 16L finds more there than one learned at 8L.", row::learned_at_16,
                        row::learned, {16}),
             finds_more("A table learned at 4L finds more there than one learned at 8L.", row::learned_at_4,
                        row::learned, {4}),
             {"A table learned at 4L finds half at 8L.", row::learned_at_4, "", {finds_half(8)}}}};
}

claim_group of_temperature() {
    const auto helps = [](const char* text, const std::string& name) {
        return finds_more(text, name + " + log scaling", name, {4, 8});
    };
    return {"Temperature is half of the method",
            {helps("Log scaling helps by parts.", row::by_parts), helps("Log scaling helps YaRN.", "YaRN"),
             helps("Log scaling helps NTK-aware.", row::ntk_aware),
             helps("Log scaling helps a model without scaling.", row::no_scaling),
             finds_more("A learned temperature finds more than log scaling, over by parts.", row::by_parts_temperature,
                        row::by_parts_log_scaled, {8, 16}),
             finds_more("A learned basis finds more with log scaling than with no temperature.",
                        row::learned_log_scaled, row::learned_no_temperature, {8, 16}),
             finds_more("A learned basis finds more with a learned temperature than with log scaling.", row::learned,
                        row::learned_log_scaled, {8, 16}),
             finds_more("A learned basis alone is worth more than log scaling alone.", row::learned_no_temperature,
                        row::by_parts_log_scaled, {8, 16}),
             finds_more("CLEX finds more with a learned temperature than with none.", row::clex_log_time,
                        "CLEX in log time, no temperature", {8, 16}),
             finds_more("A temperature of each layer's own finds more than one for all.",
                        "learned basis + temperature, temperature by layer", row::learned, {8, 16}),
             finds_more("A temperature of each head's own finds more than one for all.",
                        "learned basis + temperature, temperature by head", row::learned, {8, 16}),
             finds_more("A basis of each layer's own finds more, with a temperature of each layer's own in both.",
                        row::learned_by_layer, "learned basis + temperature, temperature by layer", {8, 16})}};
}

claim_group of_search() {
    const auto gradient_over = [](const char* text, const char* name) {
        return claim{text, row::learned, name, {more(match, 8), less(copy_loss, 8)}};
    };
    return {"How the numbers are found, at equal token-forwards",
            {gradient_over("The gradient finds a better basis and temperature than CMA-ES.", row::by_cma_es),
             gradient_over("The gradient finds a better one than LongRoPE's evolution.", row::by_evolution),
             gradient_over("The gradient finds a better one from by parts than from no scaling.",
                           "learned basis from no scaling + temperature"),
             finds_more("A ramp, interpolation and temperature chosen for the model beat by parts + log scaling.",
                        row::by_parts_searched, row::by_parts_log_scaled, {8, 16}),
             finds_more("By parts so chosen finds more than YaRN so chosen.", row::by_parts_searched, "YaRN, searched",
                        {8, 16}),
             finds_more("Learning from copies and values finds more than from all tokens.", row::learned,
                        "learned basis + temperature, from all tokens", {8, 16}),
             finds_more("Learning from copies and values finds more than from the last quarter.", row::learned,
                        "learned basis + temperature, from the last quarter", {8, 16}),
             {"Learning from all tokens costs plain text less.",
              "learned basis + temperature, from all tokens",
              row::learned,
              {less(plain_loss, 8), less(plain_loss, 16)}}}};
}

claim_group of_fields() {
    const auto than = [](const char* text, const char* name) {
        return finds_more(text, row::clex_log_time, name, {8, 16});
    };
    return {"Which field",
            {than("CLEX in log time finds more than with the paper's field, both over by parts.",
                  "CLEX, paper's field over by parts + temperature"),
             than("CLEX in log time finds more over by parts than over NTK-aware.", row::clex_over_ntk),
             finds_more("With the paper's field by parts is the better prior, too.",
                        "CLEX, paper's field over by parts + temperature", "CLEX, paper's field over NTK + temperature",
                        {8, 16}),
             than("The gate that holds fast pairs helps.", "CLEX in log time without gate + temperature")}};
}

claim_group of_the_paper() {
    const std::string scaled = " + log scaling";
    const std::string untouched = "tuned at L: no scaling", clex = "tuned at L: CLEX, random positions",
                      ntk = "tuned at L: NTK-aware, random positions", clex_runs = "tuned at L: CLEX, two runs",
                      ntk_runs = "tuned at L: NTK-aware, two runs", pi_4 = "tuned at 4L: PI" + scaled,
                      ntk_4 = "tuned at 4L: NTK-aware" + scaled,
                      clex_4 = "tuned at 4L: CLEX, random positions" + scaled;
    return {
        "The CLEX paper",
        {{"Without scaling a model fails beyond its L.",
          row::no_scaling,
          "",
          {finds_less_than_half(4), finds_less_than_half(8), finds_less_than_half(16)}},
         {"Without scaling perplexity climbs with the length.",
          row::no_scaling,
          row::no_scaling,
          {{plain_loss, 4, side::above, 0.0, 1}, {plain_loss, 16, side::above, 0.0, 1}}},
         {"PI with weights tuned at 4L serves 4L, and not 16L.", pi_4, "", {finds_half(4), finds_less_than_half(16)}},
         {"NTK-aware with weights tuned at 4L serves 4L, and not 16L.",
          ntk_4,
          "",
          {finds_half(4), finds_less_than_half(16)}},
         {"CLEX with weights tuned at L reaches 4L.", clex + scaled, "", {finds_half(4)}},
         {"CLEX with weights tuned at L costs nothing inside L.",
          clex,
          untouched,
          {no_fewer_matches(1), no_more_loss(plain_loss, 1)}},
         {"CLEX with weights tuned at 4L reaches 16L.", clex_4, "", {finds_half(16)}},
         finds_more("CLEX with weights tuned at 4L finds more than PI at 16L.", clex_4, pi_4, {16}),
         finds_more("CLEX with weights tuned at 4L finds more than NTK-aware at 16L.", clex_4, ntk_4, {16}),
         finds_more("Continuous beats discrete: CLEX against NTK-aware at random t, the same random positions.", clex,
                    ntk, {4, 8, 16}),
         finds_more("Continuous beats discrete with two contiguous runs of positions.", clex_runs, ntk_runs,
                    {4, 8, 16}),
         finds_more("CLEX with the paper's positions finds more than with two contiguous runs.", clex, clex_runs,
                    {4, 8}),
         finds_more("Sampled positions help: CLEX with two runs against tuning without scaling or sampling.", clex_runs,
                    untouched, {4, 8}),
         finds_more("Random positions beat uniform ones.", clex, "tuned at L: CLEX, uniform positions", {4, 8}),
         {"Without ξ, the prior's drift, CLEX extrapolates as far.",
          "tuned at L: CLEX without drift",
          clex,
          {no_fewer_matches(4), no_fewer_matches(8)}},
         {"A wider field, λ = 4, changes nothing.",
          "tuned at L: CLEX, lambda 4",
          clex,
          {no_fewer_matches(4),
           {match, 4, side::below, no_cost},
           no_fewer_matches(8),
           {match, 8, side::below, no_cost}}},
         finds_more("Log scaling helps CLEX with weights tuned at L.", clex + scaled, clex, {8, 16}),
         finds_more("CLEX with weights tuned at L finds more than RandomPos.", clex + scaled,
                    "tuned at L: RandomPos" + scaled, {4, 8}),
         finds_more("CLEX with weights tuned at L finds more than ALiBi.", clex + scaled, "tuned at L: ALiBi" + scaled,
                    {4, 8}),
         {"Perplexity falls as the text grows (weights tuned at 4L, plain text).",
          clex_4,
          clex_4,
          {{plain_loss, 4, side::below, 0.0, 1}, {plain_loss, 8, side::below, 0.0, 1}}},
         {"Perplexity falls as the text grows (frozen weights, a learned basis and temperature).",
          row::learned,
          row::learned,
          {{plain_loss, 4, side::below, 0.0, 1}, {plain_loss, 8, side::below, 0.0, 1}}},
         {"With weights tuned at 4L CLEX finds more at 16L than by parts.",
          clex_4,
          "tuned at 4L: by parts" + scaled,
          {more(match, 16)}},
         {"With weights tuned at L, by parts over two runs finds less at 8L than a basis learned over frozen weights.",
          "tuned at L: by parts, two runs" + scaled,
          row::learned,
          {less(match, 8)}}}};
}

}  // namespace

std::vector<claim_group> study_claims() {
    return {of_the_goal(),    of_the_ode(), of_one_solve(), of_reach(),
            of_temperature(), of_search(),  of_fields(),    of_the_paper()};
}

std::vector<claim_group> claims_about(const std::vector<std::string>& rows) {
    const auto is_made = [&](const std::string& row) {
        return row.empty() || std::ranges::find(rows, row) != rows.end();
    };
    std::vector<claim_group> groups = study_claims();
    for (claim_group& group : groups) {
        std::erase_if(group.claims, [&](const claim& c) { return !is_made(c.row) || !is_made(c.against); });
    }
    return groups;
}

}  // namespace demo
