// SPDX-License-Identifier: MIT
// From numbers to sentences.
#include "report/findings.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/bases.hpp"

namespace demo {
namespace {

constexpr double resolved = 1.0;  // percent: smaller differences may be the seed's

// Which differences are spelled out.
constexpr std::pair<const char*, const char*> compared[] = {
    {"frozen: learned table", "frozen: by parts"},
    {"frozen: CLEX in log time", "frozen: by parts"},
    {"frozen: CLEX in log time", "frozen: learned table"},
    {"tuned at L: CLEX + random positions", "tuned at L: CLEX + two runs"},
    {"tuned at L: CLEX + random positions", "tuned at 4L: no scaling"},
    {"tuned at L: CLEX + two runs", "tuned at L: NTK-aware + two runs"},
    {"tuned at L: CLEX + two runs", "tuned at 4L: no scaling"},
    {"tuned at L: NTK-aware + two runs", "tuned at 4L: no scaling"},
};

long as_long(index_t n) { return static_cast<long>(n); }

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) text += i + 1 < parts.size() ? ", " : " and ";
        text += parts[i];
    }
    return text;
}

const row* find(const std::vector<row>& rows, const std::string& name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const row& r) { return r.how.name == name; });
    return found == rows.end() ? nullptr : &*found;
}

std::string best_rows(const std::vector<row>& rows) {
    std::string text = "Lowest perplexity:";
    const auto& scores = rows.front().measured.scores;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const auto best = std::min_element(rows.begin(), rows.end(), [i](const row& a, const row& b) {
            return a.measured.scores[i].perplexity < b.measured.scores[i].perplexity;
        });
        text += formatted("%s at %ld× *%s* (%.2f)", i == 0 ? "" : ";", as_long(scores[i].ratio), best->how.name.c_str(),
                          best->measured.scores[i].perplexity);
    }
    return text + ".\n";
}

// "better at 8×, worse at 16×", by differences in percent.
std::string verdict(const row& mine, const std::vector<double>& differences) {
    std::vector<std::string> better, same, worse;
    for (std::size_t i = 0; i < differences.size(); ++i) {
        auto& list = differences[i] <= -resolved ? better : differences[i] >= resolved ? worse : same;
        list.push_back(formatted("%ld×", as_long(mine.measured.scores[i].ratio)));
    }
    std::vector<std::string> parts;
    if (!better.empty()) parts.push_back("better at " + joined(better));
    if (!worse.empty()) parts.push_back("worse at " + joined(worse));
    if (!same.empty()) parts.push_back("not told apart at " + joined(same));
    return joined(parts);
}

std::string comparison(const row& mine, const row& other) {
    std::string numbers;
    std::vector<double> differences;
    for (const score& s : mine.measured.scores) {
        differences.push_back(100.0 * (s.perplexity / other.at(s.ratio).perplexity - 1.0));
        numbers += formatted("%s%+.1f %% at %ld×", numbers.empty() ? "" : ", ", differences.back(), as_long(s.ratio));
    }
    return "- *" + mine.how.name + "* against *" + other.how.name + "*: " + numbers + "; " +
           verdict(mine, differences) + ".\n";
}

// Change of the last tokens' perplexity from the shortest window to the longest, in percent.
double change_with_context(const row& r) {
    const auto& scores = r.measured.scores;
    return 100.0 * (scores.back().perplexity_last / scores.front().perplexity_last - 1.0);
}

// The same tokens with 16 times the text before them: a model that uses it guesses them better.
std::string use_of_context(const std::vector<row>& rows) {
    std::vector<std::string> lower, unchanged;
    std::vector<const row*> higher;
    for (const row& r : rows) {
        const double change = change_with_context(r);
        const std::string named = formatted("*%s* (%+.1f %%)", r.how.name.c_str(), change);
        if (change <= -resolved) {
            lower.push_back(named);
        } else if (change < resolved) {
            unchanged.push_back(named);
        } else {
            higher.push_back(&r);
        }
    }
    const long most = as_long(rows.front().measured.scores.back().ratio);
    std::string text = formatted(
        "The last tokens of a stretch are the same at every length, so a row that makes use of "
        "%ld times the text guesses them better at %ld× than at 1×. ",
        most, most);
    text += lower.empty() ? "No row does" : "These do: " + joined(lower);
    if (!unchanged.empty()) text += "; no change in " + joined(unchanged);
    if (!higher.empty()) {
        const auto less = [](const row* a, const row* b) { return change_with_context(*a) < change_with_context(*b); };
        const auto [least, greatest] = std::minmax_element(higher.begin(), higher.end(), less);
        text += formatted(
            "; in %zu rows they are guessed worse, by %.1f %% (*%s*) to %.1f %% (*%s*): those limit the "
            "damage of a long text and gain nothing from it",
            higher.size(), change_with_context(**least), (*least)->how.name.c_str(), change_with_context(**greatest),
            (*greatest)->how.name.c_str());
    }
    return text + ".\n";
}

}  // namespace

std::string findings(const std::vector<row>& rows) {
    std::string text = best_rows(rows) + "\n";
    text += formatted(
        "Differences in perplexity between rows (negative: the first is better; below %.0f %% not told "
        "apart, as this is one base model and one seed):\n\n",
        resolved);
    for (const auto& [name, other] : compared) {
        const row *first = find(rows, name), *second = find(rows, other);
        if (first != nullptr && second != nullptr) text += comparison(*first, *second);
    }
    return text + "\n" + use_of_context(rows);
}

std::string setting(const settings& s, const std::vector<row>& rows) {
    const auto steps = [](const training_run& run) { return as_long(run.steps); };
    return formatted(
        "King James text (%s: %ld stretches of %ld tokens, the same at every length), %ld byte-pair tokens; a "
        "Llama-style "
        "decoder of width %ld with %ld layers, pretrained for %ld steps of %ld tokens at L = %ld. *frozen*: the "
        "weights "
        "stay as pretrained (a learned basis trains for %ld steps on windows of up to %ld tokens); *tuned*: the "
        "weights "
        "train on for %ld steps, at the train length given. Rows of fixed t are evaluated at max(t of training, length "
        "/ "
        "L), the others at length / L. By parts is %s. PPL: perplexity over all tokens of windows that do not overlap; "
        "ACC: next tokens guessed right, in percent; bold: best of its column among %zu rows. Seed %llu.\n",
        s.evaluate_on_dev ? "dev: Romans to Colossians" : "test: 1 Thessalonians to Revelation",
        as_long(s.evaluated_blocks), as_long(s.longest()), as_long(s.model.vocabulary), as_long(s.model.width),
        as_long(s.model.layers), steps(s.pretraining), as_long(s.tokens_per_step), as_long(s.train_length),
        steps(s.frozen_weights), as_long(s.longest()), steps(s.continuing), parts_in_words().c_str(), rows.size(),
        static_cast<unsigned long long>(s.seed));
}

}  // namespace demo
