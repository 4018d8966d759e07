// SPDX-License-Identifier: MIT
// Perplexity and accuracy over length, loss over steps, recall over distance, learned alpha over t.
#include "report/study_plots.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "report/formatted.hpp"
#include "report/gnuplot.hpp"
#include "report/plots.hpp"

namespace demo {
namespace {

std::string file_name(const study& st) {
    std::string name = st.name;
    for (char& c : name) c = c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name;
}

bool learns(const row_of_seeds& r) { return r.seeds.front()->measured.steps > 0; }

std::string axes(const std::string& x, const std::string& y) {
    return "set grid lc rgb '#cccccc'\nset border 3\nset tics nomirror\nset key outside right top reverse Left samplen "
           "3\n"
           "set xlabel '" +
           x + "'\nset ylabel '" + y + "'\n";
}

int height_of(const std::vector<row_of_seeds>& rows) { return std::max(420, 120 + 24 * static_cast<int>(rows.size())); }

// Curves with their spread, of value(score) over the ratio of lengths.
std::vector<curve> over_length(const std::vector<row_of_seeds>& rows, double (*value)(const score&)) {
    std::vector<curve> curves;
    for (const row_of_seeds& r : rows) {
        if (std::isinf(r.seeds.front()->measured.scores.back().perplexity)) continue;  // it diverged
        std::string data;
        for (std::size_t i = 0; i < r.seeds.front()->measured.scores.size(); ++i) {
            std::vector<double> values;
            for (const measured_row* m : r.seeds) values.push_back(value(m->measured.scores[i]));
            const auto [mean, spread] = summarized(values);
            data += formatted("%ld %.6g %.6g\n", static_cast<long>(r.seeds.front()->measured.scores[i].ratio), mean,
                              spread);
        }
        const std::size_t number = curves.size();
        curves.push_back({data, "with yerrorlines " + line_style(number, learns(r)) + " " + point_style(number) +
                                    " title " + quoted(r.name)});
    }
    return curves;
}

const std::string length_axis = "set logscale x\nset xrange [0.9:18]\nset xtics (1, 2, 4, 8, 16)\n";

void plot_perplexity(const study& st, const std::vector<row_of_seeds>& rows, const std::filesystem::path& out) {
    draw(out, file_name(st) + "_perplexity", 1000, height_of(rows),
         axes("length / L", "perplexity") + length_axis +
             "set logscale y\nset autoscale yfix\nset ytics add (15, 20, 25, 30, 40, 50, 60, 80, 150)\n" +
             plot(over_length(rows, [](const score& s) { return s.perplexity; }), "lines"));
}

void plot_accuracy(const study& st, const std::vector<row_of_seeds>& rows, const std::filesystem::path& out) {
    draw(out, file_name(st) + "_accuracy", 1000, height_of(rows),
         axes("length / L", "next tokens guessed right, percent") + length_axis +
             plot(over_length(rows, [](const score& s) { return 100.0 * s.accuracy; }), "lines"));
}

void plot_losses(const study& st, const std::vector<row_of_seeds>& rows, const std::filesystem::path& out) {
    std::vector<curve> curves;
    for (const row_of_seeds& r : rows) {
        const result& measured = r.seeds.front()->measured;
        if (measured.losses.empty()) continue;
        std::string data;
        for (std::size_t i = 0; i < measured.losses.size(); ++i) {
            const double share = (static_cast<double>(i) + 1.0) / static_cast<double>(measured.losses.size());
            data += formatted("%.1f %.6g\n", share * static_cast<double>(measured.steps), measured.losses[i]);
        }
        curves.push_back({data, "with lines " + line_style(curves.size(), true) + " title " + quoted(r.name)});
    }
    if (curves.empty()) return;
    draw(out, file_name(st) + "_losses", 1000, height_of(rows),
         axes("step", "loss, nats a token") + plot(curves, "lines"));
}

void plot_recall(const study& st, const std::vector<row_of_seeds>& rows, const std::filesystem::path& out) {
    std::string data, names, distances;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& recalls = rows[i].seeds.front()->measured.recalls;
        names += formatted("%s%s %zu", i == 0 ? "" : ", ", quoted(rows[i].name).c_str(), i);
        for (std::size_t j = 0; j < recalls.size(); ++j) {
            std::vector<double> gains;
            for (const measured_row* m : rows[i].seeds) gains.push_back(m->measured.recalls[j].gain);
            data += formatted("%zu %zu %.4g\n", j, i, summarized(gains).mean);
            if (i == 0)
                distances += formatted("%s'%ld' %zu", j == 0 ? "" : ", ", static_cast<long>(recalls[j].distance), j);
        }
        data += "\n";
    }
    draw(out, file_name(st) + "_recall", 900, height_of(rows),
         "$cells << END\n" + data + "END\nset border 0\nset tics scale 0 font ',10'\nunset key\nset xtics (" +
             distances + ")\nset ytics (" + names +
             ")\nset yrange [*:*] reverse\nset xlabel 'tokens between the phrase and its return'\n"
             "set cblabel 'nats a token gained'\nset palette defined (0 '#ffffff', 1 '#0072b2')\nset cbrange [0:*]\n"
             "plot $cells using 1:2:3 with image, $cells using 1:2:(sprintf('%.2f', $3)) with labels font ',10'\n");
}

// The bases that learn beside the closed forms they begin as, of one seed.
void plot_bases(const settings& s, const study& st, const std::vector<row_of_seeds>& rows,
                const std::filesystem::path& out) {
    std::vector<row> shown;
    for (const row_of_seeds& r : rows) {
        const method& how = r.seeds.front()->how;
        const bool is_prior = how.name == "frozen: by parts" || how.name == "frozen: NTK-aware";
        if (is_prior || learns(r)) shown.push_back({how, r.seeds.front()->measured});
    }
    plot_basis(s, shown, out, file_name(st) + "_bases");
}

}  // namespace

void plot_studies(const settings& s, const std::vector<study>& all, const std::vector<measured_row>& rows,
                  const std::filesystem::path& out) {
    for (const study& st : all) {
        const auto shown = rows_of(st, rows);
        plot_perplexity(st, shown, out);
        plot_losses(st, shown, out);
        if (st.shows_bases) plot_bases(s, st, shown, out);
        if (!st.shows_recall) continue;
        plot_accuracy(st, shown, out);
        plot_recall(st, shown, out);
    }
}

}  // namespace demo
