// SPDX-License-Identifier: MIT
// Which jobs there are, which are done, and in which order the others run.
#include "runner/runner.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "model/learning.hpp"
#include "report/formatted.hpp"
#include "runner/cost.hpp"
#include "runner/jobs.hpp"
#include "runner/worker.hpp"
#include "text/corpus.hpp"
#include "text/text.hpp"

namespace demo {
namespace {

void make_folder(const std::filesystem::path& folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) throw std::runtime_error("demo: cannot make the folder " + folder.string() + ": " + failure.message());
}

void make_tokens(const settings& s, progress& shown) {
    const split_text text = king_james();
    byte_pairs encoding(text.train, static_cast<std::size_t>(s.model.vocabulary) - 1);  // the last token is the mark
    const corpus tokens{encoding.encode(text.train), encoding.encode(text.dev), encoding.encode(text.test)};
    save(tokens, work_files(s).tokens);
    shown.line(formatted("      %zu training, %zu dev and %zu test tokens, %.2f characters a token",
                         tokens.train.size(), tokens.dev.size(), tokens.test.size(),
                         static_cast<double>(text.train.size()) / static_cast<double>(tokens.train.size())));
}

// One process to run.
struct task {
    const settings* s;
    std::string name, file_name;
    std::string described;  // what its result must have as settings
    double work;

    std::filesystem::path result() const { return work_files(*s).result_of(file_name); }
    bool pretrains() const { return file_name == pretraining_job; }
};

job process_of(const std::string& preset, const task& t) {
    job made{
        formatted("%s, seed %llu", t.name.c_str(), static_cast<unsigned long long>(t.s->seed)),
        {"worker", t.file_name, "--preset", preset, "--seed", std::to_string(t.s->seed), "--out", t.s->out.string()},
        work_files(*t.s).log_of(t.file_name)};
    if (t.s->evaluate_on_dev) made.arguments.push_back("--dev");
    return made;
}

// A result of other settings, or none that can be read, is made anew. A model that did not pass the gate has no
// weights.
bool is_done(const task& t) {
    try {
        const row_result r = load_row_result(t.result());
        if (r.settings != t.described) return false;
        return !t.pretrains() || std::filesystem::exists(work_files(*t.s).model) || !passes_gate(*t.s, r.observations);
    } catch (const std::runtime_error&) {
        return false;
    }
}

bool is_refused(const settings& s) { return !std::filesystem::exists(work_files(s).model); }

// Says which models did not pass the gate; whether there are any.
// @throws std::runtime_error  if none did
bool tell_refused(const std::vector<part>& parts, progress& shown) {
    std::size_t refused = 0;
    std::string why;
    for (const part& p : parts) {
        if (!is_refused(p.s)) continue;
        ++refused;
        std::string matches;
        const row_result made = load_row_result(work_files(p.s).result_of(pretraining_job));
        for (const double m : by_octave(made.observations, measure::match)) matches += formatted(" %.3f", m);
        why = formatted(
            "the model of seed %llu does not pass the gate: in octaves of distance within L it finds the shares%s of "
            "the values, each must be at least %g",
            static_cast<unsigned long long>(p.s.seed), matches.c_str(), p.s.pretraining.matches_wanted);
        shown.line("      " + why);
    }
    if (refused == parts.size()) throw std::runtime_error("demo: " + why + "; choose another --seed");
    return refused > 0;
}

std::string summary(const task& t) {
    const row_result r = load_row_result(t.result());
    std::string matches;
    if (!r.observations.empty()) {
        const index_t first = t.s->train_length, last = t.pretrains() ? first : t.s->longest();
        matches =
            formatted("match %.2f at %ld, %.2f at %ld", mean_of(r.observations, measure::match, first),
                      static_cast<long>(first), mean_of(r.observations, measure::match, last), static_cast<long>(last));
    }
    return formatted("      %-72s %s   (%.0f s)", process_of("", t).name.c_str(), matches.c_str(), r.seconds);
}

}  // namespace

std::vector<row_result> run_parts(const std::string& preset, const std::vector<part>& parts, progress& shown) {
    shown.stage("text to byte-pair tokens");
    for (const part& p : parts) make_folder(work_files(p.s).folder);
    make_tokens(parts.front().s, shown);

    struct stage_of_work {
        const char* title;
        std::vector<task> tasks;
    };
    stage_of_work models{"models", {}}, rows{"rows", {}};
    for (const part& p : parts) {
        models.tasks.push_back({&p.s, "the model", pretraining_job, described(p.s), pretraining_cost(p.s)});
        for (const method& how : p.rows) {
            const double cost = evaluation_cost(p.s) + learning_cost(p.s, how);
            rows.tasks.push_back({&p.s, how.name, how.file_name(), described(p.s, how), cost});
        }
    }
    const std::vector<task> all_rows = rows.tasks;
    const std::array stages{&models, &rows};
    std::ranges::stable_sort(rows.tasks, std::greater{}, &task::work);
    std::vector<double> work;
    for (stage_of_work* stage : stages) {
        std::erase_if(stage->tasks, is_done);
        for (const task& t : stage->tasks) work.push_back(t.work);
    }
    constexpr std::size_t at_once = 2;
    // What one job alone keeps busy takes twice the time of what two share.
    if (models.tasks.size() == 1) work.front() *= 2.0;
    work_clock clock(work);
    std::size_t begin = 0;
    for (const stage_of_work* stage : stages) {
        shown.stage(
            formatted("%s, %s at a time: %zu to do", stage->title, at_once == 2 ? "two" : "one", stage->tasks.size()));
        std::vector<job> jobs;
        for (const task& t : stage->tasks) jobs.push_back(process_of(preset, t));
        run_jobs(jobs, at_once, [&](std::size_t i, double share) {
            clock.set(begin + i, share);
            if (share >= 1.0) shown.line(summary(stage->tasks[i]));
            shown.bar(clock.share(begin, begin + jobs.size()), clock.seconds_left());
        });
        begin += jobs.size();
        if (stage != &models || !tell_refused(parts, shown)) continue;
        work.clear();
        std::erase_if(rows.tasks, [](const task& t) { return is_refused(*t.s); });
        for (const task& t : rows.tasks) work.push_back(t.work);
        clock = work_clock(work);
        begin = 0;
    }
    std::vector<row_result> results;
    for (const task& t : all_rows) {
        if (!is_refused(*t.s)) results.push_back(load_row_result(t.result()));
    }
    return results;
}

}  // namespace demo
