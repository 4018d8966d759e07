// SPDX-License-Identifier: MIT
// Means and differences as tables.
#include "report/study_report.hpp"

#include "methods.hpp"
#include "report/formatted.hpp"
#include "statistics/tests.hpp"

namespace demo {
namespace {

std::string cell(const estimate& e, const char* format) { return formatted(format, e.mean, e.half_width); }

template <class Cell>
std::string table(const study_results& results, const std::vector<std::string>& columns, const Cell& cell_of) {
    std::string head = "| row |", rule = "|---|";
    for (const std::string& column : columns) {
        head += " " + column + " |";
        rule += "---|";
    }
    std::string text = head + "\n" + rule + "\n";
    for (const std::string& row : results.rows()) {
        text += "| " + row + " |";
        for (std::size_t i = 0; i < columns.size(); ++i) text += " " + cell_of(row, i) + " |";
        text += "\n";
    }
    return text;
}

std::string table_of_matches(const settings& s, const study_results& results) {
    std::vector<std::string> columns;
    for (const index_t ratio : s.ratios) {
        columns.push_back(formatted("%ld (%ld×)", static_cast<long>(ratio * s.train_length), static_cast<long>(ratio)));
    }
    columns.push_back("reach");
    return table(results, columns, [&](const std::string& row, std::size_t i) {
        if (i < s.ratios.size()) {
            return cell(results.mean(row, {measure::match, s.ratios[i] * s.train_length}), "%.3f ± %.3f");
        }
        const reach r = results.reach_of(row);
        return formatted("%.0f%s", r.tokens, r.is_beyond_last ? " or more" : "");
    });
}

std::string table_of_differences(const settings& s, const study_results& results) {
    std::vector<std::string> columns;
    std::vector<place> places;
    for (const index_t ratio : {s.ratios[s.ratios.size() - 2], s.ratios.back()}) {
        for (const measure what : {measure::match, measure::copy_loss, measure::plain_loss}) {
            columns.push_back(formatted("%s, %ld×", std::string(name_of(what)).c_str(), static_cast<long>(ratio)));
            places.push_back({what, ratio * s.train_length});
        }
    }
    return table(results, columns, [&](const std::string& row, std::size_t i) {
        if (row == tuned_closed_form) return std::string("0");
        return cell(results.difference(row, tuned_closed_form, places[i]), "%+.3f ± %.3f");
    });
}

std::string contrast(const settings& s, const study_results& results, const char* first, const char* second) {
    const index_t length = s.longest() / 2;
    const estimate match = results.difference(first, second, {measure::match, length});
    const auto [only_first, only_second] = results.discordant_matches(first, second, length);
    return formatted(
        "- *%s* against *%s*, match at %ld: %+.3f ± %.3f (p = %.3g, %ld models); questions that only one of them "
        "answers: "
        "%ld and %ld (McNemar p = %.3g).\n",
        first, second, static_cast<long>(length), match.mean, match.half_width, match.p,
        static_cast<long>(match.models), static_cast<long>(only_first), static_cast<long>(only_second),
        mcnemar_p(only_first, only_second));
}

}  // namespace

std::string study_tables(const settings& s, const study_results& results) {
    const char *learned = "learned basis + temperature", *clex = "CLEX in log time + temperature";
    const double p[] = {
        results.difference(learned, tuned_closed_form, {measure::match, s.longest() / 2}).p,
        results.difference(clex, learned, {measure::match, s.longest() / 2}).p,
    };
    const std::vector<double> corrected = holm_corrected(p);
    return "Match by the length of the window, and reach, the length at which it falls below a half; means over models "
           "with 95 % intervals over models and windows:\n\n" +
           table_of_matches(s, results) +
           formatted("\nAgainst *%s*, paired by model and window; losses in nats a token, negative is better:\n\n",
                     tuned_closed_form) +
           table_of_differences(s, results) + "\nThe two contrasts:\n\n" +
           contrast(s, results, learned, tuned_closed_form) + contrast(s, results, clex, learned) +
           formatted(
               "\nHolm-corrected p: %.3g and %.3g. Rows that learn or are searched spend at most %ld token-forwards "
               "each on their numbers.\n",
               corrected[0], corrected[1], static_cast<long>(s.budget()));
}

}  // namespace demo
