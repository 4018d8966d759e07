// SPDX-License-Identifier: MIT
// One job of the experiment, from files to files.
#include "runner/worker.hpp"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>

#include "cordage/core/error.hpp"
#include "runner/results.hpp"

namespace demo {
namespace {

// Tensors of a few megabytes come and go all the time: keep their memory instead of asking the system each time.
void keep_freed_memory() {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
}

// Threads that share the pretraining of one model.
int pretraining_replicas(const settings& s) { return s.device == "cpu" ? 2 : 1; }

void pretrain(const settings& s, const corpus& tokens, const progress_report& report) {
    const trained base =
        train(s, s.pretraining, pretraining(s), new_decoder(s), tokens.train, pretraining_replicas(s), report);
    save(*base.model, s.pretrained);
    result r;
    r.settings = described(s);
    r.losses = base.losses;
    save(r, work_files(s.out).result_of(pretraining(s)));
}

// What a row begins with: a model, and the numbers of its policy.
trained beginning(const settings& s, const std::vector<method>& all, const method& how) {
    const std::vector<double> parameters = how.policy.parameters();
    if (how.starts_from.empty()) return {load_decoder(s, s.pretrained), parameters};
    const method& first = find(all, how.starts_from);
    trained what = beginning(s, all, first);
    const work_files files(s.out);
    if (first.training && first.training->weights_learn) what.model = load_decoder(s, files.model_of(first));
    if (first.training) what.policy_parameters = load_result(files.result_of(first)).policy_parameters;
    if (how.training) what.policy_parameters = parameters;
    return what;
}

bool is_started_from(const std::vector<method>& all, const method& how) {
    return std::any_of(all.begin(), all.end(), [&](const method& m) { return m.starts_from == how.name; });
}

// What is said of a row whose training left the numbers.
void say_diverged(const settings& s, result& r) {
    constexpr double endless = std::numeric_limits<double>::infinity();
    for (const index_t ratio : s.ratios) {
        r.scores.push_back({ratio, ratio * s.train_length, endless, endless, 0.0, s.slides ? endless : 0.0});
    }
    for (const index_t distance : s.recall_distances) r.recalls.push_back({distance, 0.0, 0.0});
}

// Training is this share of a method's work, evaluation the rest; only for the progress bar.
constexpr double training_share = 0.8;

void continue_and_evaluate(const settings& s, const std::vector<method>& all, const method& how, const corpus& tokens,
                           const progress_report& report) {
    const auto begin = std::chrono::steady_clock::now();
    trained what = beginning(s, all, how);
    result r;
    r.settings = described(s);
    r.train_length = s.train_length;
    double trained_share = 0.0;
    if (how.training) {
        training_run run = how.training->weights_learn ? s.continuing : s.frozen_weights;
        run.steps *= how.training->times_steps;
        trained_share = training_share;
        try {
            what =
                train(s, run, how, what.model, tokens.train, 1, [&](double share) { report(trained_share * share); });
        } catch (const cordage::value_error&) {  // a basis that is not finite
            say_diverged(s, r);
            return save(r, work_files(s.out).result_of(how));
        }
        if (how.training->weights_learn && is_started_from(all, how))
            save(*what.model, work_files(s.out).model_of(how));
        r.steps = run.steps;
        r.train_length = how.training->window_tokens > 0 ? how.training->window_tokens : s.longest();
    }
    const auto& text = s.evaluate_on_dev ? tokens.dev : tokens.test;
    const auto report_rest = [&](double share) { report(trained_share + (1.0 - trained_share) * share); };
    r.scores = evaluate(s, how, what, text, report_rest);
    r.recalls = measure_recall(s, how, what, text);
    r.policy_parameters = what.policy_parameters;
    r.losses = what.losses;
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    save(r, work_files(s.out).result_of(how));
}

}  // namespace

void run_worker(const settings& s, const std::string& job, const progress_report& report) {
    keep_freed_memory();
    use_one_thread();
    corpus tokens = load_corpus(s.tokens);
    tokens.train.resize(static_cast<std::size_t>(s.training_share * static_cast<double>(tokens.train.size())));
    if (job == pretraining(s).file_name()) return pretrain(s, tokens, report);
    const std::vector<method> all = all_methods(s);
    for (const method& how : all) {
        if (how.file_name() == job) return continue_and_evaluate(s, all, how, tokens, report);
    }
    throw std::runtime_error("demo: no method is called '" + job + "'");
}

}  // namespace demo
