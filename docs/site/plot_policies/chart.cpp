// SPDX-License-Identifier: MIT
#include "chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "report/label_positions.hpp"

namespace {

constexpr double panel_width = 370, panel_height = 280;
constexpr double left = 48, right = 264, top = 34, bottom = 234;  // of the curves, within a panel
constexpr double label_gap = 14;
constexpr const char* colours[] = {"#24357a", "#2a7fb8", "#1b9e77", "#d08a00", "#c0392b", "#8e44ad"};

std::string number(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", x);
    std::string out = text;
    if (out.ends_with(".0")) out.resize(out.size() - 2);
    return out == "-0" ? "0" : out;
}

/// Where a value lies between the ends of an axis: 0 ... 1.
double place(const axis& a, double value) {
    const auto scaled = [&](double v) { return a.logarithmic ? std::log(v) : v; };
    const double first = scaled(a.ticks.front().first), last = scaled(std::max(a.ticks.back().first, a.last));
    return (scaled(value) - first) / (last - first);
}
double x_of(const panel& p, double x) { return left + place(p.x, x) * (right - left); }
double y_of(const panel& p, double y) { return bottom - place(p.y, y) * (bottom - top); }

std::string text(double x, double y, const std::string& words, const std::string& attributes = "") {
    return "<text x='" + number(x) + "' y='" + number(y) + "'" + attributes + ">" + words + "</text>\n";
}
std::string line(double x0, double y0, double x1, double y1, const std::string& attributes) {
    return "<path d='M" + number(x0) + " " + number(y0) + "L" + number(x1) + " " + number(y1) + "'" + attributes +
           "/>\n";
}

bool has_place(const panel& p, const std::pair<double, double>& at) {
    return std::isfinite(at.second) && (!p.y.logarithmic || at.second > 0.0) && place(p.x, at.first) <= 1.0;
}

bool is_drawn(const panel& p, const std::pair<double, double>& at) {
    return has_place(p, at) && place(p.y, at.second) >= -0.02 && place(p.y, at.second) <= 1.0 + 1e-9;
}

/// A path through the points, of which those that lie on a straight line with their neighbours are left out.
std::string path(const panel& p, const curve& c) {
    std::string out;
    std::vector<std::pair<double, double>> run;
    const auto flush = [&] {
        for (std::size_t i = 0; i < run.size(); ++i) {
            if (i > 0 && i + 1 < run.size()) {
                const auto [x0, y0] = run[i - 1];
                const auto [x1, y1] = run[i + 1];
                const double share = (run[i].first - x0) / (x1 - x0);
                if (std::fabs(y0 + share * (y1 - y0) - run[i].second) < 1e-6) continue;
            }
            out += (i == 0 ? "M" : "L") + number(run[i].first) + " " + number(run[i].second);
        }
        run.clear();
    };
    for (const auto& at : c.points) {
        if (is_drawn(p, at)) {
            run.emplace_back(x_of(p, at.first), y_of(p, at.second));
        } else {
            flush();
        }
    }
    flush();
    return out;
}

/// The height at which a curve ends, within the panel.
double end_of(const panel& p, const curve& c) {
    const auto last =
        std::find_if(c.points.rbegin(), c.points.rend(), [&](const auto& at) { return has_place(p, at); });
    return last == c.points.rend() ? bottom : std::clamp(y_of(p, last->second), top, bottom);
}

std::string drawn(const panel& p) {
    std::string out = text(left, 20, p.title, " font-weight='bold'");
    for (const auto& [value, words] : p.x.ticks) {
        out += line(x_of(p, value), top, x_of(p, value), bottom, " stroke='#dddddd'");
        out += text(x_of(p, value), bottom + 16, words, " text-anchor='middle'");
    }
    for (const auto& [value, words] : p.y.ticks) {
        out += line(left, y_of(p, value), right, y_of(p, value), " stroke='#dddddd'");
        out += text(left - 6, y_of(p, value) + 4, words, " text-anchor='end'");
    }
    out += text((left + right) / 2, bottom + 36, p.x.title, " text-anchor='middle'");
    out += text(left - 6, top - 10, p.y.title, " text-anchor='end'");
    std::vector<double> ends;
    for (const curve& c : p.curves) ends.push_back(end_of(p, c));
    ends = demo::label_positions(ends, label_gap, top, bottom);
    for (std::size_t i = 0; i < p.curves.size(); ++i) {
        const curve& c = p.curves[i];
        const std::string colour = c.dashed ? "#777777" : colours[i % std::size(colours)];
        out += "<path d='" + path(p, c) + "' fill='none' stroke-width='2' stroke='" + colour +
               (c.dashed ? "' stroke-dasharray='5 4'/>\n" : "'/>\n");
        out += text(right + 6, ends[i] + 4, c.name, " fill='" + colour + "'");
    }
    return out;
}

}  // namespace

std::string svg_of(const std::vector<panel>& panels, std::size_t columns) {
    const std::size_t across = std::min(columns, panels.size()), rows = (panels.size() + across - 1) / across;
    const std::string width = number(panel_width * static_cast<double>(across)),
                      height = number(panel_height * static_cast<double>(rows));
    std::string out = "<svg xmlns='http://www.w3.org/2000/svg' width='" + width + "' height='" + height +
                      "' viewBox='0 0 " + width + " " + height +
                      "' font-family='sans-serif' font-size='12' fill='#333333'>\n"
                      "<rect width='100%' height='100%' rx='6' fill='#ffffff'/>\n";
    for (std::size_t i = 0; i < panels.size(); ++i) {
        const std::size_t row = i / across, column = i % across;
        const double x = panel_width * static_cast<double>(column), y = panel_height * static_cast<double>(row);
        out += "<g transform='translate(" + number(x) + (y > 0.0 ? " " + number(y) : "") + ")'>\n" + drawn(panels[i]) +
               "</g>\n";
    }
    return out + "</svg>\n";
}
