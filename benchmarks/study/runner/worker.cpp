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
    if (!made.passes(s)) {
        std::string matches;
        for (const double m : by_octave(made.seen, measure::match)) matches += formatted(" %.3f", m);
        throw std::runtime_error(formatted(
            "demo: the model of seed %llu finds values within L, by octaves of distance, at rates%s; every one "
            "must be at least %g. Another --seed makes another model",
            static_cast<unsigned long long>(s.seed), matches.c_str(), s.pretraining.matches_wanted));
    }
    save(*made.model, work_files(s).model);
}

double mean_of(const std::vector<observation>& seen, measure what) {
    double sum = 0.0, count = 0.0;
    for (const observation& o : seen) {
        if (o.what != what) continue;
        sum += o.value;
        ++count;
    }
    return sum / count;
}

// Of windows that no row is evaluated on; copies and values count alike.
chosen_policy search(const settings& s, const method& how, const decoder& model, std::span<const token> dev,
                     const progress_report& report) {
    const index_t windows = s.learning.searched_windows, length = s.learned_length();
    index_t spent = 0;
    const auto loss_of = [&](const cordage::any_policy& policy) {
        const auto seen = observe(s, model, {policy}, {dev, choosing_windows}, length, windows, [](double) {});
        spent += windows * length;
        report(static_cast<double>(spent) / static_cast<double>(s.budget()));
        return mean_of(seen, measure::copy_loss) + mean_of(seen, measure::value_loss);
    };
    return how.search({loss_of, windows * length}, s.budget());
}

void make_row(const settings& s, const method& how, const corpus& tokens, row_result& r,
              const progress_report& report) {
    const shared_decoder model = load_decoder(s, work_files(s).model);
    cordage::any_policy policy = how.policy;
    const double learned = how.learns || how.search ? 0.7 : 0.0;  // the share of learning in this job
    const auto report_some = [&](double share) { report(learned * share); };
    if (how.search) {
        const chosen_policy chosen = search(s, how, *model, tokens.dev, report_some);
        policy = chosen.policy;
        r.policy_parameters = chosen.point;
        r.token_forwards = chosen.token_forwards;
    }
    if (how.learns) {
        policy = policy.with_parameters(learned_parameters(s, *model, policy, how.fixed, tokens.train, report_some));
        r.token_forwards = s.budget();
    }
    const window_set set =
        s.evaluate_on_dev ? window_set{tokens.dev, dev_windows} : window_set{tokens.test, test_windows};
    if (!how.search) r.policy_parameters = policy.parameters();
    r.observations =
        evaluate(s, *model, {policy}, set, [&](double share) { report(learned + (1.0 - learned) * share); });
}

}  // namespace

std::vector<method> rows_of(const std::string& preset, const settings& s) {
    return preset.starts_with("demo") ? demo_methods(s) : study_methods(s);
}

void run_worker(const std::string& preset, const settings& s, const std::string& job, const progress_report& report) {
    keep_freed_memory();
    use_one_thread();
    const auto begin = std::chrono::steady_clock::now();
    const corpus tokens = load_corpus(work_files(s).tokens);
    row_result r;
    r.settings = described(s);
    r.row = job;
    r.seed = s.seed;
    if (job == pretraining_job) {
        make_model(s, tokens, r, report);
    } else {
        const std::vector<method> rows = rows_of(preset, s);
        const auto how = std::ranges::find(rows, job, &method::file_name);
        if (how == rows.end()) throw std::runtime_error("demo: no row is called '" + job + "'");
        r.row = how->name;
        make_row(s, *how, tokens, r, report);
    }
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    save(r, work_files(s).result_of(job));
}

}  // namespace demo
