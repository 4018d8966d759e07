// SPDX-License-Identifier: MIT
// What is claimed, and which rows tell.
#include <string>
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

claim finds_more(const std::string& text, const std::string& row, const std::string& against,
                 std::vector<index_t> ratios) {
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
    claim_group made{"A learned basis or temperature compared with by parts, searched", {}};
    for (const auto& [which, row] :
         {std::pair("Learning a temperature for each head after a search", row::searched_then_by_head),
          std::pair("Learning one basis after a search", row::searched_then_learned),
          std::pair("Learning a basis for each layer after a search", row::searched_then_by_layer),
          std::pair("Learning one basis without a search", row::learned),
          std::pair("Learning CLEX over all t", row::clex_all_t)}) {
        for (claim& c : against_searched(which, row)) made.claims.push_back(std::move(c));
    }
    made.claims.push_back(
        finds_more("After a search, a basis for each layer finds more values than a temperature for each head.",
                   row::searched_then_by_layer, row::searched_then_by_head, {8, 16}));
    return made;
}

claim_group of_doing_nothing() {
    claim_group made{"Plain text, compared with no scaling", {}};
    for (const char* row : {row::by_parts, row::by_parts_log_scaled, row::by_parts_searched, row::searched_then_by_head,
                            row::searched_then_learned, row::searched_then_by_layer}) {
        made.claims.push_back({std::string("The loss of plain text is not above that of no scaling: ") + row + ".",
                               row,
                               row::no_scaling,
                               {no_more_loss(plain_loss, 8), no_more_loss(plain_loss, 16)}});
    }
    return made;
}

claim_group of_labels() {
    claim_group made{"What labels add: the loss of copies and values alone", {}};
    for (const char* row : {row::by_parts_searched, row::searched_then_by_head, row::searched_then_by_layer}) {
        const std::string from_labels = std::string(row) + row::from_labels;
        made.claims.push_back(
            finds_more("With labels it finds more values: " + std::string(row) + ".", from_labels, row, {8, 16}));
        made.claims.push_back({"With labels it does not raise the loss of plain text: " + std::string(row) + ".",
                               from_labels,
                               row,
                               {no_more_loss(plain_loss, 8), no_more_loss(plain_loss, 16)}});
    }
    return made;
}

claim_group of_the_ode() {
    return {"Is an ODE needed?",
            {finds_more("CLEX finds more values than a table at the t used for learning.", row::clex_log_time,
                        row::learned, {8}),
             finds_more("CLEX finds more values than a table at smaller t.", row::clex_log_time, row::learned, {2, 4}),
             finds_more("CLEX finds more values than a table at larger t.", row::clex_log_time, row::learned, {16}),
             finds_more("Learned over all t, CLEX finds more values than a table of five knots.", row::clex_all_t,
                        row::five_knots_all_t, {2, 4, 8, 16}),
             {"CLEX learned over all t finds as many values at 8L as a table learned at 8L.",
              row::clex_all_t,
              row::learned,
              {no_fewer_matches(8)}},
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
             half_at_16("CLEX learned at 8L finds half of the values at 16L.", row::clex_log_time),
             half_at_16("By parts, searched at 8L, finds half of the values at 16L.", row::by_parts_searched)}};
}

claim_group of_temperature() {
    const auto helps = [](const char* text, const std::string& name) {
        return finds_more(text, name + " + log scaling", name, {4, 8});
    };
    return {"Temperature",
            {helps("Log scaling helps by parts.", row::by_parts), helps("Log scaling helps YaRN.", "YaRN"),
             helps("Log scaling helps NTK-aware.", row::ntk_aware),
             helps("Log scaling helps a model without scaling.", row::no_scaling),
             finds_more("By parts, searched, finds more values than by parts with log scaling.", row::by_parts_searched,
                        row::by_parts_log_scaled, {8, 16}),
             finds_more("A learned basis finds more values with a learned temperature than without a temperature.",
                        row::learned, row::learned_no_temperature, {8, 16}),
             finds_more("A learned basis without a temperature finds more values than by parts with log scaling.",
                        row::learned_no_temperature, row::by_parts_log_scaled, {8, 16}),
             finds_more("One learned basis finds more values with a temperature for each head than with one.",
                        row::learned_by_head, row::learned, {8, 16})}};
}

}  // namespace

std::vector<claim_group> study_claims() {
    return {of_the_goal(), of_doing_nothing(), of_labels(), of_the_ode(), of_reach(), of_temperature()};
}

}  // namespace demo
