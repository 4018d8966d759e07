// SPDX-License-Identifier: MIT
// Which jobs there are, which are done, and in which order the others run.
#include "runner/runner.hpp"

#include <algorithm>
#include <fstream>
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
    const split_text text = text_of(s.text);
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
    double work;

    std::filesystem::path result() const { return work_files(*s).result_of(file_name); }
    bool pretrains() const { return file_name == pretraining_job; }
};

job job_of(const std::string& preset, const task& t) {
    job made{
        formatted("%s, seed %llu", t.name.c_str(), static_cast<unsigned long long>(t.s->seed)),
        {"worker", t.file_name, "--preset", preset, "--seed", std::to_string(t.s->seed), "--out", t.s->out.string()},
        work_files(*t.s).log_of(t.file_name)};
    if (t.s->evaluate_on_dev) made.arguments.push_back("--dev");
    return made;
}

// A result of other settings, or none that can be read, is made anew.
bool is_done(const task& t) {
    if (t.pretrains() && !std::filesystem::exists(work_files(*t.s).model)) return false;
    try {
        return load_row_result(t.result()).settings == described(*t.s);
    } catch (const std::runtime_error&) {
        return false;
    }
}

double mean_match(const row_result& r, index_t length) {
    double sum = 0.0, count = 0.0;
    for (const observation& o : r.observations) {
        if (o.what != measure::match || o.length != length) continue;
        sum += o.value;
        ++count;
    }
    return sum / count;
}

std::string summary(const task& t) {
    const row_result r = load_row_result(t.result());
    const index_t last = t.pretrains() ? t.s->train_length : t.s->longest();
    return formatted("      %-52s match %.2f at %ld, %.2f at %ld   (%.0f s)", job_of("", t).name.c_str(),
                     mean_match(r, t.s->train_length), static_cast<long>(t.s->train_length), mean_match(r, last),
                     static_cast<long>(last), r.seconds);
}

}  // namespace

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out(file);
    if (!(out << text).flush()) throw std::runtime_error("demo: cannot write " + file.string());
}

std::vector<row_result> run_parts(const std::string& preset, const std::vector<part>& parts, progress& shown) {
    prepare_environment();
    shown.stage("text to byte-pair tokens");
    for (const part& p : parts) make_folder(work_files(p.s).folder);
    make_tokens(parts.front().s, shown);

    struct stage_of_work {
        const char* title;
        std::vector<task> tasks;
    };
    stage_of_work models{"models", {}}, rows{"rows", {}};
    for (const part& p : parts) {
        models.tasks.push_back({&p.s, "the model", pretraining_job, pretraining_cost(p.s)});
        for (const method& how : p.rows) {
            rows.tasks.push_back({&p.s, how.name, how.file_name(), evaluation_cost(p.s) + learning_cost(p.s, how)});
        }
    }
    const std::vector<task> all_rows = rows.tasks;
    std::ranges::stable_sort(rows.tasks, std::greater{}, &task::work);
    std::vector<double> work;
    for (stage_of_work* stage : {&models, &rows}) {
        std::erase_if(stage->tasks, is_done);
        for (const task& t : stage->tasks) work.push_back(t.work);
    }
    // What one job alone keeps busy takes twice the time of what two share.
    if (models.tasks.size() == 1) work.front() *= 2.0;
    work_clock clock(work);
    std::size_t begin = 0;
    for (const stage_of_work& stage : {models, rows}) {
        shown.stage(formatted("%s, two at a time: %zu to do", stage.title, stage.tasks.size()));
        std::vector<job> jobs;
        for (const task& t : stage.tasks) jobs.push_back(job_of(preset, t));
        run_jobs(jobs, 2, [&](std::size_t i, double share) {
            clock.set(begin + i, share);
            if (share >= 1.0) shown.line(summary(stage.tasks[i]));
            shown.bar(clock.share(begin, begin + jobs.size()), clock.seconds_left());
        });
        begin += jobs.size();
    }
    std::vector<row_result> results;
    for (const task& t : all_rows) results.push_back(load_row_result(t.result()));
    return results;
}

}  // namespace demo
