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
    const bool is_of_all_t = row == row::clex_all_t;  // the others learn at 8L
    const auto claimed = [&](const char* text, std::vector<expectation> parts) {
        return claim{which + text, row, row::by_parts_searched, std::move(parts)};
    };
    return {
        claimed(is_of_all_t ? " finds more values at 8L." : " finds more values at 8L, the length used for learning.",
                {more(match, 8)}),
        claimed(is_of_all_t ? " finds more values at 16L." : " finds more values at 16L, twice that length.",
                {more(match, 16)}),
        claimed(" has a lower loss of copied text at 8L and 16L.", {less(copy_loss, 8), less(copy_loss, 16)}),
        claimed(" finds as many values at 2L and 4L.", {no_fewer_matches(2), no_fewer_matches(4)}),
        claimed(" does not raise the loss of plain text at 8L and 16L.",
                {no_more_loss(plain_loss, 8), no_more_loss(plain_loss, 16)})};
}

claim_group of_the_goal() {
    claim_group made{"A learned basis and temperature compared with by parts, searched", {}};
    for (const auto& [which, row] : {std::pair("Learning by layer after a search", row::searched_then_by_layer),
                                     std::pair("Learning one basis after a search", row::searched_then_learned),
                                     std::pair("Learning by layer without a search", row::learned_by_layer),
                                     std::pair("Learning one basis without a search", row::learned),
                                     std::pair("Learning CLEX over all t", row::clex_all_t)}) {
        for (claim& c : against_searched(which, row)) made.claims.push_back(std::move(c));
    }
    made.claims.push_back(
        finds_more("Learning by layer finds more values at 8L and 16L from a searched ramp than from the ramp 0.5 … 4.",
                   row::searched_then_by_layer, row::learned_by_layer, {8, 16}));
    const std::string from_all = row::searched_then_by_layer_from_all;
    made.claims.push_back(
        finds_more("Learning by layer after a search, from the loss of all tokens, finds more values at 8L and 16L.",
                   from_all, row::by_parts_searched, {8, 16}));
    made.claims.push_back(
        {"Learning by layer after a search, from the loss of all tokens, does not raise the loss of plain text at 8L "
         "and 16L.",
         from_all,
         row::by_parts_searched,
         {no_more_loss(plain_loss, 8), no_more_loss(plain_loss, 16)}});
    made.claims.push_back(finds_more("A basis for each layer finds more values at 8L and 16L than one basis.",
                                     row::learned_by_layer, row::learned, {8, 16}));
    made.claims.push_back(
        finds_more("One basis with a temperature for each head finds more values at 8L and 16L than one basis.",
                   row::learned_by_head, row::learned, {8, 16}));
    return made;
}

claim_group of_the_ode() {
    return {
        "Is an ODE needed?",
        {finds_more("CLEX finds more values than a table at the t used for learning.", row::clex_log_time, row::learned,
                    {8}),
         finds_more("CLEX finds more values than a table at smaller t.", row::clex_log_time, row::learned, {2, 4}),
         finds_more("CLEX finds more values than a table at larger t.", row::clex_log_time, row::learned, {16}),
         finds_more("Learned over all t, CLEX finds more values than a table of five knots.", row::clex_all_t,
                    row::five_knots_all_t, {2, 4, 8, 16}),
         finds_more("Learned over all t, CLEX finds more values than a constant field, whose offset is linear in ln t.",
                    row::clex_all_t, "constant field + temperature, all t", {2, 4, 8, 16}),
         finds_more("Learned at 8L, CLEX finds more values than a constant field.", row::clex_log_time,
                    row::constant_field, {4, 8, 16})}};
}

claim_group of_one_solve() {
    return {"One ODE for all t compared with a table for each t",
            {{"CLEX learned over all t finds as many values at 4L as a table learned at 4L.",
              row::clex_all_t,
              row::learned_at_4,
              {no_fewer_matches(4)}},
             {"CLEX learned over all t finds as many values at 8L as a table learned at 8L.",
              row::clex_all_t,
              row::learned,
              {no_fewer_matches(8)}},
             {"CLEX learned over all t finds as many values at 16L as a table learned at 16L.",
              row::clex_all_t,
              row::learned_at_16,
              {no_fewer_matches(16)}},
             {"CLEX learned over all t finds as many values at 8L as CLEX learned at 8L.",
              row::clex_all_t,
              row::clex_log_time,
              {no_fewer_matches(8)}}}};
}

