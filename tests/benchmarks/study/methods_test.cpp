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
    for (const std::string& preset : preset_names()) {
        const std::vector<method> rows = rows_of(settings_of(preset));
        std::set<std::string> names, files;
        for (const method& how : rows) {
            names.insert(how.name);
            files.insert(how.file_name());
        }
        CHECK(names.size() == rows.size());
        CHECK(files.size() >= rows.size());
    }
}

TEST_CASE("study/methods: presets are experiments of their own") {
    std::set<std::string> lines;
    for (const std::string& preset : preset_names()) {
        settings of_model = settings_of(preset);
        of_model.seed = of_model.first_seed;
        lines.insert(described(of_model));
    }
    CHECK(lines.size() == preset_names().size());
    CHECK_THROWS_WITH_AS(settings_of("tiny"), doctest::Contains("preset 'tiny' must be one of small trial"),
                         std::runtime_error);
}

TEST_CASE("study/methods: an ablation has a few of the main rows") {
    const std::vector<method> few = rows_of(settings_of("wide"));
    CHECK(few.size() == 10);
    for (const method& how : few) CHECK(how.is_main);
}

TEST_CASE("study/methods: what learns has numbers to learn") {
    const settings s = settings_of("small");
    for (const method& how : study_methods(s)) {
        CAPTURE(how.name);
        if (!how.learning || how.search) continue;
        CHECK(first_numbers(s, how.reads).size() > (how.learning->learns_temperature ? 0U : 2U));
        CHECK(how.learning->t_most <= static_cast<double>(s.ratios.back()));
    }
}

TEST_CASE("study/methods: a search before learning spends half of the budget, and what it chooses has offsets of 0") {
    const settings s = settings_of("small");
    const std::vector<method> rows = study_methods(s);
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

TEST_CASE("study/methods: in every preset half of the budget pays for the grid of a search") {
    index_t points = 1;
    for (const axis& a : by_parts_axes()) points *= static_cast<index_t>(a.values.size());
    for (const std::string& preset : preset_names()) {
        CAPTURE(preset);
        const settings s = settings_of(preset);
        CHECK(s.budget() / 2 >= points * s.learning.searched_windows * s.learned_length());
    }
}

TEST_CASE("study/methods: a row that differs in how it learns is an experiment of its own") {
    const settings s = settings_of("small");
    const std::vector<method> rows = study_methods(s);
    const auto line = [&](const char* name) { return described(s, find(rows, name)); };
    CHECK(line("learned basis + temperature") == described(s));
    CHECK(line("learned basis + temperature, all t") == described(s) + " t 1,16");
    CHECK(line("CLEX in log time + temperature, all t") == described(s) + " t 1,16");
    CHECK(line("CLEX, paper's field over by parts + temperature") == described(s) + " rate 1e-05");
}

TEST_CASE("study/methods: five knots are even in ln t and end at the longest window") {
    const settings s = settings_of("small");
    const std::vector<method> rows = study_methods(s);
    const method& five = find(rows, "learned basis of five knots + temperature, all t");
    CHECK(std::ssize(first_numbers(s, five.reads)) == 5 * s.rope().pairs() + 2);
}
