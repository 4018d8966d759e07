// SPDX-License-Identifier: MIT
// Panels as gnuplot commands, and match over distance as one.
#include "report/panels.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "report/formatted.hpp"
#include "report/gnuplot.hpp"
#include "report/label_positions.hpp"
#include "report/octaves.hpp"

namespace demo {
namespace {

constexpr int panel_width = 760, panel_height = 340;

std::string of_panel(const panel& p, std::size_t number) {
    const auto place = [&](double y) { return p.is_logarithmic ? std::log(y) : y; };
    const auto value = [&](double at) { return p.is_logarithmic ? std::exp(at) : at; };
    std::vector<double> ends;  // of the lines that have a label
    for (const line& l : p.lines) {
        if (*l.what.label != 0) ends.push_back(place(std::clamp(l.points.back().y, p.lowest, p.highest)));
    }
    const double low = place(p.lowest), high = place(p.highest);
    ends = label_positions(ends, 0.08 * (high - low), low, high);
    auto end = ends.begin();

    std::string text = "unset label\nset title " + quoted(p.title) + "\nset xlabel " + quoted(p.x_title) +
                       "\nset ylabel " + quoted(p.y_title) + " offset 1.5,0" +
                       formatted("\nset yrange [%.6g:%.6g]\n", p.lowest, p.highest) + p.commands;
    std::vector<curve> curves;
    double shift = std::pow(p.shift, -0.5 * static_cast<double>(p.lines.size() - 1));
    for (const line& l : p.lines) {
        std::string data;
        for (const point& at : l.points) {
            data += formatted("%.6g %.6g %.6g %.6g\n", at.x * shift, at.y, std::max(at.low, p.lowest),
                              std::min(at.high, p.highest));
        }
        shift *= p.shift;
        if (*l.what.label != 0) {
            text += formatted("set label %s at graph 1.02, first %.6g textcolor rgb '%s'\n",
                              quoted(l.what.label).c_str(), value(*end++), colour_of(l.what.row).c_str());
        }
        const bool has_interval =
            l.points.front().low != l.points.front().high || l.points.back().low != l.points.back().high;
        const std::string bars =
            has_interval ? formatted("using 1:3:(0):($4-$3) with vectors nohead lw 1.2 lc rgb '%s' notitle, '' ",
                                     colour_of(l.what.row).c_str())
                         : "";
        curves.push_back({data, bars + formatted("with %s lw 2 lc rgb '%s' dt %s notitle",
                                                 has_interval ? "linespoints pt 7 ps 0.4" : "lines",
                                                 colour_of(l.what.row).c_str(), l.what.learns ? "1" : "'-'")});
    }
    return text + plot(curves, formatted("panel%zu", number));
}

}  // namespace

bool draw_panels(const std::vector<panel>& panels, const std::string& name, const std::filesystem::path& folder) {
    std::string commands = formatted(
        "set multiplot layout %zu,1\nset lmargin at screen 0.1\nset rmargin at screen 0.7\nset tmargin 2.5\n"
        "set bmargin 3.5\nset border 3\nset tics nomirror\nset grid lc rgb '#dddddd' lt 1\nset logscale x 2\nunset "
        "key\n",
        panels.size());
    std::size_t number = 0;
    for (const panel& p : panels) {
        if (p.lines.empty()) return false;
        commands += of_panel(p, number++);
    }
    draw(folder, name, panel_width, panel_height * static_cast<int>(panels.size()), commands + "unset multiplot\n");
    return true;
}

panel matches_at(const settings& s, const study_results& results, const few_rows& rows, index_t length) {
    const double chance = static_cast<double>(s.windows.tokens_a_record) / static_cast<double>(length);
    const long trained = static_cast<long>(s.train_length), longest = static_cast<long>(length);
    panel p{formatted("windows of %ld tokens, %ldL", longest, longest / trained),
            "distance back to the value, tokens",
            "match",
            0.0,
            1.02,
            false,
            std::exp2(0.06),
            formatted("set xrange [4.5:%ld]\nset xtics 8, 4, %ld\nset ytics 0.25\n"
                      "set arrow 1 from 4.5,%.4f to %ld,%.4f nohead lc rgb '#555555' dt 3\n"
                      "set label 'chance' at 4.7,%.4f textcolor rgb '#555555'\n"
                      "set arrow 2 from %ld,0 to %ld,1.02 nohead lc rgb '#555555' dt 3\n"
                      "set label 'L' at %ld, graph 1.05 center textcolor rgb '#555555'\n",
                      longest, longest, chance, longest, chance, chance + 0.035, trained, trained, trained),
            {}};
    const auto octaves = octaves_of(results.all().front(), measure::match, length);
    for (const pictured& shown : rows) {
        if (!results.has_row(shown.row)) continue;
        line& l = p.lines.emplace_back(line{shown, {}});
        for (const auto& [from, count] : octaves) {
            const estimate e = results.mean(shown.row, in_octave(measure::match, length, from));
            l.points.push_back({static_cast<double>(from) * std::numbers::sqrt2, e.mean, e.low(), e.high()});
        }
    }
    return p;
}

}  // namespace demo
