// SPDX-License-Identifier: MIT
// From studies to parts, and from results to the report.
#include "replication.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "model/learning.hpp"
#include "report/formatted.hpp"
#include "report/study_plots.hpp"
#include "report/study_report.hpp"
#include "runner/programs.hpp"
#include "runner/runner.hpp"
#include "runner/worker.hpp"
#include "studies.hpp"

namespace demo {
namespace {

constexpr std::uint64_t seeds = 3;

std::vector<study> chosen_studies(const settings& s, const std::vector<std::string>& names) {
    const std::vector<study> all = studies(s);
    if (names.empty()) return all;
    std::vector<study> chosen;
    for (const std::string& name : names) {
        const auto found = std::find_if(all.begin(), all.end(), [&](const study& st) { return st.name == name; });
        if (found == all.end()) throw std::runtime_error("demo: no study is called '" + name + "'");
        chosen.push_back(*found);
    }
    return chosen;
}

std::string folder_name(std::string variant) {
    std::replace_if(
        variant.begin(), variant.end(), [](char c) { return c == ' ' || c == '='; }, '_');
    return variant;
}

settings settings_for(const std::string& preset, const std::string& variant, std::uint64_t seed,
                      const std::filesystem::path& out) {
    settings s = settings_of(preset, variant);
    s.seed = seed;
    const auto folder = [&](const std::string& name) {
        return out / folder_name(name) / ("seed" + std::to_string(seed));
    };
    s.out = folder(variant);
    s.pretrained = folder(variant == "dev" ? "base" : variant) / "work" / "pretrained.bin";
    s.tokens = out / formatted("text%d.bin", static_cast<int>(s.text));
    return s;
}

// Every row that a study shows, and those that it starts from, once.
std::vector<part> parts_of(const std::vector<study>& all, const std::string& preset, const std::filesystem::path& out) {
    std::map<std::pair<std::string, std::uint64_t>, std::size_t> place;
    std::vector<part> parts;
    std::vector<std::vector<method>> known;  // all rows of each part
    for (const study& st : all) {
        for (const std::string& variant : st.variants) {
            for (std::uint64_t seed = 1; seed <= (st.has_all_seeds ? seeds : 1); ++seed) {
                const auto [at, is_new] = place.try_emplace({variant, seed}, parts.size());
                if (is_new) {
                    parts.push_back({variant, settings_for(preset, variant, seed, out), {}});
                    known.push_back(all_methods(parts.back().s));
                }
                part& p = parts[at->second];
                const std::vector<method>& methods = known[at->second];
                const auto add = [&](const auto& self, const std::string& name) -> void {
                    const auto has_name = [&](const method& m) { return m.name == name; };
                    if (std::any_of(p.rows.begin(), p.rows.end(), has_name)) return;
                    p.rows.push_back(find(methods, name));
                    if (!p.rows.back().starts_from.empty()) self(self, std::string(p.rows.back().starts_from));
                };
                for (const std::string& name : st.rows) add(add, name);
            }
        }
    }
    return parts;
}

std::vector<measured_row> results_of(const std::vector<part>& parts) {
    std::vector<measured_row> rows;
    for (const part& p : parts) {
        for (const method& how : p.rows) {
            rows.push_back({p.variant, p.s.seed, how, load_result(work_files(p.s.out).result_of(how))});
        }
    }
    return rows;
}

}  // namespace

void run_replication(const std::string& preset, const std::vector<std::string>& names,
                     const std::filesystem::path& out) {
    require_program("gnuplot", "gnuplot-nox");
    require_device(settings_of(preset));
    const std::vector<study> all = chosen_studies(settings_of(preset), names);
    const std::vector<part> parts = parts_of(all, preset, out);
    progress shown(1 + stage_count(parts));
    run_parts(preset, parts, shown);

    shown.stage("tables and pictures");
    const std::vector<measured_row> rows = results_of(parts);
    write(out / "results.csv", as_csv(rows));
    write(out / "recalls.csv", recalls_as_csv(rows));
    write(out / "tables.md", study_tables(settings_of(preset), all, rows));
    plot_studies(settings_of(preset), all, rows, out);
    shown.line("written: results.csv, recalls.csv, tables.md and pictures in " + out.string());
}

}  // namespace demo
