// SPDX-License-Identifier: MIT
// Results as lines of text: a word, then numbers.
#include "runner/results.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

namespace demo {
namespace {

// A number, "inf" too, which >> does not read.
double number(std::istream& in) {
    std::string word;
    in >> word;
    return std::strtod(word.c_str(), nullptr);
}

}  // namespace

void save(const result& r, const std::filesystem::path& file) {
    std::ofstream out(file);
    out.precision(17);
    out << "settings " << r.settings << '\n';
    out << "run " << r.seconds << ' ' << r.steps << ' ' << r.train_length << '\n';
    for (const score& s : r.scores) {
        out << "score " << s.ratio << ' ' << s.length << ' ' << s.perplexity << ' ' << s.perplexity_last << ' '
            << s.accuracy << ' ' << s.perplexity_sliding << '\n';
    }
    for (const recall& found : r.recalls) {
        out << "recall " << found.distance << ' ' << found.accuracy << ' ' << found.gain << '\n';
    }
    for (const double loss : r.losses) out << "loss " << loss << '\n';
    for (const double number : r.policy_parameters) out << "parameter " << number << '\n';
    out << "end\n";
    if (!out.flush()) throw std::runtime_error("demo: cannot write " + file.string());
}

result load_result(const std::filesystem::path& file) {
    std::ifstream in(file);
    result r;
    std::string word;
    while (in >> word && word != "end") {
        if (word == "settings") {
            std::getline(in >> std::ws, r.settings);
        } else if (word == "run") {
            in >> r.seconds >> r.steps >> r.train_length;
        } else if (word == "score") {
            score& s = r.scores.emplace_back();
            in >> s.ratio >> s.length;
            for (double* value : {&s.perplexity, &s.perplexity_last, &s.accuracy, &s.perplexity_sliding}) {
                *value = number(in);
            }
        } else if (word == "recall") {
            recall& found = r.recalls.emplace_back();
            in >> found.distance >> found.accuracy >> found.gain;
        } else if (word == "loss") {
            in >> r.losses.emplace_back();
        } else if (word == "parameter") {
            in >> r.policy_parameters.emplace_back();
        }
    }
    if (word != "end") throw std::runtime_error("demo: cannot read the results in " + file.string());
    return r;
}

}  // namespace demo
