// SPDX-License-Identifier: MIT
#include "smollm2/study_tables.hpp"

#include <doctest/doctest.h>

#include "row_names.hpp"

using namespace demo;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

// Four windows at each context, two keys in each; the losses differ a little from window to window.
row_result row_of(const study_row& r, const std::vector<index_t>& contexts, double text, double digits) {
    row_result made{"", r.name, static_cast<std::uint64_t>(r.seed), 0, 0.0, {}, {}};
    for (const index_t context : contexts) {
        for (index_t window = 0; window < 4; ++window) {
            const double there = 0.001 * static_cast<double>(window * r.seed);
            made.observations.push_back({measure::plain_loss, context, window, 0, text + there});
            for (const index_t distance : {context / 2, context / 3}) {
                made.observations.push_back({measure::match, context, window, distance, 1.0});
                made.observations.push_back({measure::value_loss, context, window, distance, digits + there});
            }
        }
    }
    return made;
}

// CLEX has that text loss and digit loss; the row with the lowest score is the searched one.
study_tables tables_with_clex(double text, double digits) {
    study_tables t{{12288, 4, 4, 2, 24, 2, 1}, {}, {}, {}, {}, {}, {1, 1}, 4};
    const auto scored = [](const std::string& name, double loss) {
        row_result r{"", name, 0, 0, 0.0, {}, {}};
        for (const index_t n : made_for) r.observations.push_back({measure::plain_loss, n, 0, 0, loss});
        return r;
    };
    t.searched = {scored("first", 2.9), scored("second", 2.5)};
    for (const study_row& r : study_rows) {
        const bool is_clex = r.name == std::string(row::clex_all_n);
        const double own_text = is_clex ? text : 2.6, own_digits = is_clex                         ? digits
                                                                   : r.name == std::string("YaRN") ? 2.0
                                                                                                   : 1.0;
        t.chunks.push_back(row_of(r, {chunk_contexts.begin(), chunk_contexts.end()}, own_text, own_digits));
        std::vector<index_t> contexts{12288};
        if (r.name == std::string(row::no_scaling)) contexts.insert(contexts.end(), {4096, 8192});
        t.documents.push_back(row_of(r, contexts, own_text, own_digits));
        if (r.job != std::string("searched")) t.judged.push_back(scored(r.name, 2.7));
    }
    return t;
}

}  // namespace

TEST_CASE("benchmarks/study/study_tables: CLEX against the best rule of each length, by the margins") {
    const std::string equal = in_markdown(tables_with_clex(2.6, 1.0)), worse = in_markdown(tables_with_clex(2.7, 1.5));
    for (const char* windows : {"true windows of 12288", "windows of chunks of 12288", "windows of chunks of 65536"}) {
        CAPTURE(windows);
        const std::string begin = std::string("| ") + windows + " | by parts, searched for n | +0.";
        CHECK(has(equal, begin + "00"));
        CHECK(has(worse, begin + "10"));
    }
    CHECK(has(equal, "| as well | +0.00 ± 0.00 | as well |"));
    CHECK(!has(equal, "| worse |"));
    CHECK(has(worse, "| worse | +0.50 ± 0.00 | worse |"));
    CHECK(!has(worse, "| as well |"));
}

TEST_CASE("benchmarks/study/study_tables: the two contrasts, and a row that learns is the mean over its seeds") {
    const std::string text = in_markdown(tables_with_clex(2.6, 1.0));
    CHECK(has(text, "| CLEX − YaRN: loss of digits, true windows | -0.998 ± 0.003 | 4 | 0.000 | 0.000 |"));
    CHECK(has(text, "| CLEX − by parts, searched for n: text loss, windows of chunks of 65536 | +0.002 ±"));
    CHECK(has(text, "\n| no scaling, 8192 tokens | 2.600 ± 0.000 | +0.000 ± 0.000 |"));
    CHECK(has(text, "8 of 8"));
    CHECK(has(text, "Searched for 12288: second. For 65536: second."));
    CHECK(!has(text, "Not run yet."));
}

TEST_CASE("benchmarks/study/study_tables: what is not there is said to be not run") {
    const std::string none = in_markdown({{12288, 6, 8, 4, 24, 18, 3}, {}, {}, {}, {}, {}, {}, 0});
    std::size_t count = 0;
    for (std::size_t at = none.find("Not run yet."); at != none.npos; at = none.find("Not run yet.", at + 1)) ++count;
    CHECK(count == 7);  // question, contrasts, documents, three lengths of chunks, search
    study_tables some = tables_with_clex(2.6, 1.0);
    some.documents.clear();
    some.documents_read = 0;
    const std::string text = in_markdown(some);
    CHECK(!has(text, "| true windows of"));
    CHECK(has(text, "| windows of chunks of 65536 | by parts, searched for n |"));
    CHECK(has(text, "written down\n\nNot run yet."));  // both or none, as they are corrected together

    study_tables one = tables_with_clex(2.6, 1.0);  // a document, of which no interval can be told
    one.documents_read = 1;
    for (row_result& r : one.documents)
        std::erase_if(r.observations, [](const observation& o) { return o.window > 0; });
    CHECK(has(in_markdown(one), "\n### True windows\n\nOf each of 1 documents"));
}
