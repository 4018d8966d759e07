// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "cordage/core/error.hpp"
#include "cordage/positions/sampler.hpp"
#include "statistics/bootstrap.hpp"
#include "statistics/results.hpp"
#include "statistics/tests.hpp"

using namespace demo;
using doctest::Approx;

namespace {

sample sample_of(const std::vector<std::vector<double>>& values) {
    sample s(static_cast<index_t>(values.size()), static_cast<index_t>(values[0].size()));
    for (index_t m = 0; m < s.models; ++m) {
        for (index_t w = 0; w < s.windows; ++w) {
            s.at(m, w) = {values[static_cast<std::size_t>(m)][static_cast<std::size_t>(w)], 1.0};
        }
    }
    return s;
}

double normal(std::mt19937_64& generator) {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += cordage::draw_real(generator, 0.0, 1.0);
    return sum;
}

// Standard deviations of what models, windows and single questions add to a mean of 0.
struct spread {
    double models, windows, questions;
};

sample simulated(std::mt19937_64& generator, index_t models, index_t windows, const spread& s) {
    sample made(models, windows);
    std::vector<double> of_window;
    for (index_t w = 0; w < windows; ++w) of_window.push_back(s.windows * normal(generator));
    for (index_t m = 0; m < models; ++m) {
        const double of_model = s.models * normal(generator);
        for (index_t w = 0; w < windows; ++w) {
            made.at(m, w) = {of_model + of_window[static_cast<std::size_t>(w)] + s.questions * normal(generator), 1.0};
        }
    }
    return made;
}

// The share of 200 simulated experiments whose interval has the true mean, 0.
double coverage(index_t models, index_t windows, const spread& s) {
    constexpr int experiments = 200;
    std::mt19937_64 generator(7);
    int hits = 0;
    for (int i = 0; i < experiments; ++i) {
        const estimate e = estimated(simulated(generator, models, windows, s));
        if (e.low() <= 0.0 && e.high() >= 0.0) ++hits;
    }
    return static_cast<double>(hits) / experiments;
}

// A row of a model at lengths 128, 256 and 512, 3 windows, two questions each: match as given by length, copy loss 2.
row_result row_of(const std::string& name, std::uint64_t seed, const std::vector<std::vector<double>>& matches) {
    row_result r;
    r.row = name;
    r.seed = seed;
    const index_t lengths[] = {128, 256, 512};
    for (std::size_t l = 0; l < 3; ++l) {
        for (std::size_t i = 0; i < 6; ++i) {
            const auto window = static_cast<index_t>(i / 2), distance = static_cast<index_t>(i % 2 == 0 ? 20 : 100);
            r.observations.push_back({measure::match, lengths[l], window, distance, matches[l][i]});
        }
        r.observations.push_back({measure::copy_loss, lengths[l], 0, 16, 2.0});
    }
    return r;
}

const std::vector<double> all_right(6, 1.0), all_wrong(6, 0.0);

}  // namespace

TEST_CASE("benchmarks/study/statistics/tests: Student's t as SciPy has it") {  // scipy.stats.t 1.17: ppf, sf
    CHECK(student_t(0.05, 1.0) == Approx(12.706204736174694).epsilon(1e-7));
    CHECK(student_t(0.05, 4.0) == Approx(2.7764451051977934).epsilon(1e-7));
    CHECK(student_t(0.05, 2.5) == Approx(3.5746548420036817).epsilon(1e-7));
    CHECK(student_t(0.01, 39.0) == Approx(2.707913183517662).epsilon(1e-7));
    CHECK(student_t(0.05, 199.0) == Approx(1.9719565442517533).epsilon(1e-7));
    CHECK(two_sided_p(2.0, 4.0) == Approx(0.11611652351681556).epsilon(1e-7));
    CHECK(two_sided_p(-3.5, 2.0) == Approx(0.07282735005446933).epsilon(1e-7));
    CHECK(two_sided_p(1.0, 7.3) == Approx(0.34929845645311447).epsilon(1e-7));
    CHECK(two_sided_p(5.0, 39.0) == Approx(1.2524174089367209e-05).epsilon(1e-4));
    CHECK(two_sided_p(0.0, 4.0) == 1.0);
}

