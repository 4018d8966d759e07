// SPDX-License-Identifier: MIT
// What the study's results say. The two contrasts and the margins were written down before it ran.
#include "smollm2/study_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "report/formatted.hpp"
#include "report/markdown.hpp"
#include "report/panels.hpp"
#include "row_names.hpp"
#include "smollm2/measures.hpp"
#include "statistics/tests.hpp"

namespace demo {
namespace {

constexpr double text_margin = 0.02, digit_margin = 0.1;  // nats; as well: less is lost, by the whole interval
constexpr index_t least_windows = 3;                      // of which anything is concluded

std::string with_context(const std::string& row, index_t context) {
    return formatted("%s, %ld tokens", row.c_str(), n(context));
}

// The observations at one context, the mean over the seeds of a row. Keys have their number for a distance, and the
// length is one for all, so that rows are paired by window at different contexts, too.
std::optional<study_results> at_context(const std::vector<row_result>& all, index_t context,
                                        const std::vector<index_t>& others = {}) {
    std::vector<row_result> rows;
    std::map<std::string, double> seeds;
    const auto add = [&](const row_result& r, index_t length, const std::string& name) {
        row_result made{"", name, 0, 0, 0.0, {}, {}};
        index_t key = 0;
        for (const observation& o : r.observations) {
            if (o.length != length) continue;
            if (o.what == measure::match) ++key;
            const bool is_of_key = o.what == measure::match || o.what == measure::value_loss;
            made.observations.push_back({o.what, context, o.window, is_of_key ? key : 0, o.value});
        }
        if (made.observations.empty()) return;
        const double count = ++seeds[name];
        const auto old = std::ranges::find(rows, name, &row_result::row);
        if (old == rows.end()) return rows.push_back(made);
        for (std::size_t i = 0; i < made.observations.size(); ++i) {
            double& mean = old->observations[i].value;
            mean += (made.observations[i].value - mean) / count;
        }
    };
    for (const row_result& r : all) {
        for (const index_t other : others) add(r, other, with_context(r.row, other));
        add(r, context, r.row);
    }
    if (rows.empty()) return {};
    return study_results(rows);
}

std::string said_keys(const study_results& results, const std::string& row, index_t context) {
    const place keys{measure::match, context};
    index_t asked = 0;
    for (const observation& o : results.of(row, 0).observations) asked += o.what == measure::match ? 1 : 0;
    return formatted("%.3g of %ld", results.mean(row, keys).mean * static_cast<double>(asked), n(asked));
}

std::string table_of(const study_results& results, index_t context, const std::string& baseline) {
    const bool has_hits = results.has({measure::plain_hit, context}), has_baseline = results.has_row(baseline);
    std::vector<std::string> columns{"row", "text loss"};
    if (has_baseline) columns.push_back("− " + baseline);
    if (has_hits) columns.push_back("tokens guessed");
    columns.insert(columns.end(), {"pass keys", "loss of digits"});
    std::vector<table_line> lines;
    for (const std::string& row : results.rows()) {
        table_line& line =
            lines.emplace_back(table_line{row, {said(results.mean(row, {measure::plain_loss, context}), 3)}});
        if (has_baseline) {
            line.cells.push_back(said_with_sign(results.difference(row, baseline, {measure::plain_loss, context}), 3));
        }
        if (has_hits) line.cells.push_back(said(results.mean(row, {measure::plain_hit, context}), 3));
        line.cells.push_back(said_keys(results, row, context));
        line.cells.push_back(said(results.mean(row, {measure::value_loss, context}), 2));
    }
    return markdown_table(columns, lines);
}

// What was written down beforehand: CLEX − another row, in one measure.
struct contrast {
    const char* text;
    const char* against;
    measure what;
    bool is_in_documents;
    index_t context;
};

std::vector<contrast> contrasts_of(const study_tables& t) {
    return {{"loss of digits, true windows", "YaRN", measure::value_loss, true, t.amount.window},
            {"text loss, windows of chunks of 65536", row::searched_for_n, measure::plain_loss, false, made_for[1]}};
}

std::string contrast_table(const study_tables& t) {
    const std::vector<contrast> all = contrasts_of(t);
    std::vector<estimate> found;
    std::vector<double> p;
    for (const contrast& c : all) {
        const auto results = at_context(c.is_in_documents ? t.documents : t.chunks, c.context);
        const index_t windows = c.is_in_documents ? t.documents_read : t.amount.windows;
        if (windows < least_windows || !results || !results->can_compare(row::clex_all_n, c.against))
            return "Not run yet.\n";
        found.push_back(results->difference(row::clex_all_n, c.against, {c.what, c.context}));
        p.push_back(found.back().p);
    }
    const std::vector<double> corrected = holm_corrected(p);
    std::vector<table_line> lines;
    for (std::size_t i = 0; i < all.size(); ++i) {
        lines.push_back({formatted("CLEX − %s: %s", all[i].against, all[i].text),
                         {said_with_sign(found[i], 3), formatted("%ld", n(found[i].windows)), formatted("%.3f", p[i]),
                          formatted("%.3f", corrected[i])}});
    }
    return markdown_table({"contrast", "nats", "windows", "p", "p after Holm"}, lines);
}

std::string said_verdict(const estimate& e, double margin) {
    return e.high() < margin ? "as well" : e.low() > margin ? "worse" : "not decided";
}

// The row with a rule for one length, or of closed form, that has the lowest score in the windows of the search.
std::string best_for(const study_tables& t, index_t length) {
    std::string best = row::searched_for_n;
    const std::size_t where = length == made_for[0] ? 0 : 1;
    double least = score(t.searched[t.chosen[where]], length);
    for (const char* name : {"YaRN", row::by_parts_4_16, row::table_for_n}) {
        double sum = 0.0, count = 0.0;
        for (const row_result& r : t.judged) {
            if (r.row != name) continue;
            sum += score(r, length);
            ++count;
        }
        if (count > 0.0 && sum / count < least) {
            least = sum / count;
            best = name;
        }
    }
    return best;
}

std::string question_table(const study_tables& t) {
    if (t.chosen.empty() || t.judged.size() + 1 < study_rows.size()) return "Not run yet.\n";
    std::vector<table_line> lines;
    const auto add = [&](const std::vector<row_result>& all, index_t windows, const char* kind, index_t context) {
        if (windows < least_windows) return;
        const index_t length = context <= made_for[0] ? made_for[0] : made_for[1];
        const std::string best = best_for(t, length);
        const auto results = at_context(all, context);
        if (!results || !results->can_compare(row::clex_all_n, best)) return;
        const estimate text = results->difference(row::clex_all_n, best, {measure::plain_loss, context}),
                       digits = results->difference(row::clex_all_n, best, {measure::value_loss, context});
        lines.push_back({formatted("%s of %ld", kind, n(context)),
                         {best, said_with_sign(text, 3), said_verdict(text, text_margin), said_with_sign(digits, 2),
                          said_verdict(digits, digit_margin)}});
    };
    add(t.documents, t.documents_read, "true windows", t.amount.window);
    for (const index_t context : chunk_contexts) add(t.chunks, t.amount.windows, "windows of chunks", context);
    if (lines.empty()) return "Not run yet.\n";
    return markdown_table({"windows", "the best rule for their length", "CLEX − it: text", "", "digits", ""}, lines);
}

std::string search_table(const study_tables& t) {
    std::vector<table_line> lines;
    const auto add = [&](const row_result& r, const std::string& name) {
        table_line& line = lines.emplace_back(table_line{name, {}});
        for (const index_t context : made_for) line.cells.push_back(formatted("%.3f", score(r, context)));
        const auto own = std::ranges::find(t.decided, r.row, &row_result::row);
        line.cells.push_back(
            own == t.decided.end() ? "" : formatted("%.3f", mean_of(own->observations, measure::plain_loss)));
    };
    for (const row_result& r : t.searched) add(r, r.row);
    for (const row_result& r : t.judged)
        add(r, r.row + (r.seed == 0 ? "" : formatted(", seed %d", static_cast<int>(r.seed))));
    return markdown_table({"rule", "12288", "65536", formatted("true dev window of %ld", n(t.amount.window))}, lines);
}

}  // namespace

double score(const row_result& judged, index_t context) {
    return mean_of(judged.observations, measure::plain_loss, context);
}

std::string in_markdown(const study_tables& t) {
    std::string text = formatted(
        "### One continuous rule and the best rule for each length\n\nCLEX is learned once, for all lengths from 8192 "
        "to 65536. The best rule for a length is, of the rows that stand above CLEX and serve one length or are closed "
        "forms, the one with the lowest loss in the windows of the search. *As well*: the 95 %% interval of CLEX minus "
        "that row lies below %.2f nats of text loss, or %.1f nats of digit loss; *worse*: above it.\n\n",
        text_margin, digit_margin);
    text += question_table(t) + "\n### The two contrasts that were written down\n\n" + contrast_table(t);
    text += formatted(
        "\n### True windows\n\nOf each of %ld documents, the loss and the share of guessed tokens of the same last %ld "
        "tokens, with %ld tokens of context or fewer, and %ld pass keys of five digits, each asked for alone. ± is the "
        "95 %% interval over documents.\n\n",
        n(t.documents_read), n(counted_tokens), n(t.amount.window), n(t.amount.keys));
    const std::vector<index_t> shorter(shorter_contexts.begin(), shorter_contexts.end());
    const auto documents = at_context(t.documents, t.amount.window, shorter);
    text += t.documents_read < 2 ? "Not run yet.\n"
                                 : table_of(*documents, t.amount.window, with_context(row::no_scaling, shorter.back()));
    text += formatted(
        "\n### Windows of chunks\n\n%ld held-out windows of %ld tokens of text in 8 chunks, with gaps in their "
        "positions "
        "up to the context; the loss of the last 256 tokens, and %ld pass keys in each. ± is the 95 %% interval over "
        "windows.\n",
        n(t.amount.windows), n(chunk_tokens), n(t.amount.keys));
    for (const index_t context : chunk_contexts) {
        const auto results = at_context(t.chunks, context);
        text += formatted("\n%ld tokens:\n\n", n(context)) +
                (results ? table_of(*results, context, row::no_scaling) : "Not run yet.\n");
    }
    text +=
        "\n### Search\n\nMean loss of two windows of chunks, whose last 64 tokens are a copy, and two of 2048 tokens "
        "without gaps, on other texts, under the rule for 12288 and for 65536 tokens; learning lowers the same "
        "loss. ";
    if (!t.chosen.empty()) {
        text += formatted("Searched for 12288: %s. For 65536: %s.", t.searched[t.chosen[0]].row.c_str(),
                          t.searched[t.chosen[1]].row.c_str());
    }
    return text + "\n\n" + (t.searched.empty() ? "Not run yet.\n" : search_table(t));
}

std::string as_csv(const study_tables& t) {
    std::string text = "row,seed,kind,measure,context,window,distance,value\n";
    const auto add = [&](const std::vector<row_result>& rows, const char* kind) {
        for (const row_result& r : rows) {
            for (const observation& o : r.observations) {
                text +=
                    formatted("\"%s\",%d,%s,%s,%ld,%ld,%ld,%.5g\n", r.row.c_str(), static_cast<int>(r.seed), kind,
                              std::string(name_of(o.what)).c_str(), n(o.length), n(o.window), n(o.distance), o.value);
            }
        }
    };
    add(t.searched, "search");
    add(t.decided, "true dev window");
    add(t.judged, "search");
    add(t.chunks, "chunks");
    add(t.documents, "true window");
    return text;
}

void plot_study(const study_tables& t, const std::filesystem::path& folder) {
    const auto panel_of = [&](const char* title, const char* y, measure what, double lowest, double highest) {
        panel p{title,   "context, tokens",
                y,       lowest,
                highest, false,
                1.012,   "set xrange [11500:70000]\nset xtics (12288, 32768, 65536)\n",
                {}};
        for (const row_result& r : t.chunks) {
            if (std::ranges::any_of(p.lines, [&](const line& l) { return l.what.row == r.row; })) continue;
            line l{{r.row.c_str(), r.row.c_str()}, {}};
            for (const index_t context : chunk_contexts) {
                const auto results = at_context(t.chunks, context);
                const estimate e = results->mean(r.row, {what, context});
                l.points.push_back({static_cast<double>(context), e.mean, e.low(), e.high()});
            }
            p.lines.push_back(l);
        }
        return p;
    };
    draw_panels({panel_of("windows of chunks: loss of text", "nats", measure::plain_loss, 2.0, 8.0),
                 panel_of("loss of pass keys' digits", "nats", measure::value_loss, 0.0, 9.0)},
                "study", folder);
}

}  // namespace demo
