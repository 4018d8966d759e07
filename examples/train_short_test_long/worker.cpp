// SPDX-License-Identifier: MIT
// One job of the experiment, from files to files.
#include "worker.hpp"

#include <malloc.h>

#include <chrono>
#include <stdexcept>

#include "results.hpp"

namespace demo {
namespace {

// Tensors of a few megabytes come and go all the time: keep their memory instead of asking the system each time.
void keep_freed_memory() {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
}

constexpr int pretraining_replicas = 2;

void pretrain(const settings& s, const corpus& tokens, const progress_report& report) {
    const trained base =
        train(s, s.pretraining, pretraining(s), new_decoder(s), tokens.train, pretraining_replicas, report);
    save(*base.model, work_files(s.out).pretrained());
}

// Training is this share of a method's work, evaluation the rest; only for the progress bar.
constexpr double training_share = 0.8;

void continue_and_evaluate(const settings& s, const method& how, const corpus& tokens, const progress_report& report) {
    const auto begin = std::chrono::steady_clock::now();
    trained what{load_decoder(s, work_files(s.out).pretrained()), how.policy.parameters()};
    result r;
    r.train_length = s.train_length;
    double trained_share = 0.0;
    if (how.training) {
        const training_run& run = how.training->weights_learn ? s.continuing : s.frozen_weights;
        trained_share = training_share;
        what = train(s, run, how, what.model, tokens.train, 1, [&](double share) { report(trained_share * share); });
        r.steps = run.steps;
        r.train_length = how.training->window_tokens > 0 ? how.training->window_tokens : s.longest();
    }
    r.scores = evaluate(s, how, what, s.evaluate_on_dev ? tokens.dev : tokens.test,
                        [&](double share) { report(trained_share + (1.0 - trained_share) * share); });
    r.policy_parameters = what.policy_parameters;
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    save(r, work_files(s.out).result_of(how));
}

}  // namespace

void run_worker(const settings& s, const std::string& job, const progress_report& report) {
    keep_freed_memory();
    use_one_thread();
    const corpus tokens = load_corpus(work_files(s.out).tokens());
    if (job == pretraining(s).file_name()) return pretrain(s, tokens, report);
    for (const method& how : methods(s)) {
        if (how.file_name() == job) return continue_and_evaluate(s, how, tokens, report);
    }
    throw std::runtime_error("demo: no method is called '" + job + "'");
}

}  // namespace demo