TEST_CASE(
    "benchmarks/study/statistics/tests: McNemar's exact test as statsmodels has it") {  // 0.15: mcnemar(exact=True)
    CHECK(mcnemar_p(5, 15) == Approx(0.04138946533203125));
    CHECK(mcnemar_p(15, 5) == Approx(0.04138946533203125));
    CHECK(mcnemar_p(3, 3) == 1.0);
    CHECK(mcnemar_p(0, 8) == Approx(0.0078125));
    CHECK(mcnemar_p(120, 160) == Approx(0.019606727290281328));
    CHECK(mcnemar_p(0, 0) == 1.0);
}

TEST_CASE("benchmarks/study/statistics/tests: Holm's correction as statsmodels has it") {  // 0.15: multipletests
    const auto check = [](const std::vector<double>& p, const std::vector<double>& expected) {
        const std::vector<double> corrected = holm_corrected(p);
        REQUIRE(corrected.size() == expected.size());
        for (std::size_t i = 0; i < p.size(); ++i) CHECK(corrected[i] == Approx(expected[i]));
    };
    check({0.01, 0.04, 0.03, 0.005, 0.5}, {0.04, 0.09, 0.09, 0.025, 0.5});
    check({0.2, 0.001, 0.3}, {0.4, 0.003, 0.4});
    check({0.6, 0.7}, {1.0, 1.0});
    check({}, {});
}

TEST_CASE("benchmarks/study/statistics/bootstrap: the interval of crossed random effects in closed form") {
    // Of the crossed analysis of variance, computed with NumPy and SciPy: A = 0.0044907, C = 0.0064444, R = 0.0011019,
    // 6.400 degrees of freedom. 2000 replicates tell a variance to 3 %.
    const estimate e = estimated(sample_of({{0.1, 0.4, 0.3, 0.9, 0.6, 0.2},
                                            {0.5, 0.7, 0.6, 0.8, 0.9, 0.4},
                                            {0.2, 0.1, 0.5, 0.6, 0.3, 0.3},
                                            {0.4, 0.6, 0.2, 0.7, 0.8, 0.1}}));
    CHECK(e.mean == Approx(0.4666666666666667));
    CHECK(e.half_width == Approx(0.2390174567399662).epsilon(0.04));
    CHECK(e.degrees == Approx(6.399637757638072).epsilon(0.06));
    CHECK(e.p == Approx(0.002786641047186761).epsilon(0.25));
    CHECK(e.models == 4);
    CHECK(e.windows == 6);
    // One model: Student's interval of its windows, scipy.stats.t.interval.
    const estimate one = estimated(sample_of({{0.1, 0.4, 0.3, 0.9, 0.6, 0.2}}));
    CHECK(one.low() == Approx(0.10950872862449229).epsilon(0.08));
    CHECK(one.high() == Approx(0.7238246047088412).epsilon(0.02));
    CHECK(one.degrees == Approx(5.0));
}

TEST_CASE("benchmarks/study/statistics/bootstrap: 95 % of intervals have the true mean, whatever it is that differs") {
    for (const spread& s :
         {spread{1.0, 0.0, 0.5}, spread{1.0, 1.0, 1.0}, spread{0.1, 1.0, 1.0}, spread{0.3, 0.3, 1.0}}) {
        CAPTURE(s.models);
        CAPTURE(s.windows);
        const double share = coverage(5, 24, s);
        CHECK(share >= 0.92);
        CHECK(share <= 0.99);
    }
    CHECK(coverage(3, 24, {1.0, 0.3, 0.5}) >= 0.91);
    const double of_one_model = coverage(1, 24, {0.0, 1.0, 1.0});
    CHECK(of_one_model >= 0.92);
    CHECK(of_one_model <= 0.99);
}

