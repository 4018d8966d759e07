// SPDX-License-Identifier: MIT
// The panels and bars of the study.
#include "report/study_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "methods.hpp"
#include "report/formatted.hpp"
#include "report/gnuplot.hpp"
#include "report/panels.hpp"
#include "row_names.hpp"

namespace demo {
namespace {

constexpr pictured none{row::no_scaling, "no scaling", false};
constexpr pictured parts{row::by_parts, "by parts", false};
constexpr pictured parts_log{row::by_parts_log_scaled, "by parts + log scaling", false};
constexpr pictured parts_searched{row::by_parts_searched, "by parts, searched"};
constexpr pictured table{row::learned, "basis + temperature"};
constexpr pictured by_head{row::searched_then_by_head, "searched, then by head"};
constexpr pictured both{row::searched_then_by_layer, "searched, then by layer"};
constexpr pictured clex{row::clex_log_time, "CLEX in log time"};

const few_rows of_matches{none, parts_log, parts_searched, by_head, clex, both};
const few_rows of_losses{none, parts, parts_log, parts_searched, by_head, table, both};
const few_rows of_bases{table, clex, parts};  // in this order, the last above
const few_rows* const of_panels[] = {&of_matches, &of_losses, &of_bases};

panel losses_of(const study& what, measure of, const std::string& title, double highest) {
    panel p{"perplexity of " + title,
            "length of the window",
            "perplexity",
            1.0,
            highest,
            true,
            std::exp2(0.03),
            "set logscale y\nset ytics (1, 2, 5, 10, 20, 50, 100, 200)\nset xtics (",
            {}};
    for (const index_t ratio : what.s.ratios) {
        p.commands += formatted("%s'%ldL' %ld", ratio == what.s.ratios.front() ? "" : ", ", n(ratio), n(ratio));
    }
    p.commands += formatted(")\nset xrange [0.85:%.3f]\n", 1.15 * static_cast<double>(what.s.ratios.back()));
    p.lowest = highest;
    for (const pictured& shown : of_losses) {
        if (!what.rows.has_row(shown.row)) continue;
        line& l = p.lines.emplace_back(line{shown, {}});
        for (const index_t ratio : what.s.ratios) {
            const estimate e = what.rows.mean(shown.row, {of, ratio * what.s.train_length});
            l.points.push_back({static_cast<double>(ratio), std::exp(e.mean), std::exp(e.low()), std::exp(e.high())});
            p.lowest = std::min(p.lowest, 0.9 * l.points.back().low);
        }
    }
    return p;
}

std::vector<double> log_alpha_of(const study& what, const method& m, std::uint64_t seed) {
    const cordage::any_policy policy =
        m.finds_numbers() ? m.policy_of(what.rows.of(m.name, seed).policy_parameters) : m.reads.policy;
    std::vector<double> log_alpha(static_cast<std::size_t>(what.s.rope().pairs()));
    policy.log_alpha(what.s.rope(), what.s.learning.t_learned, log_alpha);
    return log_alpha;
}

line basis_line(const pictured& shown, const std::vector<double>& log_alpha) {
    line l{shown, {}};
    for (std::size_t i = 0; i < log_alpha.size(); ++i) {
        const double alpha = std::exp(log_alpha[i]);
        l.points.push_back({static_cast<double>(i), alpha, alpha, alpha});
    }
    return l;
}

panel panel_of_bases(const study& what, const std::string& title) {
    const double t = what.s.learning.t_learned;
    return {title,
            "pair, fastest first",
            formatted("α at t = %g", t),
            0.125 / t,
            2.0,
            true,
            1.0,
            formatted("unset logscale x\nset logscale y 2\nset xrange [0:%ld]\nset xtics 2\nset ytics ('2' 2, '1' 1, "
                      "'1/2' 0.5, '1/4' 0.25, "
                      "'1/8' 0.125, '1/32' 0.03125)\nset label '1/t' at 0.2,%.4f "
                      "offset 0,0.6 textcolor rgb "
                      "'#555555'\nset arrow 1 from 0,%.4f to "
                      "%ld,%.4f nohead lc rgb '#555555' dt 3\n",
                      n(what.s.rope().pairs() - 1), 1.0 / t, 1.0 / t, n(what.s.rope().pairs() - 1), 1.0 / t),
            {}};
}

std::vector<panel> bases(const study& what) {
    panel means = panel_of_bases(what, "means over models"),
          models = panel_of_bases(what, "learned on each model, as a table");
    const std::vector<method> rows = rows_of(what.s);
    if (what.rows.has_row(table.row)) {
        const auto m = std::find_if(rows.begin(), rows.end(), [&](const method& r) { return r.name == table.row; });
        pictured shown = table;
        shown.label = "learned, one line per model";
        for (const std::uint64_t seed : what.rows.seeds(table.row)) {
            models.lines.push_back(basis_line(shown, log_alpha_of(what, *m, seed)));
            shown.label = "";
        }
    }
    for (const pictured& shown : of_bases) {
        const auto m = std::find_if(rows.begin(), rows.end(), [&](const method& r) { return r.name == shown.row; });
        if (m == rows.end() || (m->finds_numbers() && !what.rows.has_row(m->name))) continue;
        if (!m->finds_numbers()) {
            const line l = basis_line(shown, log_alpha_of(what, *m, what.s.seed));
            means.lines.push_back(l);
            models.lines.push_back(l);
            continue;
        }
        const auto seeds = what.rows.seeds(m->name);
        std::vector<double> mean(static_cast<std::size_t>(what.s.rope().pairs()));
        for (const std::uint64_t seed : seeds) {
            const std::vector<double> one = log_alpha_of(what, *m, seed);
            for (std::size_t i = 0; i < one.size(); ++i) mean[i] += one[i] / static_cast<double>(seeds.size());
        }
        means.lines.push_back(basis_line(shown, mean));
    }
    return {models, means};
}

// Over frozen weights: closed forms and what is chosen or learned for a model.
const std::vector<std::string> rows_of_reach{row::no_scaling,
                                             "no scaling + log scaling",
                                             row::linear,
                                             row::ntk_aware,
                                             "NTK-aware + log scaling",
                                             "YaRN",
                                             "YaRN + log scaling",
                                             row::by_parts,
                                             row::by_parts_log_scaled,
                                             row::by_parts_searched,
                                             row::learned,
                                             row::learned_by_head,
                                             row::searched_then_by_head,
                                             row::searched_then_learned,
                                             row::searched_then_by_layer,
                                             row::five_knots_all_t,
                                             row::clex_log_time,
                                             row::clex_all_t};

bool draw_reach(const study& what, const std::string& name, const std::filesystem::path& folder) {
    std::vector<std::string> rows;
    for (const std::string& row : rows_of_reach) {
        if (what.rows.has_row(row)) rows.push_back(row);
    }
    if (rows.empty()) return false;
    std::string tics;
    std::vector<curve> curves;
    const long trained = n(what.s.train_length), first = trained / 2;
    std::string of_models;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t place = rows.size() - i;
        tics += formatted("%s%s %zu", i == 0 ? "" : ", ", demo::quoted(rows[i]).c_str(), place);
        const double tokens = what.rows.reach_of(rows[i]).tokens;
        curves.push_back({formatted("%.6g %zu\n", std::max(tokens, static_cast<double>(first)), place),
                          formatted("using 1:2:(%ld):1:($2-0.32):($2+0.32) with boxxyerror lc rgb '%s'", first,
                                    colour_of(rows[i]).c_str())});
        for (const std::uint64_t seed : what.rows.seeds(rows[i])) {
            const double of_model = what.rows.reach_of(rows[i], seed).tokens;
            of_models += formatted("%.6g %zu\n", std::max(of_model, static_cast<double>(first)), place);
        }
    }
    curves.push_back({of_models, "with points pt 7 ps 0.4 lc rgb '#222222'"});
    std::string lengths;
    for (const index_t length : what.rows.lengths()) {
        lengths += formatted("%s'%ld' %ld", lengths.empty() ? "" : ", ", n(length), n(length));
    }
    draw(folder, name, 900, 110 + 22 * static_cast<int>(rows.size()),
         formatted("set logscale x 2\nset xrange [%ld:%ld]\nset yrange [0.4:%zu.6]\nset border 3\nunset key\n"
                   "set ytics nomirror (%s)\nset xtics nomirror (%s)\nset grid x lc rgb '#dddddd' lt 1\nset rmargin 4\n"
                   "set xlabel 'reach, tokens; a dot for each model'\nset style fill solid\n"
                   "set arrow 1 from %ld,graph 0 to %ld,graph 1 nohead lc rgb '#555555' dt 3 front\n",
                   first, n(what.s.longest()), rows.size(), tics.c_str(), lengths.c_str(), trained, trained) +
             plot(curves, "reach"));
    return true;
}

// Draws NAME.gp, .svg and .png, unless there is nothing to show.
struct drawing {
    const char *name, *says;
    bool (*draw)(const study& what, const std::string& name, const std::filesystem::path& folder);
};
constexpr drawing drawings[] = {{"match_over_distance", "match over the distance of what is looked up",
                                 [](const study& what, const std::string& name, const std::filesystem::path& folder) {
                                     return draw_panels(
                                         {matches_at(what.s, what.rows, of_matches, what.s.learned_length()),
                                          matches_at(what.s, what.rows, of_matches, what.s.longest())},
                                         name, folder);
                                 }},
                                {"loss_over_length", "perplexity over length",
                                 [](const study& what, const std::string& name, const std::filesystem::path& folder) {
                                     return draw_panels({losses_of(what, measure::plain_loss, "plain tokens", 200.0),
                                                         losses_of(what, measure::copy_loss, "copied tokens", 100.0)},
                                                        name, folder);
                                 }},
                                {"bases", "alpha over the pairs",
                                 [](const study& what, const std::string& name, const std::filesystem::path& folder) {
                                     return draw_panels(bases(what), name, folder);
                                 }},
                                {"reach", "reach of each row", draw_reach}};

}  // namespace

std::vector<std::string> pictured_rows() {
    std::set<std::string> names(rows_of_reach.begin(), rows_of_reach.end());
    for (const few_rows* some : of_panels) {
        for (const pictured& shown : *some) names.insert(shown.row);
    }
    return {names.begin(), names.end()};
}

std::vector<picture> study_pictures() {
    std::vector<picture> pictures;
    for (const drawing& d : drawings) pictures.push_back({d.name, d.says, false});
    return pictures;
}

std::vector<picture> draw_study(const study& what, const std::filesystem::path& folder) {
    std::vector<picture> pictures;
    for (const drawing& d : drawings) pictures.push_back({d.name, d.says, d.draw(what, d.name, folder)});
    return pictures;
}

std::vector<block> picture_blocks(const std::vector<picture>& pictures, const std::string& folder) {
    std::vector<block> blocks;
    for (const picture& p : pictures) {
        blocks.push_back({p.name, "",
                          p.is_drawn ? "![" + p.says + "](" + folder + "/" + p.name + ".svg)\n"
                                     : "The rows of this picture have not been run.\n"});
    }
    return blocks;
}

}  // namespace demo
