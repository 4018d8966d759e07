// SPDX-License-Identifier: MIT
#include "methods.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cordage/clex/clex.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "search/grid.hpp"
#include "ungated_field.hpp"
#include "ungated_table.hpp"

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
            if (how.tuning) files.insert("weights_" + file_name_of(how.tuning->name));
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
    CHECK(few.size() == 9);
    for (const method& how : few) CHECK(how.is_main);
}

TEST_CASE("study/methods: weights are tuned or numbers are found, and what learns has numbers to learn") {
    const settings s = settings_of("small");
    for (const method& how : study_methods(s)) {
        CAPTURE(how.name);
        CHECK(!(how.tuning && (how.learning || how.search)));
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
    CHECK(line("tuned at L: CLEX, two runs") != line("tuned at L: CLEX, two runs + log scaling"));
}

TEST_CASE("study/methods: five knots are even in ln t and end at the longest window") {
    const settings s = settings_of("small");
    const std::vector<method> rows = study_methods(s);
    const method& five = find(rows, "learned basis of five knots + temperature, all t");
    CHECK(std::ssize(first_numbers(s, five.reads)) == 5 * s.rope().pairs() + 2);
}

TEST_CASE("study/methods: RandomPos draws from the whole range whatever t' is, the paper's CLEX from t' L") {
    const settings s = settings_of("small");
    const std::vector<method> rows = study_methods(s);
    const auto last = [&](const char* name, double t) {
        generator draw = stream(1, 1);
        double most = 0.0;
        for (int i = 0; i < 20; ++i) {
            most = std::max(most, find(rows, name).tuning->positions(draw, {128, 128.0, t}).back());
        }
        return most;
    };
    CHECK(last("tuned at L: RandomPos", 2.0) > 1900.0);
    for (const char* name : {"tuned at L: CLEX, random positions", "tuned at L: CLEX, two runs"}) {
        CHECK(last(name, 2.0) <= 256.0);
        CHECK(last(name, 16.0) > 1500.0);
    }
}

TEST_CASE("study/ungated_field: the prior at zero weights, and gradients of finite differences") {
    const cordage::rope_config config{16, 16, 10000.0, 128.0};
    const cordage::by_parts prior{0.5, 4.0};
    const cordage::clex<ungated_field<cordage::by_parts>> start(config, cordage::clex_initial_weights(config, 1, 7),
                                                                {.t_max = 16.0}, prior);
    std::vector<double> alpha(8);
    start.log_alpha(config, 8.0, alpha);
    for (index_t i = 0; i < 8; ++i) {
        CHECK(alpha[static_cast<std::size_t>(i)] == doctest::Approx(prior.log_alpha(config, i, 8.0)).epsilon(1e-8));
    }

    std::vector<double> numbers = start.parameters();
    for (std::size_t i = numbers.size() / 2; i < numbers.size(); ++i)
        numbers[i] = 0.02 * std::sin(static_cast<double>(i));
    const auto moved = start.with_parameters(numbers);
    const std::vector<double> weights{1.0, -0.5, 0.25, 2.0, -1.0, 0.5, 1.5, -2.0};
    const auto sum = [&](const auto& policy) {
        policy.log_alpha(config, 8.0, alpha);
        double total = 0.0;
        for (std::size_t i = 0; i < alpha.size(); ++i) total += weights[i] * alpha[i];
        return total;
    };
    std::vector<double> grad(numbers.size());
    moved.log_alpha_vjp(config, 8.0, weights, grad);
    for (const std::size_t i : {std::size_t{3}, numbers.size() / 2 + 5, numbers.size() - 1}) {
        constexpr double step = 1e-5;
        const auto at = [&](double shift) {
            std::vector<double> shifted = numbers;
            shifted[i] += shift;
            return sum(start.with_parameters(shifted));
        };
        CHECK(grad[i] == doctest::Approx((at(step) - at(-step)) / (2.0 * step)).epsilon(1e-5));
    }
    // Fast pairs move as freely as slow ones, which the gate would forbid.
    const cordage::clex<cordage::log_length_field<cordage::by_parts>> gated(config, moved.weights(), {.t_max = 16.0},
                                                                            prior);
    std::vector<double> held(8);
    moved.log_alpha(config, 8.0, alpha);
    gated.log_alpha(config, 8.0, held);
    CHECK(std::fabs(alpha[0]) > 20.0 * std::fabs(held[0]));
}

TEST_CASE("study/ungated_table: its numbers are log alpha's, with their gradient, where the library's are gated") {
    const cordage::rope_config config{8, 8, 10000.0, 99.0};
    const ungated_table<cordage::unscaled> start(config, {2.0, 8.0});
    const std::vector<double> numbers{0.1, 0.2, -0.3, 0.4, -0.1, 0.3, 0.2, 0.8};
    const auto table = start.with_parameters(numbers);
    const std::vector<double> kept = table.parameters();
    for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(kept[i] == doctest::Approx(numbers[i]).epsilon(1e-14));
    std::vector<double> grad(8);
    table.log_alpha_vjp(config, 8.0, std::vector<double>{1.0, 2.0, 3.0, 4.0}, grad);
    for (index_t pair = 0; pair < 4; ++pair) {
        const auto i = static_cast<std::size_t>(pair);
        CHECK(table.log_alpha(config, pair, 8.0) == doctest::Approx(numbers[4 + i]).epsilon(1e-14));
        CHECK(grad[4 + i] == doctest::Approx(static_cast<double>(pair + 1)).epsilon(1e-14));
    }
    const auto gated = cordage::learned_table<cordage::unscaled>(config, {2.0, 8.0}).with_parameters(numbers);
    CHECK(gated.log_alpha(config, 0, 8.0) == doctest::Approx(0.01 * numbers[4]));
}
