// SPDX-License-Identifier: MIT
// The demo's stages, in order.
#include "experiment.hpp"

#include <cstdio>

#include "cordage/config/longrope.hpp"
#include "report/demo_report.hpp"
#include "runner/programs.hpp"
#include "runner/runner.hpp"

namespace demo {
namespace {

// A basis and a temperature for all layers, for engines without cordage: LongRoPE's factors and the attention factor.
void export_learned(const settings& s, const std::vector<method>& rows, const std::vector<row_result>& results) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i].finds_numbers()) continue;
        const auto policy = rows[i].policy_of(results[i].policy_parameters);
        const auto said = cordage::hf::longrope_parameters(s.rope(), policy, s.learning.t_learned);
        write(s.out / (rows[i].file_name() + ".longrope.json"), said.dump(2) + "\n");
    }
}

}  // namespace

void run_experiment(const std::string& preset, const settings& s) {
    require_program("bible", "bible-kjv and bible-kjv-text");
    require_program("gnuplot", "gnuplot-nox");
    const std::vector<part> parts{{s, rows_of(s)}};
    progress shown(stages_of(parts) + 1);
    const std::vector<row_result> results = run_parts(preset, parts, shown);

    shown.stage("tables and pictures");
    const study_results read(results);
    const std::string tables = demo_tables(s, read);
    write(s.out / "table.md", tables);
    write(s.out / "table.csv", as_csv(read));
    plot_match(s, read, s.out);
    plot_reach(s, read, s.out);
    export_learned(s, parts.front().rows, results);
    std::printf(
        "\n%s\nwritten to %s: table.md, table.csv, match.svg, reach.svg (both also as .png) and *.longrope.json; the "
        "next run reuses the results in its folder work\n",
        tables.c_str(), s.out.c_str());
}

}  // namespace demo