claim_group of_reach() {
    const auto half_at_16 = [](const char* text, const char* name) { return claim{text, name, "", {finds_half(16)}}; };
    return {"Lengths beyond the t used for learning",
            {{"Without scaling, a model finds less than half of the values from 4L on.",
              row::no_scaling,
              "",
              {finds_less_than_half(4), finds_less_than_half(8), finds_less_than_half(16)}},
             half_at_16("A table learned at 8L finds half of the values at 16L.", row::learned),
             half_at_16("A constant field learned at 8L finds half of the values at 16L.", row::constant_field),
             half_at_16("CLEX learned at 8L finds half of the values at 16L.", row::clex_log_time),
             half_at_16("By parts, searched at 8L, finds half of the values at 16L.", row::by_parts_searched),
             finds_more("At 16L, a table learned at 16L finds more values than one learned at 8L.", row::learned_at_16,
                        row::learned, {16}),
             finds_more("At 4L, a table learned at 4L finds more values than one learned at 8L.", row::learned_at_4,
                        row::learned, {4}),
             {"A table learned at 4L finds half of the values at 8L.", row::learned_at_4, "", {finds_half(8)}}}};
}

claim_group of_temperature() {
    const auto helps = [](const char* text, const std::string& name) {
        return finds_more(text, name + " + log scaling", name, {4, 8});
    };
    return {"Temperature",
            {helps("Log scaling helps by parts.", row::by_parts), helps("Log scaling helps YaRN.", "YaRN"),
             helps("Log scaling helps NTK-aware.", row::ntk_aware),
             helps("Log scaling helps a model without scaling.", row::no_scaling),
             finds_more("By parts finds more values with a learned temperature than with log scaling.",
                        row::by_parts_temperature, row::by_parts_log_scaled, {8, 16}),
             finds_more("A learned basis finds more values with log scaling than without a temperature.",
                        row::learned_log_scaled, row::learned_no_temperature, {8, 16}),
             finds_more("A learned basis finds more values with a learned temperature than with log scaling.",
                        row::learned, row::learned_log_scaled, {8, 16}),
             finds_more("A learned basis without a temperature finds more values than by parts with log scaling.",
                        row::learned_no_temperature, row::by_parts_log_scaled, {8, 16}),
             finds_more("CLEX finds more values with a learned temperature than without a temperature.",
                        row::clex_log_time, "CLEX in log time, no temperature", {8, 16}),
             finds_more("A temperature for each layer finds more values than one temperature.",
                        "learned basis + temperature, temperature by layer", row::learned, {8, 16}),
             finds_more("With a temperature for each layer, a basis for each layer finds more values than one basis.",
                        row::learned_by_layer, "learned basis + temperature, temperature by layer", {8, 16})}};
}

claim_group of_search() {
    const auto gradient_over = [](const char* text, const char* name) {
        return claim{text, row::learned, name, {more(match, 8), less(copy_loss, 8)}};
    };
    return {
        "Gradient descent and search, with the same number of token-forwards",
        {gradient_over(
             "Gradient descent finds a better basis and temperature if it starts from by parts than from no scaling.",
             "learned basis from no scaling + temperature"),
         finds_more("By parts, searched, finds more values than by parts with log scaling.", row::by_parts_searched,
                    row::by_parts_log_scaled, {8, 16}),
         finds_more("By parts, searched, finds more values than YaRN, searched.", row::by_parts_searched,
                    "YaRN, searched", {8, 16}),
         finds_more("Learning from the loss of copies and values finds more values than from the loss of all tokens.",
                    row::learned, "learned basis + temperature, from all tokens", {8, 16}),
         finds_more(
             "Learning from the loss of copies and values finds more values than from the loss of the last quarter.",
             row::learned, "learned basis + temperature, from the last quarter", {8, 16}),
         {"The loss of plain text is lower after learning from the loss of all tokens.",
          "learned basis + temperature, from all tokens",
          row::learned,
          {less(plain_loss, 8), less(plain_loss, 16)}}}};
}

claim_group of_fields() {
    const auto than = [](const char* text, const char* name) {
        return finds_more(text, row::clex_log_time, name, {8, 16});
    };
    return {"Fields and priors of CLEX",
            {than("Over by parts, CLEX in log time finds more values than CLEX with the paper's field.",
                  "CLEX, paper's field over by parts + temperature"),
             than("CLEX in log time finds more values over by parts than over NTK-aware.", row::clex_over_ntk),
             finds_more("CLEX with the paper's field finds more values over by parts than over NTK-aware.",
                        "CLEX, paper's field over by parts + temperature", "CLEX, paper's field over NTK + temperature",
                        {8, 16})}};
}

}  // namespace

std::vector<claim_group> study_claims() {
    return {of_the_goal(), of_the_ode(), of_one_solve(), of_reach(), of_temperature(), of_search(), of_fields()};
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