TEST_CASE("benchmarks/study/statistics/bootstrap: pairing by window narrows a difference's interval") {
    std::mt19937_64 generator(3);
    const sample first = simulated(generator, 5, 24, {0.2, 1.0, 0.1});
    sample second = first;
    for (cell& c : second.cells) c.sum += 0.1 + 0.05 * normal(generator);
    const estimate paired = estimated(paired_difference(second, first));
    const estimate unpaired = estimated_difference(second, first);
    CHECK(paired.mean == Approx(unpaired.mean));
    CHECK(paired.mean == Approx(0.1).epsilon(0.2));
    CHECK(paired.half_width < 0.05 * unpaired.half_width);
    CHECK(paired.p < 1e-4);
    CHECK(unpaired.p > 0.2);
}

TEST_CASE("benchmarks/study/statistics/bootstrap: models are paired where windows are not") {
    std::mt19937_64 generator(4);
    const sample first = simulated(generator, 5, 24, {1.0, 0.0, 0.0});
    sample second(5, 30);  // the same models, other windows, half a nat more
    for (index_t m = 0; m < 5; ++m) {
        for (index_t w = 0; w < 30; ++w) second.at(m, w) = {first.at(m, 0).sum + 0.5 + 0.01 * normal(generator), 1.0};
    }
    const estimate e = estimated_difference(second, first);
    CHECK(e.mean == Approx(0.5).epsilon(0.02));
    CHECK(e.half_width < 0.01);
}

TEST_CASE("benchmarks/study/statistics/bootstrap: a window counts by its questions") {
    sample s(1, 3);
    s.at(0, 0) = {3.0, 3.0};
    s.at(0, 1) = {0.0, 1.0};
    s.at(0, 2) = {0.0, 0.0};
    CHECK(s.mean() == 0.75);
    CHECK(estimated(s).mean == 0.75);
    CHECK(std::isfinite(estimated(s).half_width));  // though replicates may draw the last window alone
}

TEST_CASE("benchmarks/study/statistics/bootstrap: what cannot vary and what is not finite") {
    const estimate same = estimated(sample_of({{1.0, 1.0}, {1.0, 1.0}}));
    CHECK(same.half_width == 0.0);
    CHECK(same.p == 0.0);
    CHECK(estimated(sample_of({{0.0, 0.0}})).p == 1.0);
    const estimate diverged = estimated(sample_of({{1.0, std::numeric_limits<double>::infinity()}}));
    CHECK(std::isinf(diverged.mean));
    CHECK(std::isinf(diverged.half_width));
    CHECK(diverged.p == 1.0);
}

TEST_CASE("benchmarks/study/statistics/bootstrap: samples that do not fit are refused") {
    CHECK_THROWS_WITH_AS(estimated(sample(2, 1)), "bootstrap: sample [2, 1] must have a model and two windows",
                         cordage::shape_error);
    CHECK_THROWS_WITH_AS(estimated(sample(1, 2)), "bootstrap: model 0 must have a question or more",
                         cordage::shape_error);
    CHECK_THROWS_WITH_AS(paired_difference(sample(2, 3), sample(2, 4)),
                         "paired_difference: second [2, 4] must be [2, 3] as first", cordage::shape_error);
    sample more(1, 2);
    more.at(0, 1).count = 2.0;
    CHECK_THROWS_WITH_AS(paired_difference(sample(1, 2), more),
                         "paired_difference: second count 2 of cell 1 must be 0 as that of first",
                         cordage::shape_error);
    CHECK_THROWS_WITH_AS(estimated_difference(sample(2, 3), sample(1, 3)),
                         "estimated_difference: second has 1 models and must have 2 as first", cordage::shape_error);
}

