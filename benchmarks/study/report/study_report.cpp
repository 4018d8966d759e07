// SPDX-License-Identifier: MIT
// Means over seeds, and the tables of them.
#include "report/study_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "model/bases.hpp"
#include "report/formatted.hpp"

namespace demo {
namespace {

long as_long(index_t n) { return static_cast<long>(n); }

std::string line_start(const measured_row& r) {
    return formatted("%s,%llu,\"%s\"", r.variant.c_str(), static_cast<unsigned long long>(r.seed), r.how.name.c_str());
}

// A column of a table: what it takes from a row's result.
struct column {
    std::string heading;
    std::function<double(const result&)> value;
};

// Rows by columns; the best mean of each column is bold. sign: 1 if small is good, -1 if large is, 0 if neither.
std::string table_of(const std::vector<row_of_seeds>& rows, const std::vector<column>& columns, double sign) {
    std::vector<std::vector<mean_and_spread>> cells;
    for (const row_of_seeds& r : rows) {
        auto& line = cells.emplace_back();
        for (const column& c : columns) {
            std::vector<double> values;
            for (const measured_row* m : r.seeds) values.push_back(c.value(m->measured));
            line.push_back(summarized(values));
        }
    }
    std::string text = "| row |", rule = "|---|";
    for (const column& c : columns) {
        text += " " + c.heading + " |";
        rule += "---|";
    }
    text += "\n" + rule + "\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
        text += "| " + rows[i].name + " |";
        for (std::size_t j = 0; j < columns.size(); ++j) {
            const bool is_best = sign != 0.0 && std::all_of(cells.begin(), cells.end(), [&](const auto& other) {
                                     return sign * cells[i][j].mean <= sign * other[j].mean;
                                 });
            const std::string mean =
                std::isinf(cells[i][j].mean) ? "diverged" : formatted(is_best ? "**%.2f**" : "%.2f", cells[i][j].mean);
            text += " " + mean + (rows[i].seeds.size() > 1 ? formatted(" ± %.2f |", cells[i][j].spread) : " |");
        }
        text += "\n";
    }
    return text;
}

std::string heading_of(const score& s) { return formatted("%ld×", as_long(s.ratio)); }
std::string heading_of(const recall& r) { return formatted("%ld", as_long(r.distance)); }

// One column for each entry of a list that every row's result has.
template <class Measured>
std::vector<column> columns_of(const std::vector<row_of_seeds>& rows, std::vector<Measured> result::*list,
                               double (*value)(const Measured&)) {
    std::vector<column> columns;
    const std::vector<Measured>& first = rows.front().seeds.front()->measured.*list;
    for (std::size_t i = 0; i < first.size(); ++i) {
        columns.push_back({heading_of(first[i]), [=](const result& r) { return value((r.*list)[i]); }});
    }
    return columns;
}

std::string tables_of(const settings& s, const study& st, const std::vector<row_of_seeds>& rows) {
    std::string text = "## " + st.name + "\n\n" + st.question + "\n\n";
    const auto add = [&](const std::string& title, const std::vector<column>& columns, double sign) {
        text += title + "\n\n" + table_of(rows, columns, sign) + "\n";
    };
    const auto add_scores = [&](const std::string& title, double (*value)(const score&), double sign = 1.0) {
        add(title, columns_of<score>(rows, &result::scores, value), sign);
    };
    const auto add_recalls = [&](const std::string& title, double (*value)(const recall&)) {
        add(title, columns_of<recall>(rows, &result::recalls, value), -1.0);
    };
    add_scores("Perplexity, every token, windows that do not overlap:", [](const score& x) { return x.perplexity; });
    if (s.slides) {
        add_scores("Perplexity, the same tokens at every length, each with at least half a window before it:",
                   [](const score& x) { return x.perplexity_sliding; });
    }
    add_scores(formatted("Perplexity, the last %ld tokens of each stretch of %ld:", as_long(s.train_length),
                         as_long(s.longest())),
               [](const score& x) { return x.perplexity_last; });
    if (!st.shows_recall) return text;
    add_scores(
        "Next tokens guessed right, in percent:", [](const score& x) { return 100.0 * x.accuracy; }, -1.0);
    add_recalls("Recall: nats a token gained from a phrase planted so many tokens before:",
                [](const recall& x) { return x.gain; });
    add_recalls("Recall: tokens of that phrase guessed right, in percent:",
                [](const recall& x) { return 100.0 * x.accuracy; });
    return text;
}

}  // namespace

