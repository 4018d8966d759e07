// SPDX-License-Identifier: MIT
// One job of the experiment, from files to files.
#include "runner/worker.hpp"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "report/formatted.hpp"

namespace demo {
namespace {

// Tensors of a few megabytes come and go all the time: keep their memory instead of asking the system each time.
void keep_freed_memory() {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
}

void make_model(const settings& s, const corpus& tokens, row_result& r, const progress_report& report) {
    const pretrained made = pretrain(s, tokens, report);
    r.observations = made.seen;
    r.token_forwards = 3 * made.steps * s.pretraining.tokens_per_step;
    std::filesystem::remove(work_files(s).model);  // of other settings
    if (passes_gate(s, made.seen)) save(*made.model, work_files(s).model);
}

// Of windows that no row is evaluated on, the same in every trial, at the t that is learned.
search_result search(const settings& s, const method& how, const decoder& model, std::span<const token> dev,
                     const progress_report& report) {
    const index_t a_trial = s.learning.searched_windows * s.learned_length();
    index_t spent = 0;
    const auto loss_at = [&](std::span<const double> point) {
        const double loss =
            searched_loss(s, model, {how.search->policy_at(point)}, how.scored, {dev, choosing_windows});
        spent += a_trial;
        report(static_cast<double>(spent) / static_cast<double>(how.search_budget(s)));
        return loss;
    };
    return how.search->find({loss_at, a_trial}, how.search_budget(s));
}

void make_row(const settings& s, const method& how, const corpus& tokens, row_result& r,
              const progress_report& report) {
    reading reads = how.reads;
    const shared_decoder model = load_decoder(s, work_files(s).model);
    const double learned = how.finds_numbers() ? 0.7 : 0.0;  // the share of learning in this job
    const auto report_some = [&](double share) { report(learned * share); };
    if (how.search) {
        const search_result found = search(s, how, *model, tokens.dev, report_some);
        r.policy_parameters = found.best().point;
        r.token_forwards = found.token_forwards;
        reads.policy = how.search->policy_at(r.policy_parameters);
    }
    if (how.learning) {
        const learning_outcome found = learn_numbers(s, *model, reads, *how.learning, how.scored,
                                                     s.budget() - r.token_forwards, tokens.train, report_some);
        reads.numbers = found.numbers;
        r.policy_parameters.insert(r.policy_parameters.end(), found.numbers.begin(), found.numbers.end());
        r.token_forwards += found.token_forwards;
    }
    if (r.policy_parameters.empty()) {
        r.policy_parameters = first_numbers(s, reads);
    }
    const window_set set =
        s.evaluate_on_dev ? window_set{tokens.dev, dev_windows} : window_set{tokens.test, test_windows};
    r.observations = evaluate(s, *model, reads, set, [&](double share) { report(learned + (1.0 - learned) * share); });
}

}  // namespace

void run_worker(const settings& s, const std::string& job, const progress_report& report) {
    keep_freed_memory();
    prepare_libtorch();
    const auto begin = std::chrono::steady_clock::now();
    const corpus tokens = load_corpus(work_files(s).tokens);
    row_result r;
    r.settings = described(s);
    r.row = job;
    r.seed = s.seed;
    if (job == pretraining_job) {
        make_model(s, tokens, r, report);
    } else {
        const std::vector<method> rows = rows_of(s);
        const auto row = std::ranges::find(rows, job, &method::file_name);
        if (row == rows.end()) throw std::runtime_error("demo: no row is called '" + job + "'");
        r.settings = described(s, *row);
        r.row = row->name;
        make_row(s, *row, tokens, r, report);
    }
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    save(r, work_files(s).result_of(job));
}

}  // namespace demo
