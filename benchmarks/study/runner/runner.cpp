// SPDX-License-Identifier: MIT
// Which jobs there are, which are done, and in which order the others run.
#include "runner/runner.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>
#include <stdexcept>

#include "report/formatted.hpp"
#include "runner/cost.hpp"
#include "runner/jobs.hpp"
#include "runner/results.hpp"
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
    const split_text text = text_of(s.text);
    byte_pairs encoding(text.train, static_cast<std::size_t>(s.model.vocabulary));
    const corpus tokens{encoding.encode(text.train), encoding.encode(text.dev), encoding.encode(text.test)};
    save(tokens, s.tokens);
    shown.line(formatted("      %zu training, %zu dev and %zu test tokens, %.2f characters a token",
                         tokens.train.size(), tokens.dev.size(), tokens.test.size(),
                         static_cast<double>(text.train.size()) / static_cast<double>(tokens.train.size())));
}

// One process to run.
struct task {
    const part* of;
    method how;
    bool pretrains;
    double work;
};

job job_of(const std::string& preset, const task& t) {
    const settings& s = t.of->s;
    job made{
        t.how.name + (t.of->variant == "base" ? "" : " (" + t.of->variant + ")"),
        {"worker", t.how.file_name(), "--preset", preset, "--variant", t.of->variant, "--seed", std::to_string(s.seed),
         "--out", s.out.string(), "--tokens", s.tokens.string(), "--pretrained", s.pretrained.string()},
        work_files(s.out).folder / (t.how.file_name() + ".log")};
    if (s.evaluate_on_dev) made.arguments.push_back("--dev");
    return made;
}

bool is_done(const task& t) {
    if (t.pretrains && !std::filesystem::exists(t.of->s.pretrained)) return false;
    const auto file = work_files(t.of->s.out).result_of(t.how);
    return std::filesystem::exists(file) && load_result(file).settings == described(t.of->s);
}

std::string summary(const task& t) {
    const result r = load_result(work_files(t.of->s.out).result_of(t.how));
    const std::string name =
        job_of("", t).name + formatted(", seed %llu", static_cast<unsigned long long>(t.of->s.seed));
    const score &first = r.scores.front(), &last = r.scores.back();
    return formatted("      %-56s perplexity %6.2f at %ld, %6.2f at %ld   (%.0f s)", name.c_str(), first.perplexity,
                     static_cast<long>(first.length), last.perplexity, static_cast<long>(last.length), r.seconds);
}

// Tasks that may run side by side, and those before them have ended.
struct stage_of_work {
    std::string title;
    std::size_t at_once;
    std::vector<task> tasks;
};

// Rows whose start another row makes come after it.
std::vector<stage_of_work> stages_of(const std::vector<part>& parts) {
    stage_of_work pretrainings{"pretraining in two threads", 1, {}}, rows{"rows, two processes at a time", 2, {}},
        later{"rows that start from others", 2, {}};
    std::set<std::filesystem::path> models;
    for (const part& p : parts) {
        if (models.insert(p.s.pretrained).second) {
            const method how = pretraining(p.s);
            pretrainings.tasks.push_back({&p, how, true, training_cost(p.s, *how.training, p.s.pretraining.steps)});
        }
        for (const method& how : p.rows) {
            (how.starts_from.empty() ? rows : later).tasks.push_back({&p, how, false, cost(p.s, how)});
        }
    }
    const auto longer = [](const task& a, const task& b) { return a.work > b.work; };
    for (stage_of_work* s : {&rows, &later}) std::stable_sort(s->tasks.begin(), s->tasks.end(), longer);
    if (later.tasks.empty()) return {pretrainings, rows};
    return {pretrainings, rows, later};
}

void prepare(const std::vector<part>& parts, progress& shown) {
    shown.stage("text to byte-pair tokens");
    std::set<std::filesystem::path> texts;
    for (const part& p : parts) {
        make_folder(work_files(p.s.out).folder);
        make_folder(p.s.pretrained.parent_path());
        if (texts.insert(p.s.tokens).second) make_tokens(p.s, shown);
    }
}

}  // namespace

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out(file);
    if (!(out << text).flush()) throw std::runtime_error("demo: cannot write " + file.string());
}

int stage_count(const std::vector<part>& parts) { return 1 + static_cast<int>(stages_of(parts).size()); }

void run_parts(const std::string& preset, const std::vector<part>& parts, progress& shown) {
    prepare_environment();
    prepare(parts, shown);
    std::vector<stage_of_work> stages = stages_of(parts);
    std::vector<double> work;
    for (stage_of_work& s : stages) {
        std::erase_if(s.tasks, is_done);
        for (const task& t : s.tasks) work.push_back(t.work);
    }
    work_clock clock(work);
    std::size_t begin = 0;
    for (const stage_of_work& s : stages) {
        shown.stage(formatted("%s: %zu to do", s.title.c_str(), s.tasks.size()));
        std::vector<job> jobs;
        for (const task& t : s.tasks) jobs.push_back(job_of(preset, t));
        run_jobs(jobs, s.at_once, [&](std::size_t i, double share) {
            clock.set(begin + i, share);
            if (share >= 1.0 && !s.tasks[i].pretrains) shown.line(summary(s.tasks[i]));
            shown.bar(clock.share(begin, begin + jobs.size()), clock.seconds_left());
        });
        begin += jobs.size();
    }
}

}  // namespace demo
