// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "methods.hpp"
#include "report/claims.hpp"
#include "report/gnuplot.hpp"
#include "report/label_positions.hpp"
#include "report/markdown.hpp"
#include "report/octaves.hpp"
#include "report/page.hpp"
#include "report/panels.hpp"
#include "report/study_pictures.hpp"
#include "report/study_report.hpp"

using namespace demo;

namespace {

estimate interval(double low, double high) { return {(low + high) / 2.0, (high - low) / 2.0, 0.05, 4.0, 5, 40}; }

// A row of one model at L = 128, 2L ... 16L, 4 windows of two questions: of each length, so many of the 8 found.
row_result row_of(const std::string& name, std::uint64_t seed, const std::vector<int>& found_of_8,
                  double copy_loss = 2.0) {
    row_result r;
    r.row = name;
    r.seed = seed;
    for (std::size_t l = 0; l < found_of_8.size(); ++l) {
        const index_t length = index_t{128} << l;
        for (index_t i = 0; i < 8; ++i) {
            const double value = i * 5 % 8 < found_of_8[l] ? 1.0 : 0.0;  // spread over the windows
            r.observations.push_back({measure::match, length, i / 2, i % 2 == 0 ? 20 : 100, value});
        }
        for (index_t window = 0; window < 4; ++window) {
            const double there = static_cast<double>(l) + 0.01 * static_cast<double>(window);
            r.observations.push_back({measure::copy_loss, length, window, 16, copy_loss + there});
            r.observations.push_back({measure::value_loss, length, window, 20, 1.0});
            r.observations.push_back({measure::plain_loss, length, window, 0, 4.0 - 0.1 * there});
            r.observations.push_back({measure::copy_hit, length, window, 16, 0.5});
        }
    }
    return r;
}

std::vector<std::string> names_of(const std::vector<method>& rows) {
    std::vector<std::string> names;
    names.reserve(rows.size());
    for (const method& m : rows) names.push_back(m.name);
    return names;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

const std::vector<block> two_blocks{{"claims", "Claims", "| held |\n"}, {"costs", "Costs", "12 seconds\n"}};

}  // namespace

TEST_CASE("benchmarks/study/report/claims: a verdict depends on the whole interval") {
    CHECK(verdict_of(interval(0.01, 0.2), side::above, 0.0) == verdict::supported);
    CHECK(verdict_of(interval(-0.01, 0.2), side::above, 0.0) == verdict::inconclusive);
    CHECK(verdict_of(interval(-0.2, -0.01), side::above, 0.0) == verdict::refuted);
    CHECK(verdict_of(interval(0.01, 0.2), side::below, 0.0) == verdict::refuted);
    CHECK(verdict_of(interval(-0.2, -0.01), side::below, 0.0) == verdict::supported);
    CHECK(verdict_of(interval(0.4, 0.6), side::below, 0.5) == verdict::inconclusive);
    CHECK(verdict_of(interval(0.4, 0.49), side::below, 0.5) == verdict::supported);
    CHECK(verdict_of(interval(-0.005, 0.002), side::above, -0.01) == verdict::supported);  // no cost
    CHECK(verdict_of(interval(0.0, 0.0), side::above, 0.0) == verdict::inconclusive);
    const double endless = std::numeric_limits<double>::infinity();
    CHECK(verdict_of({endless, endless, 1.0, 1.0, 5, 40}, side::above, 0.0) == verdict::inconclusive);
}

TEST_CASE(
    "benchmarks/study/report/claims: all parts of a claim must be supported, and one that is refuted after correction "
    "refutes it") {
    std::vector<row_result> rows;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        rows.push_back(row_of("none", seed, {8, 0, 0}, 2.0));
        rows.push_back(row_of("far", seed, {8, 8, 0}, 1.0));
    }
    const study_results results(rows);
    const auto verdict_on = [&](std::vector<expectation> parts) {
        return found({"", "far", "none", std::move(parts)}, results, 128)->all;
    };
    CHECK(verdict_on({{measure::match, 2, side::above}}) == verdict::supported);
    CHECK(verdict_on({{measure::match, 2, side::above}, {measure::copy_loss, 4, side::below}}) == verdict::supported);
    CHECK(verdict_on({{measure::match, 2, side::above}, {measure::match, 4, side::above}}) == verdict::inconclusive);
    CHECK(verdict_on({{measure::match, 4, side::above}, {measure::match, 2, side::below}}) == verdict::refuted);
    // Alone, the first part is refuted at 5 %, but not beside another that may refute as well.
    std::vector<row_result> close;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        close.push_back(row_of("none", seed, {8, 4, 4}));
        close.push_back(row_of("more loss", seed, {8, 4, 4}, seed == 4 ? 2.01 : 2.1));
    }
    const study_results of_close(close);
    const double p = of_close.difference("more loss", "none", {measure::copy_loss, 256}).p;
    REQUIRE(p < 0.05);
    REQUIRE(2.0 * p > 0.05);
    const auto close_verdict = [&](std::vector<expectation> parts) {
        return found({"", "more loss", "none", std::move(parts)}, of_close, 128)->all;
    };
    CHECK(close_verdict({{measure::copy_loss, 2, side::below}}) == verdict::refuted);
    CHECK(close_verdict({{measure::copy_loss, 2, side::below}, {measure::match, 2, side::above}}) ==
          verdict::inconclusive);
    // A mean, and a row at two lengths.
    CHECK(found({"", "far", "", {{measure::match, 2, side::above, 0.5}}}, results, 128)->all == verdict::supported);
    CHECK(found({"", "none", "", {{measure::match, 2, side::above, 0.5}}}, results, 128)->all == verdict::refuted);
    const auto grows = found({"", "none", "none", {{measure::copy_loss, 4, side::above, 0.0, 1}}}, results, 128);
    CHECK(grows->all == verdict::supported);
    CHECK(grows->parts.front().mean == doctest::Approx(2.0));
}

