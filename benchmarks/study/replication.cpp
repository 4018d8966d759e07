// SPDX-License-Identifier: MIT
// From seeds to parts, and from results to the report.
#include "replication.hpp"

#include <cstdio>

#include "report/study_report.hpp"
#include "runner/runner.hpp"

namespace demo {

void run_replication(const std::string& preset, const settings& s, std::uint64_t models) {
    std::vector<part> parts;
    for (std::uint64_t seed = 1; seed <= models; ++seed) {
        settings of_model = s;
        of_model.seed = seed;
        std::vector<method> rows = rows_of(of_model);
        if (seed > models_of_other_rows) std::erase_if(rows, [](const method& how) { return !how.is_main; });
        parts.push_back({of_model, rows});
    }
    progress shown(stages_of(parts) + 1);
    const study_results results(run_parts(preset, parts, shown));

    shown.stage("tables");
    const std::string tables = study_tables(s, results);
    write(s.out / "tables.md", tables);
    std::printf("\n%s\nwritten: tables.md, and the rows' observations in work, in %s\n", tables.c_str(), s.out.c_str());
}

}  // namespace demo
