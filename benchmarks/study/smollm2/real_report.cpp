// SPDX-License-Identifier: MIT
// What the results say, and what they do not.
#include "smollm2/real_report.hpp"

#include <algorithm>
#include <cmath>

#include "report/formatted.hpp"
#include "report/gnuplot.hpp"
#include "report/markdown.hpp"
#include "report/panels.hpp"
#include "row_names.hpp"
#include "smollm2/measures.hpp"

namespace demo {
namespace {

// Perplexity of the blocks first <= block < last of a document.
double perplexity(const row_result& r, index_t first, index_t last) {
    double sum = 0.0, count = 0.0;
    for (const observation& o : r.observations) {
        if (o.distance < first || o.distance >= last) continue;
        sum += o.value;
        ++count;
    }
    return std::exp(sum / count);
}

std::string document_table(const real_results& r) {
    const auto trained = static_cast<index_t>(r.rope.original_length), window = r.amount.window,
               last = window - block_tokens;
    const index_t half = std::min(trained, window);
    const bool goes_beyond = window > trained;
    std::vector<std::string> columns{"row", formatted("tokens 0 – %ld", n(half))};
    if (goes_beyond) columns.push_back(formatted("%ld – %ld", n(trained), n(window)));
    columns.push_back(formatted("the last %ld", n(window - last)));
    std::vector<table_line> lines;
    for (const row_result& each : r.documents) {
        table_line& line = lines.emplace_back(table_line{each.row, {formatted("%.2f", perplexity(each, 0, half))}});
        if (goes_beyond) line.cells.push_back(formatted("%.2f", perplexity(each, trained, window)));
        line.cells.push_back(formatted("%.2f", perplexity(each, last, window)));
    }
    return markdown_table(columns, lines);
}

std::string chunk_table(const real_results& r) {
    const study_results results(r.at_longest);
    const index_t keys = r.amount.windows * r.amount.keys;
    std::vector<table_line> lines;
    for (const std::string& row : results.rows()) {
        const estimate loss = results.mean(row, {measure::plain_loss, longest_context}),
                       found = results.mean(row, {measure::match, longest_context});
        const bool is_configurable = std::ranges::find(r.rules, row, &rule::name)->is_configurable;
        lines.push_back(
            {row,
             {is_configurable ? "yes" : "by its numbers", formatted("%.1f", std::exp(loss.mean)), said(loss, 2),
              formatted("%ld of %ld", std::lround(found.mean * static_cast<double>(keys)), n(keys)), said(found, 2),
              said(results.mean(row, {measure::value_loss, longest_context}), 2)}});
    }
    return markdown_table(
        {"row", "a name in a config", "perplexity", "text loss", "pass keys", "share of them", "loss of digits"},
        lines);
}

// first - second, paired by window.
std::string difference(const study_results& results, const std::string& first, const std::string& second) {
    const auto [only_first, only_second] = results.discordant_matches(first, second, longest_context);
    return formatted(
        "%s − %s: text %s, digits %s nats, keys found by one only %ld and %ld. ", first.c_str(), second.c_str(),
        said_with_sign(results.difference(first, second, {measure::plain_loss, longest_context}), 2).c_str(),
        said_with_sign(results.difference(first, second, {measure::value_loss, longest_context}), 2).c_str(),
        n(only_first), n(only_second));
}

std::string learning_table(const real_results& r) {
    const study_results results(r.at_table);
    std::vector<table_line> lines;
    for (const std::string& row : results.rows()) {
        const estimate loss = results.mean(row, {measure::plain_loss, table_context});
        lines.push_back({row, {formatted("%.1f", std::exp(loss.mean)), said(loss, 2)}});
    }
    return markdown_table({"row", "perplexity", "text loss"}, lines);
}

}  // namespace

std::string real_tables(const real_results& r) {
    const auto trained = static_cast<index_t>(r.rope.original_length);
    const study_results longest(r.at_longest);
    std::string text = formatted(
        "The model is SmolLM2-135M-Instruct in 4 bits (Q4_1), trained on up to %ld tokens. Its weights stay "
        "as they are; formula and basis are cordage's. One document of %ld tokens (the Rust book), "
        "perplexity along it; nothing was trained:\n\n",
        n(trained), n(r.amount.window));
    text += document_table(r);
    text += formatted(
        "\nHeld-out windows that span %ld tokens: %ld tokens of text in 8 chunks, with gaps in their "
        "positions (as in PoSE). Loss of the last 256, in nats per token, and %ld pass keys of five digits "
        "in each of %ld windows, one at a time. ± is the 95 %% interval over windows (.00 where all windows "
        "agree, which is no certainty). Rows with `yes` can be configured by name in engines today:\n\n",
        n(longest_context), n(chunk_tokens), n(r.amount.keys), n(r.amount.windows));
    text += chunk_table(r) + "\n" + difference(longest, row::clex_all_n, "YaRN") +
            difference(longest, row::clex_all_n, row::by_parts_4_16) + "\n";
    text += formatted(
        "\nA basis and a temperature learned from plain text alone, from no scaling, in %ld steps of one "
        "window of chunks, on the same kind of windows that span %ld tokens:\n\n",
        n(r.amount.table_steps), n(table_context));
    text += learning_table(r);
    text += formatted(
        "\nWhat this does not show. Extension repairs perplexity, not lookup: in a prototype, true windows "
        "of 16384 tokens found at most 1 of 8 pass keys in every row, and 3 of 8 without scaling at 8192. "
        "More context does not lower the loss of the last tokens. This is one model, in 4 bits. Windows of "
        "chunks stand for true ones and flatter rules that compress much: a rule with t = n / 4096 that "
        "costs .02 nats there costs .22 in a true window. CLEX took %ld steps of one window, with one seed; "
        "by parts 1 … 32 was found by a search on other texts. `*.longrope.json` has the learned rules for "
        "engines without cordage.\n",
        n(r.amount.clex_steps));
    return text;
}

std::string real_csv(const real_results& r) {
    std::string text = "row,measure,context,from,count,mean,half_width\n";
    for (const row_result& each : r.documents) {
        for (const observation& o : each.observations) {
            text += formatted("\"%s\",document_loss,%ld,%ld,1,%.4f,\n", each.row.c_str(), n(o.length), n(o.distance),
                              o.value);
        }
    }
    const auto add = [&](const std::vector<row_result>& rows, index_t context) {
        const study_results results(rows);
        for (const std::string& row : results.rows()) {
            for (const measure what : {measure::plain_loss, measure::match, measure::value_loss}) {
                if (!results.has({what, context})) continue;
                const estimate e = results.mean(row, {what, context});
                text += formatted("\"%s\",%s,%ld,0,%ld,%.4f,%.4f\n", row.c_str(), std::string(name_of(what)).c_str(),
                                  n(context), n(e.windows), e.mean, e.half_width);
            }
        }
    };
    add(r.at_longest, longest_context);
    add(r.at_table, table_context);
    return text;
}

void plot_real(const real_results& r, const std::filesystem::path& folder) {
    const long trained = std::lround(r.rope.original_length);
    panel p{
        formatted("one document, each point %ld tokens", n(block_tokens)),
        "position, tokens",
        "perplexity",
        4.0,
        1500.0,
        true,
        1.0,
        formatted("unset logscale x\nset logscale y\nset xrange [0:%ld]\nset arrow 1 from %ld,4 to %ld,1500 nohead lc "
                  "rgb '#555555' dt 3\nset label 'trained length' at %ld, graph 1.05 center textcolor rgb '#555555'\n",
                  n(r.amount.window), trained, trained, trained),
        {}};
    for (const row_result& each : r.documents) {
        line& l = p.lines.emplace_back(line{{each.row.c_str(), each.row.c_str()}, {}});
        for (const observation& o : each.observations) {
            const double y = std::exp(o.value);
            l.points.push_back({static_cast<double>(o.distance + block_tokens / 2), y, y, y});
        }
    }
    draw_panels({p}, "perplexity", folder);

    const study_results results(r.at_longest);
    std::string tics;
    std::vector<curve> curves;
    for (std::size_t i = 0; i < results.rows().size(); ++i) {
        const std::string& row = results.rows()[i];
        const std::size_t place = results.rows().size() - i;
        const estimate e = results.mean(row, {measure::match, longest_context});
        curves.push_back(
            {formatted("%.4f %zu\n", e.mean, place),
             formatted("using 1:2:(0):1:($2-0.3):($2+0.3) with boxxyerror lc rgb '%s'", colour_of(row).c_str())});
        curves.push_back({formatted("%.4f %zu %.4f\n", std::max(0.0, e.low()), place,
                                    std::min(1.0, e.high()) - std::max(0.0, e.low())),
                          "using 1:2:3:(0) with vectors nohead lw 1.5 lc rgb '#222222'"});
        tics += formatted("%s%s %zu", i == 0 ? "" : ", ", quoted(row).c_str(), place);
    }
    draw(folder, "keys", 760, 340,
         formatted("set xrange [0:1]\nset yrange [0.4:%zu.6]\nset border 3\nunset key\nset ytics nomirror (%s)\nset "
                   "xtics nomirror\nset grid x lc rgb '#cccccc'\nset xlabel 'share of pass keys found at %ld tokens'\n"
                   "set style fill solid\n",
                   results.rows().size(), tics.c_str(), n(longest_context)) +
             plot(curves, "keys"));
}

}  // namespace demo
