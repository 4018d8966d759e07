// SPDX-License-Identifier: MIT
// Train short, test long: reads the options, then runs the study or, as one of its own processes, a part of it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <optional>

#include "replication.hpp"
#include "runner/jobs.hpp"
#include "runner/worker.hpp"

namespace {

struct choices {
    bool is_on_dev = false;
    std::optional<std::uint64_t> seed;
    std::string out, preset = "small", job;
    demo::replication_options study;
    bool only_reports = false, records = false;
};

demo::settings settings_of(const choices& chosen) {
    demo::settings s = demo::settings_of(chosen.preset);
    s.seed = chosen.seed.value_or(s.seed);
    s.evaluate_on_dev = chosen.is_on_dev;
    s.out = chosen.out;
    return s;
}

}  // namespace

int main(int argc, char** argv) {
    choices chosen;
    CLI::App options(
        "Trains a small language model that looks up what it has read, extends its context by each method, and tests "
        "the methods on long text.");
    options.add_option("--seed", chosen.seed, "seed of the model (default 101)");
    options.add_flag("--dev", chosen.is_on_dev, "evaluate on the text that is set aside for choosing settings");
    options.add_option("--preset", chosen.preset, "small: the study; trial: a short run that tests the program")
        ->capture_default_str();
    options.add_option("--out", chosen.out, "folder for tables and pictures (default: build/replication/PRESET)");
    CLI::App* replicate =
        options.add_subcommand("replicate", "the study: more rows, on models with which no setting was chosen");
    replicate->add_option("--models", chosen.study.models, "number of models, of consecutive seeds")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    replicate->add_flag("--report", chosen.only_reports,
                        "run nothing; write tables and pictures of the results that are there");
    replicate->add_flag("--record", chosen.records,
                        "also write the tables of docs/small_models.md and docs/replication/");
    CLI::App* worker = options.add_subcommand("worker", "")->group("");  // hidden: how the program calls itself
    worker->add_option("job", chosen.job)->required();
    for (CLI::App* part : {replicate, worker}) part->fallthrough();
    options.require_subcommand(1);
    CLI11_PARSE(options, argc, argv);
    if (chosen.out.empty()) chosen.out = "build/replication/" + chosen.preset;

    try {
        demo::prepare_environment(argv);
        const demo::settings s = settings_of(chosen);
        if (worker->parsed()) {
            demo::run_worker(s, chosen.job, [](double share) {
                std::printf("progress %.4f\n", share);
                std::fflush(stdout);
            });
        } else {
            chosen.study.runs = !chosen.only_reports;
            if (chosen.records) chosen.study.record = "docs";
            demo::run_replication(chosen.preset, s, chosen.study);
        }
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