TEST_CASE("benchmarks/study/report/claims: claims without results are left out and counted") {
    const study_results results(
        {row_of("none", 1, {8, 0, 0}), row_of("far", 1, {8, 8, 0}), row_of("other", 2, {8, 8, 8})});
    const std::vector<claim_group> groups{
        {"Of two rows",
         {{"Far finds more.", "far", "none", {{measure::match, 2, side::above}}},
          {"It finds as little far away.", "far", "none", {{measure::match, 4, side::above}}},
          {"No model has both.", "other", "none", {{measure::match, 2, side::above}}}}},
        {"Of a row to come", {{"It is better.", "to come", "far", {{measure::match, 2, side::above}}}}}};
    const claim_counts counts = counted(groups, results, 128);
    CHECK(counts.supported == 1);
    CHECK(counts.inconclusive == 1);
    CHECK(counts.refuted == 0);
    CHECK(counts.not_run == 2);
    const std::string text = claims_in_markdown(groups, results, 128, "###");
    CHECK(has(text, "### Of two rows\n\n| claim | rows | result, 95 % interval | verdict |\n"));
    CHECK(has(text, "| Far finds more. | far − none | match at 2L: +1.000 ± 0.000 | **supported** |\n"));
    CHECK(has(text, "| **inconclusive** |\n"));
    CHECK(!has(text, "Of a row to come"));
    CHECK(has(text, "Claims supported: 1, inconclusive: 1, refuted: 0, not run: 2.\nNot run:\n"));
    CHECK(text.ends_with("\n- It is better. *(to come − far)*\n"));
}

TEST_CASE("benchmarks/study/report: claims and pictures name rows of the study") {
    const std::vector<std::string> rows = names_of(rows_of(settings_of("small")));
    const auto check = [&](const std::string& name) {
        CAPTURE(name);
        CHECK(std::find(rows.begin(), rows.end(), name) != rows.end());
    };
    for (const claim_group& group : study_claims()) {
        for (const claim& c : group.claims) {
            CAPTURE(c.text);
            check(c.row);
            if (!c.against.empty()) check(c.against);
            CHECK(!c.parts.empty());
        }
    }
    for (const std::string& name : pictured_rows()) check(name);
}

