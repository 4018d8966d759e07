// SPDX-License-Identifier: MIT
// The demo's pictures.
#include "report/plots.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "report/gnuplot.hpp"

namespace demo {
namespace {

bool learns(const row& r) { return r.how.training.has_value(); }

bool weights_learn(const row& r) { return r.how.training && r.how.training->weights_learn; }

// The part of a row's name after its group, "frozen: " or "tuned ".
std::string short_name(const row& r) {
    const std::string &name = r.how.name, group = weights_learn(r) ? "tuned " : "frozen: ";
    return name.starts_with(group) ? name.substr(group.size()) : name;
}

std::string perplexity_panel(const std::vector<row>& rows, bool tuned) {
    std::vector<curve> curves;
    for (const row& r : rows) {
        if (weights_learn(r) != tuned) continue;
        std::string data;
        for (const score& s : r.measured.scores) {
            data += formatted("%ld %.6g\n", static_cast<long>(s.length), s.perplexity);
        }
        const std::string style = line_style(curves.size(), learns(r));
        curves.push_back({data, formatted("with linespoints pt 7 ps 0.5 %s title %s", style.c_str(),
                                          quoted(short_name(r)).c_str())});
    }
    return plot(curves, tuned ? "tuned" : "frozen");
}

// alpha of one pair over t, for every row whose weights are frozen.
std::vector<curve> basis_curves(const settings& s, const std::vector<row>& rows, index_t pair) {
    constexpr int points = 49;
    const cordage::rope_config config = s.rope();
    std::vector<double> log_alpha(static_cast<std::size_t>(config.pairs()));
    std::vector<curve> curves;
    for (const row& r : rows) {
        if (weights_learn(r)) continue;
        const auto policy = r.how.policy.with_parameters(r.measured.policy_parameters);
        std::string data;
        for (int i = 0; i < points; ++i) {
            const double t = std::min(s.t_train, std::pow(s.t_train, i / (points - 1.0)));
            policy.log_alpha(config, t, log_alpha);
            data += formatted("%.6g %.6g\n", t, std::exp(log_alpha[static_cast<std::size_t>(pair)]));
        }
        curves.push_back({data, formatted("with lines %s notitle", line_style(curves.size(), learns(r)).c_str())});
    }
    return curves;
}

// An empty panel that explains the lines of the others.
std::string basis_key(const std::vector<row>& rows) {
    std::string lines;
    std::size_t i = 0;
    for (const row& r : rows) {
        if (weights_learn(r)) continue;
        lines += formatted("%s NaN with lines %s title %s", i == 0 ? "plot" : ",", line_style(i, learns(r)).c_str(),
                           quoted(short_name(r)).c_str());
        ++i;
    }
    return "set title ' '\nunset xlabel\nunset ylabel\nunset border\nunset tics\n"
           "set key at graph -0.25,0.9 left top reverse Left samplen 2\n" +
           lines + "\n";
}

}  // namespace

void plot_perplexity(const std::vector<row>& rows, const std::filesystem::path& folder) {
    double lowest = rows.front().measured.scores.front().perplexity, highest = lowest;
    std::string lengths;
    for (const score& s : rows.front().measured.scores) {
        const long length = static_cast<long>(s.length);
        lengths += formatted("%s'%ld' %ld", lengths.empty() ? "" : ", ", length, length);
    }
    for (const row& r : rows) {
        for (const score& s : r.measured.scores) {
            lowest = std::min(lowest, s.perplexity);
            highest = std::max(highest, s.perplexity);
        }
    }
    const std::string axes =
        formatted("set xtics nomirror (%s)\nset yrange [%.4g:%.4g]\n", lengths.c_str(), 0.95 * lowest, 1.02 * highest);
    draw(folder, "perplexity", 1000, 480,
         "set multiplot layout 1,2\nset logscale x 2\nset grid lc rgb '#cccccc'\nset border 3\n"
         "set ytics nomirror\nset key top left reverse Left samplen 3\n"
         "set xlabel 'tokens of a window'\nset ylabel 'perplexity'\n" +
             axes + "set title 'weights frozen'\n" + perplexity_panel(rows, false) + "set title 'weights tuned'\n" +
             perplexity_panel(rows, true) + "unset multiplot\n");
}

void plot_basis(const settings& s, const std::vector<row>& rows, const std::filesystem::path& folder,
                const std::string& name) {
    const cordage::rope_config config = s.rope();
    std::string commands =
        "set multiplot layout 2,4\nset logscale xy\nset grid lc rgb '#cccccc'\nset border 3\nset xrange [1:16]\n"
        "set xtics nomirror (1, 2, 4, 8, 16)\n"
        "set ytics nomirror ('1' 1, '1/2' 0.5, '1/4' 0.25, '1/8' 0.125, '1/16' 0.0625, '1/32' 0.03125)\n"
        "set yrange [0.03:1.3]\nset xlabel 't' offset 0,0.5\nset ylabel 'alpha' offset 1,0\n";
    for (const index_t pair : {1, 3, 4, 5, 6, 8, 12}) {
        if (pair >= config.pairs()) continue;
        const double turns = config.original_length * config.inv_freq(pair) / (2.0 * std::numbers::pi);
        commands += formatted("set title 'pair %ld: %.2g turns in L'\n", static_cast<long>(pair), turns) +
                    plot(basis_curves(s, rows, pair), formatted("pair%ld", static_cast<long>(pair)));
    }
    draw(folder, name, 1200, 600, commands + basis_key(rows) + "unset multiplot\n");
}

}  // namespace demo
