// SPDX-License-Identifier: MIT
// From seeds to parts, and from results to the report.
#include "replication.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "model/learning.hpp"
#include "report/formatted.hpp"
#include "report/page.hpp"
#include "report/study_pictures.hpp"
#include "report/study_report.hpp"
#include "runner/programs.hpp"
#include "runner/runner.hpp"
#include "runner/worker.hpp"

namespace demo {
namespace {

// Adds the result if it is there and of these settings.
void add_result(const std::filesystem::path& file, const std::string& described, std::vector<row_result>& results) {
    if (!std::filesystem::exists(file)) return;
    row_result r = load_row_result(file);
    if (r.settings == described) results.push_back(std::move(r));
}

std::vector<row_result> results_there(const std::vector<part>& parts) {
    std::vector<row_result> results;
    for (const part& p : parts) {
        for (const method& m : p.rows) {
            add_result(work_files(p.s).result_of(m.file_name()), described(p.s, m), results);
        }
    }
    if (results.empty()) {
        throw std::runtime_error("demo: " + parts.front().s.out.string() +
                                 " has no result of these settings; run it without --report first");
    }
    return results;
}

std::string content_of(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) throw std::runtime_error("demo: cannot read " + file.string());
    return text.str();
}

// The page's blocks, and beside it in replication/ the tables, numbers and pictures.
void record(const std::filesystem::path& docs, const study& what, std::vector<block> blocks,
            const std::vector<picture>& pictures) {
    const std::filesystem::path page = docs / "small_models.md", folder = docs / "replication";
    const std::filesystem::path& out = what.s.out;
    for (const block& b : picture_blocks(pictures, "replication")) blocks.push_back(b);
    write(page, with_blocks(content_of(page), blocks, page.string()));
    for (const char* name : {"tables.md", "results.csv"}) write(folder / name, content_of(out / name));
    for (const picture& p : pictures) {
        if (p.is_drawn) write(folder / (p.name + ".svg"), content_of(out / (p.name + ".svg")));
    }
}

void report(const study& what, const replication_options& how) {
    const std::filesystem::path& out = what.s.out;
    const std::vector<block> blocks = study_blocks(what);
    write(out / "tables.md", page_of_tables("Small models: all tables", blocks));
    write(out / "results.csv", as_csv(what));
    const std::vector<picture> pictures = draw_study(what, out);
    for (const block& b : blocks) {
        if (b.name == "claims") write(out / "claims.md", "# " + b.title + "\n\n" + b.text);
        if (b.name == "claims" || b.name == "matches") std::printf("\n%s\n", b.text.c_str());
    }
    std::printf("written in %s: tables.md, claims.md, results.csv, pictures, and the rows' observations in work\n",
                out.c_str());
    if (how.record.empty()) return;
    std::filesystem::create_directories(how.record / "replication");
    record(how.record, what, blocks, pictures);
    std::printf("written in %s: the tables of small_models.md, and replication/\n", how.record.c_str());
}

}  // namespace

void run_replication(const std::string& preset, const settings& s, const replication_options& how) {
    require_program("gnuplot", "gnuplot-nox");
    if (!how.record.empty() && preset == "trial") {
        throw std::runtime_error("demo: --record is not for preset trial, whose runs are too short for results");
    }
    std::vector<part> parts;
    for (std::uint64_t i = 0; i < how.models; ++i) {
        settings of_model = s;
        of_model.seed = s.first_seed + i;
        parts.push_back({of_model, rows_of(of_model)});
    }
    std::vector<row_result> results;
    if (how.runs) {
        prepare_libtorch();
        progress shown(stages_of_parts + 1);
        results = run_parts(preset, parts, shown);
        shown.stage("tables and pictures");
    } else {
        results = results_there(parts);
    }
    study what{parts.front().s, study_results(std::move(results)), {}};
    for (const part& p : parts) add_result(work_files(p.s).result_of(pretraining_job), described(p.s), what.models);
    report(what, how);
}

}  // namespace demo