TEST_CASE("benchmarks/study/report: the blocks can be made of any results, few or many") {
    const settings s = settings_of("small");
    std::vector<row_result> rows{row_of("no scaling", 1, {8, 2, 0, 0, 0})};
    const auto text_of = [&](const std::string& name) {
        for (const block& b : study_blocks({s, study_results(rows), {}})) {
            if (b.name == name) return b.text;
        }
        return std::string();
    };
    CHECK(has(text_of("matches"), "| no scaling | 1.000 ± 0.000 |"));
    CHECK(text_of("differences") == "The row *by parts, searched* has not been run.\n");
    CHECK(text_of("contrasts") == "No contrast has been run.\n");
    CHECK(has(text_of("results"), "The tables have 1 row of the model of seed 1. Rows without a result: *PI*,"));
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        rows.push_back(row_of("by parts, searched", seed, {8, 8, 6, 2, 0}));
        rows.push_back(row_of("by parts, searched, then temperature by head", seed, {8, 8, 8, 8, 4}, 1.0));
    }
    CHECK(has(text_of("differences"), "| by parts, searched | 0 | 0 | 0 | 0 | 0 |\n"));
    CHECK(has(text_of("contrasts"), "| by parts, searched, then temperature by head − by parts, searched | +0.750 ±"));
    CHECK(has(text_of("contrasts"), "| 18 / 0 |"));
    CHECK(has(text_of("results"),
              "The tables have 1 row of the model of seed 1; 2 rows of the models of seeds 1, 2, 3. Rows"));
    CHECK(has(text_of("claims"),
              "| Learning a temperature for each head after a search finds more values at 8L, the "
              "length used for learning. |"));
    CHECK(has(text_of("perplexities"), "\n| no scaling | 54.5 | 49.3 | 44.6 |"));
}

TEST_CASE("benchmarks/study/report: with all rows every claim is decided, and the contrasts are told") {
    const settings s = settings_of("small");
    std::vector<row_result> rows;
    for (const std::uint64_t seed : {s.first_seed, s.first_seed + 1, s.first_seed + 2}) {
        for (const method& how : rows_of(s)) {
            rows.push_back(row_of(how.name, seed, {8, 8, how.name == "by parts, searched" ? 4 : 8, 4, 0}));
        }
    }
    const std::string text = page_of_tables("any", study_blocks({s, study_results(rows), {}}));
    CHECK(has(text, "not run: 0.\n"));
    CHECK(has(text, "\nThe model is a Llama-style decoder of width 128 "));
    CHECK(has(text, "\n| by parts, searched, then temperature by head − by parts, searched |"));
    CHECK(has(text, "\n| CLEX in log time + temperature, all t − learned basis of five knots + temperature, all t |"));
}

TEST_CASE("benchmarks/study/report/page: what stands between the marks is written anew, and nothing else") {
    const std::string page =
        "# Page\n\n<!-- block claims -->\n\nold\n\n<!-- end of block -->\ntext\n<!-- block costs -->\n<!-- end of "
        "block -->\nend\n";
    const std::string written =
        "# Page\n\n<!-- block claims -->\n\n| held |\n\n<!-- end of block -->\ntext\n<!-- block costs -->\n\n12 "
        "seconds\n\n<!-- end of block -->\nend\n";
    CHECK(with_blocks(page, two_blocks, "page.md") == written);
    CHECK(with_blocks(written, two_blocks, "page.md") == written);
}

TEST_CASE("benchmarks/study/report/page: a page that cannot be written is refused") {
    const auto check = [](const std::string& page, const char* message) {
        CHECK_THROWS_WITH_AS(with_blocks(page, two_blocks, "page.md"), message, std::runtime_error);
    };
    check("# Page\n",
          "page.md: no block is marked; write '<!-- block NAME -->' and '<!-- end of block -->', NAME one of claims, "
          "costs");
    check("<!-- block reach -->\n<!-- end of block -->\n", "page.md: block 'reach' must be one of claims, costs");
    check("<!-- block claims -->\n", "page.md: block 'claims' must be closed by '<!-- end of block -->'");
    check("<!-- block claims -->\n<!-- block costs -->\n<!-- end of block -->\n",
          "page.md: block 'claims' must be closed by '<!-- end of block -->'");
    check("<!-- block claims -->\n<!-- end of block -->\n<!-- block claims -->\n<!-- end of block -->\n",
          "page.md: block 'claims' must be marked once");
    check("<!-- block claims", "page.md: a mark '<!-- block NAME -->' must close its line");
}

