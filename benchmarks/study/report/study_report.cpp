// SPDX-License-Identifier: MIT
// Means and differences as tables.
#include "report/study_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "methods.hpp"
#include "report/claims.hpp"
#include "report/formatted.hpp"
#include "report/markdown.hpp"
#include "report/octaves.hpp"
#include "row_names.hpp"
#include "statistics/tests.hpp"

namespace demo {
namespace {

// A line for each row.
std::string table_of_rows(const study& what, std::vector<std::string> columns,
                          const std::function<std::string(const std::string& row, std::size_t column)>& cell_of) {
    columns.insert(columns.begin(), "row");
    std::vector<table_line> lines;
    for (const std::string& row : what.rows.rows()) {
        table_line& line = lines.emplace_back(table_line{row, {}});
        for (std::size_t i = 0; i + 1 < columns.size(); ++i) line.cells.push_back(cell_of(row, i));
    }
    return markdown_table(columns, lines);
}

std::string said_seeds(const std::vector<std::uint64_t>& seeds) {
    std::string text;
    for (const std::uint64_t seed : seeds) {
        text += (text.empty() ? "" : ", ") + formatted("%llu", static_cast<unsigned long long>(seed));
    }
    return text;
}

std::vector<std::string> names_of_lengths(const study& what) {
    std::vector<std::string> names;
    for (const index_t ratio : what.s.ratios)
        names.push_back(said_length(ratio * what.s.train_length, what.s.train_length));
    return names;
}

std::string matches(const study& what) {
    std::vector<std::string> columns = names_of_lengths(what);
    columns.insert(columns.end(), {"reach", "models"});
    const std::size_t ratios = what.s.ratios.size();
    return table_of_rows(what, columns, [&](const std::string& row, std::size_t i) {
        if (i < ratios) return said(what.rows.mean(row, {measure::match, what.s.ratios[i] * what.s.train_length}), 3);
        return i == ratios ? said(what.rows.reach_of(row)) : said_seeds(what.rows.seeds(row));
    });
}

// Differences from the searched closed form, of one measure.
std::string differences(const study& what, measure of) {
    if (!what.rows.has_row(row::by_parts_searched))
        return formatted("The row *%s* has not been run.\n", row::by_parts_searched);
    return table_of_rows(what, names_of_lengths(what), [&](const std::string& row, std::size_t i) -> std::string {
        if (row == row::by_parts_searched) return "0";
        if (!what.rows.can_compare(row, row::by_parts_searched)) return "";
        const place where{of, what.s.ratios[i] * what.s.train_length};
        return said_with_sign(what.rows.difference(row, row::by_parts_searched, where), 3);
    });
}

// Perplexity of plain text by length, and beside it what is found: doing nothing is the first row.
std::string perplexities(const study& what) {
    std::vector<std::string> columns = names_of_lengths(what);
    columns.push_back(formatted("match at %ldL", n(static_cast<index_t>(what.s.learning.t_learned))));
    const std::size_t ratios = what.s.ratios.size();
    return table_of_rows(what, columns, [&](const std::string& row, std::size_t i) {
        if (i == ratios) return formatted("%.2f", what.rows.mean(row, {measure::match, what.s.learned_length()}).mean);
        return formatted(
            "%.1f", std::exp(what.rows.mean(row, {measure::plain_loss, what.s.ratios[i] * what.s.train_length}).mean));
    });
}

std::string matches_by_distance(const study& what, index_t length) {
    const auto octaves = octaves_of(what.rows.all().front(), measure::match, length);
    std::vector<std::string> columns;
    std::vector<index_t> begins;
    for (const auto& [from, count] : octaves) {
        columns.push_back(formatted("%ld–%ld", n(from), n(2 * from - 1)));
        begins.push_back(from);
    }
    return table_of_rows(what, columns, [&](const std::string& row, std::size_t i) {
        return formatted("%.2f", what.rows.mean(row, in_octave(measure::match, length, begins[i])).mean);
    });
}

struct contrast {
    const char *first, *second;
};

// Written down before any row of the models of seeds 18 to 22 was run.
constexpr contrast contrasts[] = {{row::searched_then_by_head, row::by_parts_searched},
                                  {row::clex_all_t, row::five_knots_all_t}};

std::string table_of_contrasts(const study& what) {
    const place where{measure::match, what.s.learned_length()};
    std::vector<contrast> run;
    std::vector<estimate> estimates;
    std::vector<double> p;
    for (const contrast& c : contrasts) {
        if (!what.rows.can_compare(c.first, c.second)) continue;
        estimates.push_back(what.rows.difference(c.first, c.second, where));
        run.push_back(c);
        p.push_back(estimates.back().p);
    }
    if (run.empty()) return "No contrast has been run.\n";
    const std::vector<double> corrected = holm_corrected(p);
    std::vector<table_line> lines;
    for (std::size_t i = 0; i < run.size(); ++i) {
        const auto [first, second] = what.rows.discordant_matches(run[i].first, run[i].second, where.length);
        const bool is_told = corrected[i] < 0.05;
        lines.push_back({std::string(run[i].first) + " − " + run[i].second,
                         {said_with_sign(estimates[i], 3), formatted("%.2g", p[i]), formatted("%.2g", corrected[i]),
                          formatted("%ld / %ld", n(first), n(second)), formatted("%.2g", mcnemar_p(first, second)),
                          "**" +
                              said(!is_told                  ? verdict::inconclusive
                                   : estimates[i].mean > 0.0 ? verdict::supported
                                                             : verdict::refuted) +
                              "**"}});
    }
    return markdown_table({"contrast", formatted("match at %ld", n(where.length)), "p", "Holm's p",
                           "found by one alone", "McNemar's p", "first is better"},
                          lines);
}

double least_match_by_octave(const study& what, const row_result& model) {
    std::map<index_t, cell> octaves;
    for (const observation& o : model.observations) {
        if (o.what != measure::match || o.length != what.s.train_length) continue;
        cell& c = octaves[octave_of(o.distance)];
        c.sum += o.value;
        c.count += 1.0;
    }
    double least = 1.0;
    for (const auto& [from, c] : octaves) least = std::min(least, c.sum / c.count);
    return least;
}

std::string table_of_models(const study& what) {
    const index_t length = what.s.learned_length();
    const char* shown[] = {row::no_scaling, row::by_parts_log_scaled, row::by_parts_searched, row::learned,
                           row::clex_log_time};
    std::vector<std::string> columns{"seed", "steps", "minutes", "least match within L"};
    for (const char* row : shown) {
        if (what.rows.has_row(row)) columns.push_back(row);
    }
    std::vector<table_line> lines;
    for (const row_result& model : what.models) {
        const index_t steps = model.token_forwards / 3 / what.s.pretraining.tokens_per_step;
        table_line& line =
            lines.emplace_back(table_line{formatted("%llu", static_cast<unsigned long long>(model.seed)),
                                          {formatted("%ld", n(steps)), formatted("%.0f", model.seconds / 60.0),
                                           formatted("%.3f", least_match_by_octave(what, model))}});
        for (const char* row : shown) {
            if (!what.rows.has_row(row)) continue;
            const auto seeds = what.rows.seeds(row);
            const bool is_there = std::find(seeds.begin(), seeds.end(), model.seed) != seeds.end();
            line.cells.push_back(
                is_there ? formatted("%.3f", what.rows.mean_of_model(row, {measure::match, length}, model.seed)) : "");
        }
    }
    return markdown_table(columns, lines);
}

std::string table_of_costs(const study& what) {
    std::vector<table_line> lines;
    for (const std::string& row : what.rows.rows()) {
        double seconds = 0.0, forwards = 0.0;
        const auto seeds = what.rows.seeds(row);
        for (const std::uint64_t seed : seeds) {
            seconds += what.rows.of(row, seed).seconds / static_cast<double>(seeds.size());
            forwards += static_cast<double>(what.rows.of(row, seed).token_forwards) / static_cast<double>(seeds.size());
        }
        const std::size_t numbers = what.rows.of(row, seeds.front()).policy_parameters.size();
        lines.push_back({row, {formatted("%zu", numbers), formatted("%.0f", forwards), formatted("%.0f", seconds)}});
    }
    return markdown_table({"row", "numbers", "token-forwards", "seconds"}, lines);
}

std::string said_ratios(const settings& s) {
    std::string text;
    for (const index_t ratio : s.ratios) text += (text.empty() ? "" : ", ") + formatted("%ldL", n(ratio));
    return text;
}

std::string said_setting(const study& what) {
    const settings& s = what.s;
    const pretraining_run& run = s.pretraining;
    std::string text = formatted(
        "The model is a Llama-style decoder of width %ld with %ld layers, %ld heads of %ld lanes, and norms of q and "
        "k. Its byte-pair encoding has %ld tokens; L = %ld; the base is %g.\n\n",
        n(s.model.width), n(s.model.layers), n(s.model.heads), n(s.model.head_dim()), n(s.model.vocabulary),
        n(s.train_length), s.theta_base);
    text +=
        "The text is the King James Bible: Genesis to Acts for training, Romans to Colossians for the gate and all "
        "choices (*dev*), 1 Thessalonians to Revelation for the tables (*test*).";
    if (s.evaluate_on_dev) text += " In this run the tables, too, are of dev.";
    text += formatted(
        " A window is running text with copied spans and records. For each %ld tokens there is one copied span of %ld "
        "to %ld tokens; half of these spans are random tokens. For each %ld tokens there is one record: a mark, a key "
        "of %ld random tokens and a value of %ld. Each value is asked for once. Distances are log-uniform.\n\n",
        n(s.windows.tokens_a_copy), n(s.windows.copied_least), n(s.windows.copied_most), n(s.windows.tokens_a_record),
        n(s.windows.key_tokens), n(s.windows.value_tokens));
    text += formatted(
        "Training takes %ld steps of %ld tokens, by Muon (rate %g) for matrices and AdamW (rate %g) for the other "
        "weights. Windows have L/4 tokens in the first %.0f %% of the steps and L/2 tokens in the next %.0f %%. "
        "*Gate*: on %ld dev windows the model must find %.0f %% of the values in every octave of distances within L. "
        "If it does not, it trains for up to %ld more rounds of a third of the steps; if it still does not, it is left "
        "out.\n\n",
        n(run.steps), n(run.tokens_per_step), run.matrix_rate, run.other_rate, 100.0 * run.share_of_quarter,
        100.0 * run.share_of_half, n(s.gate_windows), 100.0 * run.matches_wanted, n(run.more_rounds));
    const index_t a_trial = s.learning.searched_windows * s.learned_length();
    text += formatted(
        "Then the weights are frozen. A row reads windows of n tokens at t = max(1, n/L), for n = %s. A row that "
        "learns takes %ld steps of Adam (rate %g) on %ld fresh windows of %ld tokens of training text at t = %g, from "
        "the mean loss of all tokens that can be predicted, or of copied and value tokens alone where its name says "
        "so. That is %ld token-forwards; a gradient step counts as three. A row that searches may spend as many on "
        "the same loss: %ld trials of the same %ld dev windows. The tables are of %ld windows of "
        "%ld tokens and of up to %ld windows of each shorter length, the same for all rows and models.\n",
        said_ratios(s).c_str(), n(s.learning.steps), s.learning.rate, n(s.learning.windows), n(s.learned_length()),
        s.learning.t_learned, n(s.budget()), n(s.budget() / a_trial), n(s.learning.searched_windows),
        n(s.windows_at(s.ratios.back())), n(s.longest()), n(s.windows_at(1)));
    return text;
}

// Which rows and models the tables are made of, and what is missing.
std::string said_results(const study& what) {
    std::map<std::vector<std::uint64_t>, int> rows_of_seeds;
    for (const std::string& row : what.rows.rows()) ++rows_of_seeds[what.rows.seeds(row)];
    std::string there, missing;
    for (const auto& [seeds, rows] : rows_of_seeds) {
        there +=
            formatted("%s%d row%s of the model%s of seed%s %s", there.empty() ? "" : "; ", rows, rows == 1 ? "" : "s",
                      seeds.size() == 1 ? "" : "s", seeds.size() == 1 ? "" : "s", said_seeds(seeds).c_str());
    }
    for (const method& m : rows_of(what.s)) {
        if (!what.rows.has_row(m.name)) missing += (missing.empty() ? "" : ", ") + ("*" + m.name + "*");
    }
    return "The tables have " + there + "." + (missing.empty() ? "" : " Rows without a result: " + missing + ".") +
           "\n";
}

}  // namespace

std::vector<block> study_blocks(const study& what) {
    return {
        {"results", "Results", said_results(what)},
        {"claims", "Claims", claims_in_markdown(study_claims(), what.rows, what.s.train_length, "###")},
        {"contrasts", "The two contrasts", table_of_contrasts(what)},
        {"perplexities", "Perplexity of plain text", perplexities(what)},
        {"matches", "Match by the length of the window, and reach", matches(what)},
        {"differences", "Match against *by parts, searched*", differences(what, measure::match)},
        {"copied", "Loss of copied tokens against *by parts, searched*, nats", differences(what, measure::copy_loss)},
        {"plain", "Loss of plain tokens against *by parts, searched*, nats", differences(what, measure::plain_loss)},
        {"distances", "Match by distance at the longest length", matches_by_distance(what, what.s.longest())},
        {"models", "Models", table_of_models(what)},
        {"costs", "Costs", table_of_costs(what)},
        {"setting", "Setting", said_setting(what)}};
}

std::string page_of_tables(const std::string& title, const std::vector<block>& blocks) {
    std::string text =
        "# " + title +
        "\n\nMade by `./run replicate --toy`. *Match* is the share of values of which all tokens are found. "
        "Losses are in nats per token; smaller is better. ± is a 95 % interval over models and windows, "
        "or over windows alone if there is one model. Differences are paired by model and window.\n";
    for (const block& b : blocks) {
        if (!b.text.empty()) text += "\n## " + b.title + "\n\n" + b.text;
    }
    return text;
}

std::string as_csv(const study& what) {
    std::string text = "row,measure,length,distance_from,model,count,mean,half_width\n";
    const auto begin = [&](const std::string& row, const place& where, const std::string& model, index_t count) {
        text += formatted("\"%s\",%s,%ld,%ld,%s,%ld,", row.c_str(), std::string(name_of(where.what)).c_str(),
                          n(where.length), n(where.shortest), model.c_str(), n(count));
    };
    const auto add = [&](const std::string& row, const place& where, index_t count) {
        const estimate e = what.rows.mean(row, where);
        begin(row, where, "all", count);
        text += formatted("%.5g,%.3g\n", e.mean, e.half_width);
    };
    for (const std::string& row : what.rows.rows()) {
        for (const measure of : all_measures) {
            for (const index_t length : what.rows.lengths()) {
                const auto octaves = octaves_of(what.rows.all().front(), of, length);
                index_t questions = 0;
                for (const auto& [from, count] : octaves) questions += count;
                const place everywhere{of, length};
                if (!what.rows.has(everywhere)) continue;
                add(row, everywhere, questions);
                for (const std::uint64_t seed : what.rows.seeds(row)) {
                    begin(row, everywhere, said_seeds({seed}), questions);
                    text += formatted("%.5g,\n", what.rows.mean_of_model(row, everywhere, seed));
                }
                if (of != measure::match) continue;
                for (const auto& [from, count] : octaves) add(row, in_octave(of, length, from), count);
            }
        }
    }
    return text;
}

}  // namespace demo
