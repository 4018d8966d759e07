// SPDX-License-Identifier: MIT
// The demo's stages, in order.
#include "experiment.hpp"

#include <cstdio>

#include "cordage/config/longrope.hpp"
#include "report/findings.hpp"
#include "report/plots.hpp"
#include "report/table.hpp"
#include "runner/programs.hpp"
#include "runner/runner.hpp"
#include "runner/worker.hpp"

namespace demo {
namespace {

// The basis that learned over frozen weights, for engines without cordage: LongRoPE's factors for the longest length.
void export_learned(const settings& s, const std::vector<row>& rows) {
    for (const row& r : rows) {
        if (!r.how.training || r.how.training->weights_learn) continue;
        const auto policy = r.how.policy.with_parameters(r.measured.policy_parameters);
        const auto said = cordage::hf::longrope_parameters(s.rope(), policy, s.t_train);
        write(s.out / (r.how.file_name() + ".longrope.json"), said.dump(2) + "\n");
    }
}

}  // namespace

void run_experiment(const std::string& preset, const settings& s) {
    require_program("bible", "bible-kjv and bible-kjv-text");
    require_program("gnuplot", "gnuplot-nox");
    const std::vector<part> parts{{"base", s, demo_methods(s)}};
    const work_files files(s.out);
    std::filesystem::remove_all(files.folder);
    progress shown(1 + stage_count(parts));
    run_parts(preset, parts, shown);

    shown.stage("tables and pictures");
    std::vector<row> rows;
    for (const method& how : parts[0].rows) rows.push_back({how, load_result(files.result_of(how))});
    const std::string tables = main_table(rows) + "\n" + setting(s, rows) + "\n" + findings(rows);
    const std::string last = formatted(
                                 "Perplexity of the last %ld tokens of each stretch of %ld alone, by the length of "
                                 "the window that ends with them:\n\n",
                                 static_cast<long>(s.train_length), static_cast<long>(s.longest())) +
                             last_tokens_table(rows);
    write(s.out / "table.csv", as_csv(rows));
    write(s.out / "table.md", tables + "\n" + last);
    plot_perplexity(rows, s.out);
    plot_basis(s, rows, s.out);
    export_learned(s, rows);
    std::printf(
        "\n%s\n%s\nwritten: table.csv, table.md, perplexity.svg, .png, basis.svg, .png and *.longrope.json in %s\n",
        tables.c_str(), last.c_str(), s.out.c_str());
}

}  // namespace demo
