// SPDX-License-Identifier: MIT
// Writing the tables.
#include "report/table.hpp"

#include <algorithm>
#include <stdexcept>

namespace demo {
namespace {

// The best value of each length; smaller is better when sign is 1, larger when it is -1.
template <class Value>
std::vector<double> best_of_columns(const std::vector<row>& rows, double sign, const Value& value) {
    std::vector<double> best;
    for (std::size_t i = 0; i < rows.front().measured.scores.size(); ++i) {
        const auto less = [&](const row& a, const row& b) {
            return sign * value(a.measured.scores[i]) < sign * value(b.measured.scores[i]);
        };
        best.push_back(value(std::min_element(rows.begin(), rows.end(), less)->measured.scores[i]));
    }
    return best;
}

std::string cell(double value, double best) {
    const std::string text = formatted("%.2f", value);
    return text == formatted("%.2f", best) ? formatted("**%s**", text.c_str()) : text;
}

// A heading of two rows; `per_length` names the columns of one length.
std::string heading(const std::vector<row>& rows, const std::vector<std::string>& per_length) {
    std::string names = "| method | train length |", rule = "|---|---|";
    for (const score& s : rows.front().measured.scores) {
        names += formatted(" %ld (%ld×)", static_cast<long>(s.length), static_cast<long>(s.ratio));
        for (const std::string& name : per_length) {
            names += formatted(" %s |", name.c_str());
            rule += "---|";
        }
    }
    return names + "\n" + rule + "\n";
}

std::string row_start(const row& r) {
    return formatted("| %s | %ld |", r.how.name.c_str(), static_cast<long>(r.measured.train_length));
}

double percent(const score& s) { return 100.0 * s.accuracy; }

}  // namespace

const score& row::at(index_t ratio) const {
    for (const score& s : measured.scores) {
        if (s.ratio == ratio) return s;
    }
    throw std::runtime_error("demo: '" + how.name + "' was not measured at that length");
}

std::string as_csv(const std::vector<row>& rows) {
    std::string text = "method,train_length,ratio,length,perplexity,perplexity_last,accuracy,steps,seconds\n";
    for (const row& r : rows) {
        for (const score& s : r.measured.scores) {
            text += formatted("%s,%ld,%ld,%ld,%.4f,%.4f,%.5f,%ld,%.1f\n", r.how.name.c_str(),
                              static_cast<long>(r.measured.train_length), static_cast<long>(s.ratio),
                              static_cast<long>(s.length), s.perplexity, s.perplexity_last, s.accuracy,
                              static_cast<long>(r.measured.steps), r.measured.seconds);
        }
    }
    return text;
}

std::string main_table(const std::vector<row>& rows) {
    const auto best_perplexity = best_of_columns(rows, 1.0, [](const score& s) { return s.perplexity; });
    const auto best_accuracy = best_of_columns(rows, -1.0, percent);
    std::string text = heading(rows, {"PPL", "ACC"});
    for (const row& r : rows) {
        text += row_start(r);
        for (std::size_t i = 0; i < r.measured.scores.size(); ++i) {
            const score& s = r.measured.scores[i];
            text += formatted(" %s | %s |", cell(s.perplexity, best_perplexity[i]).c_str(),
                              cell(percent(s), best_accuracy[i]).c_str());
        }
        text += "\n";
    }
    return text;
}

std::string last_tokens_table(const std::vector<row>& rows) {
    const auto best = best_of_columns(rows, 1.0, [](const score& s) { return s.perplexity_last; });
    std::string text = heading(rows, {"PPL"});
    for (const row& r : rows) {
        text += row_start(r);
        for (std::size_t i = 0; i < r.measured.scores.size(); ++i) {
            text += formatted(" %s |", cell(r.measured.scores[i].perplexity_last, best[i]).c_str());
        }
        text += "\n";
    }
    return text;
}

}  // namespace demo