TEST_CASE("benchmarks/study/report/study_pictures: a page shows what is drawn") {
    const std::vector<block> blocks =
        picture_blocks({{"reach", "reach of rows", true}, {"bases", "alpha", false}}, "there");
    CHECK(blocks[0].name == "reach");
    CHECK(blocks[0].text == "![reach of rows](there/reach.svg)\n");
    CHECK(blocks[1].text == "The rows of this picture have not been run.\n");
}

TEST_CASE("benchmarks/study/report/page: docs/small_models.md marks blocks and pictures that there are") {
    std::ifstream file(CORDAGE_GOLDEN_DIR "/../../docs/small_models.md");
    const std::string page(std::istreambuf_iterator<char>(file), {});
    std::vector<block> blocks =
        study_blocks({settings_of("small"), study_results({row_of("no scaling", 1, {8, 2, 0, 0, 0})}), {}});
    for (const block& b : picture_blocks(study_pictures(), "replication")) blocks.push_back(b);
    CHECK_NOTHROW(with_blocks(page, blocks, "docs/small_models.md"));
    for (const picture& p : study_pictures()) CHECK(has(page, "<!-- block " + p.name + " -->\n"));
}

TEST_CASE(
    "benchmarks/study/report/panels: match over distance has the rows that were run, with intervals inside 0 ... 1") {
    const settings s = settings_of("small");
    std::vector<row_result> rows;
    for (const std::uint64_t seed : {1U, 2U}) {
        rows.push_back(row_of("by parts", seed, {8, 8, 6, 4, 0}));
        rows.push_back(row_of("no scaling", seed, {8, 2, 0, 0, 0}));
    }
    const study_results results(rows);
    const panel p = matches_at(s, results, {{"no scaling", "none", false}, {"PI", "PI"}, {"by parts", "parts"}}, 1024);
    CHECK(p.title == "windows of 1024 tokens, 8L");
    REQUIRE(p.lines.size() == 2);
    CHECK(std::string(p.lines[0].what.label) == "none");
    CHECK(std::string(p.lines[1].what.label) == "parts");
    REQUIRE(p.lines[1].points.size() == 2);  // octaves of 16 and 64 tokens
    CHECK(p.lines[1].points[0].x == doctest::Approx(16 * std::sqrt(2.0)));
    CHECK(p.lines[1].points[0].y == results.mean("by parts", in_octave(measure::match, 1024, 16)).mean);
    CHECK(p.lines[1].points[0].low < p.lines[1].points[0].high);
}

TEST_CASE("benchmarks/study/report/label_positions: labels stand apart, in order, near their lines") {
    CHECK(label_positions({0.5, 0.1}, 0.1, 0.0, 1.0) == std::vector<double>{0.5, 0.1});
    const std::vector<double> low = label_positions({0.0, 0.0, 0.0}, 0.1, 0.0, 1.0);
    CHECK(low == std::vector<double>{0.0, 0.1, 0.2});
    const std::vector<double> high = label_positions({1.0, 0.98, 0.99}, 0.1, 0.0, 1.0);
    CHECK(high[0] == doctest::Approx(1.0));
    CHECK(high[1] == doctest::Approx(0.8));
    CHECK(high[2] == doctest::Approx(0.9));
}

TEST_CASE("benchmarks/study/report/gnuplot: a row has one colour, with log scaling the same unless it has its own") {
    CHECK(colour_of("YaRN + log scaling") == colour_of("YaRN"));
    CHECK(colour_of("by parts + log scaling") != colour_of("by parts"));
    CHECK(colour_of("by parts, searched") != colour_of("by parts"));
    CHECK(colour_of("another row") == colour_of("another row + log scaling"));
}

TEST_CASE("benchmarks/study/report/markdown: a table, and numbers in it") {
    CHECK(markdown_table({"row", "match"}, {{"none", {"0.5"}}}) == "| row | match |\n|---|---|\n| none | 0.5 |\n");
    CHECK(said_length(1024, 128) == "1024 (8×)");
    CHECK(said(interval(0.25, 0.75), 2) == "0.50 ± 0.25");
    CHECK(said_with_sign(interval(0.25, 0.75), 1) == "+0.5 ± 0.2");
    CHECK(said(reach{0.0, false}) == "none");
    CHECK(said(reach{548.4, false}) == "548");
    CHECK(said(reach{1024.0, true}) == "1024 or more");
}