TEST_CASE("benchmarks/study/statistics/results: means, differences and lookups of rows") {
    const study_results found({row_of("none", 2, {all_right, all_wrong, all_wrong}),
                               row_of("none", 1, {all_right, {1, 0, 1, 0, 0, 0}, all_wrong}),
                               row_of("by parts", 1, {all_right, {1, 1, 1, 1, 1, 0}, all_right})});
    CHECK(found.rows() == std::vector<std::string>{"none", "by parts"});
    CHECK(found.lengths() == std::vector<index_t>{128, 256, 512});
    CHECK(found.seeds("none") == std::vector<std::uint64_t>{1, 2});
    const place at_256{measure::match, 256};
    CHECK(found.mean("none", at_256).mean == Approx(1.0 / 6.0));
    CHECK(found.mean_of_model("none", at_256, 1) == Approx(2.0 / 6.0));
    CHECK(found.mean_of_model("none", {measure::match, 256, 10, 50}, 1) == Approx(2.0 / 3.0));  // distance 20 alone
    CHECK(found.mean_of_model("none", {measure::match, 256, 21, 101}, 1) == 0.0);               // distance 100
    CHECK_THROWS(found.mean_of_model("none", {measure::match, 256, 21, 100}, 1));
    // Over the model that both have.
    CHECK(found.difference("by parts", "none", at_256).mean == Approx(3.0 / 6.0));
    CHECK(found.difference("by parts", "none", at_256).models == 1);
    CHECK(found.difference("none", {measure::match, 128}, "none", at_256).mean == Approx(5.0 / 6.0));
    CHECK(found.difference("none", {measure::match, 128}, "none", at_256).models == 2);
    const auto lookups = found.discordant_matches("by parts", "none", 256);
    CHECK(lookups.first == 3);
    CHECK(lookups.second == 0);
    CHECK(found.has({measure::copy_loss, 128}));
    CHECK(!found.has({measure::value_loss, 128}));
}

TEST_CASE(
    "benchmarks/study/statistics/results: reach is the largest length with half, between lengths by log "
    "interpolation") {
    const std::vector<double> half{1, 1, 1, 0, 0, 0};
    const study_results found({row_of("none", 1, {all_right, all_wrong, all_wrong}),
                               row_of("far", 1, {all_right, all_right, half}),
                               row_of("third", 1, {all_right, {1, 1, 1, 1, 0, 0}, all_wrong}),
                               row_of("nothing", 1, {all_wrong, all_wrong, all_wrong})});
    CHECK(found.reach_of("none").tokens == Approx(128.0 * std::sqrt(2.0)));
    CHECK(!found.reach_of("none").is_beyond_last);
    CHECK(found.reach_of("far").tokens == 512.0);
    CHECK(found.reach_of("far", 1).is_beyond_last);
    CHECK(found.reach_of("third", 1).tokens == Approx(256.0 * std::exp2(0.25)));  // 4/6 -> 0: half at a quarter
    CHECK(found.reach_of("nothing").tokens == 0.0);
}

TEST_CASE("benchmarks/study/statistics/results: rows that cannot be compared are refused by name") {
    const row_result first = row_of("none", 1, {all_right, all_right, all_right});
    row_result other = row_of("by parts", 2, {all_right, all_right, all_right});
    other.observations[4].distance = 21;
    CHECK_THROWS_WITH_AS(
        study_results({first, other}),
        "study: windows and distances of row 'by parts' of seed 2 must be those of row 'none' of seed 1; "
        "evaluate both on the same windows",
        cordage::value_error);
    other.observations[4].distance = 20;
    const study_results found({first, other});
    CHECK_THROWS_WITH_AS(study_results({first, first}), "study: row 'none' of seed 1 must be there once",
                         cordage::value_error);
    CHECK_THROWS_WITH_AS(study_results({}), "study: there must be one result or more", cordage::value_error);
    CHECK_THROWS_WITH_AS(found.seeds("PI"), "study: no row is called 'PI'", cordage::value_error);
    CHECK_THROWS_WITH_AS(found.difference("none", "by parts", {measure::match, 128}),
                         "study: rows 'none' and 'by parts' must have a model in common", cordage::value_error);
    CHECK_THROWS_WITH_AS(found.mean("none", {measure::value_loss, 128}),
                         "study: nothing was observed of value_loss at length 128, distances 0 ... 9223372036854775807",
                         cordage::value_error);
}
