// SPDX-License-Identifier: MIT
#include "methods.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "search/grid.hpp"

using namespace demo;

namespace {

const method& find(const std::vector<method>& rows, const std::string& name) {
    const auto found = std::ranges::find(rows, name, &method::name);
    REQUIRE_MESSAGE(found != rows.end(), name);
    return *found;
}

}  // namespace

TEST_CASE("study/methods: rows and their files have names of their own") {
    const std::vector<method> rows = rows_of(settings_of("small"));
    std::set<std::string> names, files;
    for (const method& how : rows) {
        names.insert(how.name);
        files.insert(how.file_name());
    }
    CHECK(names.size() == rows.size());
    CHECK(files.size() == rows.size());
}

TEST_CASE("study/methods: the trial is an experiment of its own, and there is no other preset") {
    CHECK(described(settings_of("small")) != described(settings_of("trial")));
    CHECK_THROWS_WITH_AS(settings_of("tiny"), "demo: preset 'tiny' must be small or trial", std::runtime_error);
}

TEST_CASE("study/methods: what learns has numbers to learn, at t that windows have") {
    const settings s = settings_of("small");
    for (const method& how : rows_of(s)) {
        CAPTURE(how.name);
        if (!how.learning) continue;
        CHECK((how.search || !first_numbers(s, how.reads).empty()));
        CHECK(how.learning->least >= 1.0);
        CHECK(how.learning->most <= static_cast<double>(s.ratios.back()));
    }
}

TEST_CASE("study/methods: rows from labels are rows without them whose loss is that of other tokens") {
    const settings s = settings_of("small");
    const std::vector<method> rows = rows_of(s);
    int found = 0;
    for (const method& how : rows) {
        const std::size_t end = how.name.find(", from copies and values");
        CHECK((how.scored == scored_tokens::copies_and_values) == (end != std::string::npos));
        if (end == std::string::npos) continue;
        ++found;
        const method& without = find(rows, how.name.substr(0, end));
        CHECK(without.scored == scored_tokens::all);
        CHECK(described(s, how) != described(s, without));
    }
    CHECK(found == 3);
}

TEST_CASE("study/methods: a search before learning spends half of the budget, and what it chooses has offsets of 0") {
    const settings s = settings_of("small");
    const std::vector<method> rows = rows_of(s);
    const index_t a_trial = s.learning.searched_windows * s.learned_length();
    for (const char* name : {"by parts, searched, then learned", "by parts, searched, then learned by layer"}) {
        const method& how = find(rows, name);
        REQUIRE(how.learning);
        CHECK(how.search_budget(s) == s.budget() / 2);
        const auto loss = [](std::span<const double> point) { return std::fabs(point[0] - 0.5) + point[3]; };
        const search_result found = how.search->find({loss, a_trial}, how.search_budget(s));
        CHECK(found.token_forwards <= s.budget() / 2);
        std::vector<double> parameters = found.best().point;
        CHECK(parameters.size() == how.search->numbers);
        std::vector<double> numbers = how.search->policy_at(parameters).parameters();
        REQUIRE(std::ssize(numbers) == s.rope().pairs() + 2);
        CHECK(std::count(numbers.begin(), numbers.end(), 0.0) >= s.rope().pairs());
        numbers[0] = 0.25;
        parameters.insert(parameters.end(), numbers.begin(), numbers.end());
        CHECK(how.policy_of(parameters).parameters() == numbers);
    }
    CHECK(find(rows, "by parts, searched").search_budget(s) == s.budget());
}

TEST_CASE("study/methods: in the study and its trial half of the budget pays for the grid of a search") {
    index_t points = 1;
    for (const axis& a : by_parts_axes()) points *= static_cast<index_t>(a.values.size());
    for (const char* preset : {"small", "trial"}) {
        CAPTURE(preset);
        const settings s = settings_of(preset);
        CHECK(s.budget() / 2 >= points * s.learning.searched_windows * s.learned_length());
    }
}

TEST_CASE("study/methods: a row that differs in how it learns is an experiment of its own") {
    const settings s = settings_of("small");
    const std::vector<method> rows = rows_of(s);
    const auto line = [&](const char* name) { return described(s, find(rows, name)); };
    CHECK(line("learned basis + temperature") == described(s));
    CHECK(line("learned basis of five knots + temperature, all t") == described(s) + " t 1,16");
    CHECK(line("CLEX in log time + temperature, all t") == described(s) + " t 1,16");
    CHECK(line("by parts, searched, then temperature by head") == described(s) + " own 1");
}

TEST_CASE("study/methods: five knots are even in ln t and end at the longest window") {
    const settings s = settings_of("small");
    const std::vector<method> rows = rows_of(s);
    const method& five = find(rows, "learned basis of five knots + temperature, all t");
    CHECK(std::ssize(first_numbers(s, five.reads)) == 5 * s.rope().pairs() + 2);
}
