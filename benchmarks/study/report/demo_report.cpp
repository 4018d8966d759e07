// SPDX-License-Identifier: MIT
// Means by length and distance, and their presentation.
#include "report/demo_report.hpp"

#include <algorithm>

#include "report/formatted.hpp"
#include "report/gnuplot.hpp"
#include "report/markdown.hpp"
#include "report/octaves.hpp"
#include "report/panels.hpp"
#include "row_names.hpp"

namespace demo {
namespace {

std::string table_by_length(const study_results& results, index_t trained) {
    std::vector<std::string> columns{"row"};
    for (const index_t length : results.lengths()) columns.push_back(said_length(length, trained));
    columns.insert(columns.end(), {"reach", "copied", "plain"});
    const index_t longest = results.lengths().back();
    std::vector<table_line> lines;
    for (const std::string& row : results.rows()) {
        table_line& line = lines.emplace_back(table_line{row, {}});
        for (const index_t length : results.lengths()) {
            line.cells.push_back(said(results.mean(row, {measure::match, length}), 2));
        }
        line.cells.push_back(said(results.reach_of(row)));
        for (const measure what : {measure::copy_loss, measure::plain_loss}) {
            line.cells.push_back(said(results.mean(row, {what, longest}), 2));
        }
    }
    return markdown_table(columns, lines);
}

std::string table_by_distance(const study_results& results) {
    const index_t longest = results.lengths().back();
    const auto octaves = octaves_of(results.all().front(), measure::match, longest);
    std::vector<std::string> columns{"row"};
    for (const auto& [from, count] : octaves) {
        columns.push_back(formatted("%ld–%ld", static_cast<long>(from), static_cast<long>(2 * from - 1)));
    }
    std::vector<table_line> lines;
    for (const std::string& row : results.rows()) {
        table_line& line = lines.emplace_back(table_line{row, {}});
        for (const auto& [from, count] : octaves) {
            line.cells.push_back(formatted("%.2f", results.mean(row, in_octave(measure::match, longest, from)).mean));
        }
    }
    return markdown_table(columns, lines);
}

}  // namespace

std::string demo_tables(const settings& s, const study_results& results) {
    const auto n = [](index_t count) { return static_cast<long>(count); };
    index_t questions = 0;
    for (const auto& [from, count] : octaves_of(results.all().front(), measure::match, s.longest())) questions += count;
    std::string text = formatted(
                           "The model was trained on windows of %ld tokens. With its weights frozen, it reads windows "
                           "of up to %ld tokens. *Match* is the share of values that it finds by their keys, all %ld "
                           "tokens right, for each length of the window:\n\n",
                           n(s.train_length), n(s.longest()), n(s.windows.value_tokens)) +
                       table_by_length(results, s.train_length);
    text += formatted(
        "\n*Reach* is the length at which match falls below a half, in tokens. *Copied* and *plain* are the losses of "
        "repeated and of other text at %ld tokens, in nats per token. ± is the 95 %% interval over windows.\n\nMatch "
        "in windows of %ld tokens, for each distance back to the value, in tokens:\n\n",
        n(s.longest()), n(s.longest()));
    text += table_by_distance(results);
    text += formatted(
        "\nThe text is the King James Bible (%s), with copied spans of %ld to %ld tokens, and with records of a key "
        "and a value of random tokens, each of which is asked for once. The model is a Llama-style decoder of width "
        "%ld with %ld layers and norms of q and k. It was trained by Muon for %ld steps of %ld tokens on windows of at "
        "most L = %ld tokens. Every row reads a window of n tokens at t = n / L. By parts is `by_parts{0.5, 4}`; the "
        "ramp of YaRN has the same ends; log scaling multiplies scores by log_L n. Rows that learn start from by parts "
        "+ log scaling and take %ld steps of Adam on %ld windows of %ld tokens. Rows that search spend as many "
        "token-forwards on dev windows, or half of them if they learn after the search. All rows read the same "
        "windows: %ld of %ld tokens, with %ld questions. The tables are of one model, of seed %llu; models differ by "
        "more than these intervals.\n",
        s.evaluate_on_dev ? "dev: Romans to Colossians" : "test: 1 Thessalonians to Revelation",
        n(s.windows.copied_least), n(s.windows.copied_most), n(s.model.width), n(s.model.layers),
        n(s.pretraining.steps), n(s.pretraining.tokens_per_step), n(s.train_length), n(s.learning.steps),
        n(s.learning.windows), n(s.learned_length()), n(s.windows_at(s.ratios.back())), n(s.longest()), n(questions),
        static_cast<unsigned long long>(s.seed));
    return text;
}

std::string as_csv(const study_results& results) {
    std::string text = "method,measure,length,distance_from,count,mean,half_width\n";
    for (const row_result& r : results.all()) {
        for (const measure what : all_measures) {
            for (const index_t length : results.lengths()) {
                for (const auto& [from, count] : octaves_of(r, what, length)) {
                    const estimate e = results.mean(r.row, in_octave(what, length, from));
                    text += formatted("\"%s\",%s,%ld,%ld,%ld,%.4f,%.4f\n", r.row.c_str(),
                                      std::string(name_of(what)).c_str(), static_cast<long>(length),
                                      static_cast<long>(from), static_cast<long>(count), e.mean, e.half_width);
                }
            }
        }
    }
    return text;
}

const few_rows& match_rows() {
    static const few_rows rows{{row::no_scaling, "no scaling", false},
                               {"YaRN + log scaling", "YaRN + log scaling", false},
                               {row::by_parts_log_scaled, "by parts + log scaling", false},
                               {row::learned, "basis + temperature"},
                               {row::by_parts_searched, "by parts, searched"},
                               {row::searched_then_learned, "searched, then learned"}};
    return rows;
}

void plot_match(const settings& s, const study_results& results, const std::filesystem::path& folder) {
    draw_panels({matches_at(s, results, match_rows(), s.longest())}, "match", folder);
}

void plot_reach(const settings& s, const study_results& results, const std::filesystem::path& folder) {
    const std::vector<std::string>& rows = results.rows();
    const long trained = static_cast<long>(s.train_length);
    std::string tics;
    std::vector<curve> curves;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t place = rows.size() - i;
        curves.push_back({formatted("%.6g %zu\n", results.reach_of(rows[i]).tokens, place),
                          formatted("using ($1 > 0 ? $1 : NaN):2:(%ld):1:($2-0.3):($2+0.3) with boxxyerror lc rgb '%s'",
                                    trained / 4, colour_of(rows[i]).c_str())});
        tics += formatted("%s%s %zu", i == 0 ? "" : ", ", quoted(rows[i]).c_str(), place);
    }
    draw(folder, "reach", 900, 460,
         formatted("set logscale x 2\nset xrange [%ld:%ld]\nset yrange [0.4:%zu.6]\nset border 3\nunset key\n"
                   "set ytics nomirror (%s)\nset xtics nomirror\nset grid x lc rgb '#cccccc'\n"
                   "set xlabel 'reach: length at which match falls below a half, tokens'\nset style fill solid\n"
                   "set arrow 1 from %ld,graph 0 to %ld,graph 1 nohead lc rgb '#000000' dt 3 front\n",
                   trained / 4, static_cast<long>(s.longest()), rows.size(), tics.c_str(), trained, trained) +
             plot(curves, "reach"));
}

}  // namespace demo