std::vector<row_of_seeds> rows_of(const study& st, const std::vector<measured_row>& rows) {
    std::vector<row_of_seeds> found;
    for (const std::string& name : st.rows) {
        for (const std::string& variant : st.variants) {
            row_of_seeds& r = found.emplace_back();
            r.name = st.variants.size() > 1 ? name + " (" + variant + ")" : name;
            for (const measured_row& m : rows) {
                const bool is_wanted = st.has_all_seeds || m.seed == 1;
                if (m.variant == variant && m.how.name == name && is_wanted) r.seeds.push_back(&m);
            }
        }
    }
    return found;
}

mean_and_spread summarized(const std::vector<double>& of_seeds) {
    const auto n = static_cast<double>(of_seeds.size());
    const double mean = std::accumulate(of_seeds.begin(), of_seeds.end(), 0.0) / n;
    double squares = 0.0;
    for (const double x : of_seeds) squares += (x - mean) * (x - mean);
    return {mean, of_seeds.size() > 1 ? std::sqrt(squares / (n - 1.0)) : 0.0};
}

std::string as_csv(const std::vector<measured_row>& rows) {
    std::string text =
        "variant,seed,method,ratio,length,perplexity,perplexity_last,perplexity_sliding,accuracy,steps,seconds\n";
    for (const measured_row& r : rows) {
        for (const score& s : r.measured.scores) {
            text += line_start(r) + formatted(",%ld,%ld,%.4f,%.4f,%.4f,%.5f,%ld,%.1f\n", as_long(s.ratio),
                                              as_long(s.length), s.perplexity, s.perplexity_last, s.perplexity_sliding,
                                              s.accuracy, as_long(r.measured.steps), r.measured.seconds);
        }
    }
    return text;
}

std::string recalls_as_csv(const std::vector<measured_row>& rows) {
    std::string text = "variant,seed,method,distance,accuracy,gain\n";
    for (const measured_row& r : rows) {
        for (const recall& x : r.measured.recalls) {
            text += line_start(r) + formatted(",%ld,%.5f,%.5f\n", as_long(x.distance), x.accuracy, x.gain);
        }
    }
    return text;
}

std::string study_tables(const settings& s, const std::vector<study>& all, const std::vector<measured_row>& rows) {
    std::string text = formatted(
        "# Replication: tables\n\nMade by `./run replicate`. A decoder of width %ld with %ld layers, pretrained for "
        "%ld steps of %ld tokens at "
        "L = %ld; *tuned*: %ld more steps; *frozen*: the weights stay, a learned basis trains for %ld steps. %ld "
        "stretches of %ld tokens, the same at every length. Where there is a ±: mean and standard deviation of three "
        "seeds (model, windows and positions); elsewhere seed 1. Bold: best of its column. "
        "By parts is %s, YaRN has its ramp from %g to %g turns and does not round it, p-RoPE turns %g of the pairs, "
        "Llama 3 is by parts as published.\n\n",
        as_long(s.model.width), as_long(s.model.layers), as_long(s.pretraining.steps), as_long(s.tokens_per_step),
        as_long(s.train_length), as_long(s.continuing.steps), as_long(s.frozen_weights.steps),
        as_long(s.evaluated_blocks), as_long(s.longest()), parts_in_words().c_str(), yarn_for_short_length.beta_slow,
        yarn_for_short_length.beta_fast, three_quarters_turning.share);
    for (const study& st : all) text += tables_of(s, st, rows_of(st, rows));
    return text;
}

}  // namespace demo
