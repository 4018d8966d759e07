// SPDX-License-Identifier: MIT
// Train short, test long: reads the options, then runs the demo, the study or, as one of its own processes, a part
// of either.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <optional>

#include "experiment.hpp"
#include "replication.hpp"
#include "runner/jobs.hpp"
#include "runner/worker.hpp"

namespace {

struct choices {
    bool is_on_dev = false;
    std::optional<std::uint64_t> seed;
    std::string out, preset, device, job;
    demo::replication_options study;
    bool only_reports = false, records = false;
};

demo::settings settings_of(const choices& chosen) {
    demo::settings s = demo::settings_of(chosen.preset);
    s.seed = chosen.seed.value_or(s.seed);
    s.evaluate_on_dev = chosen.is_on_dev;
    s.out = chosen.out;
    if (!chosen.device.empty()) s.device = chosen.device;
    return s;
}

}  // namespace

int main(int argc, char** argv) {
    choices chosen;
    CLI::App options(
        "Trains a small language model that looks up what it has read, extends its context by each method, and tests "
        "all "
        "of them on long text.");
    options.add_option("--seed", chosen.seed, "of the model; 101 if not given");
    options.add_flag("--dev", chosen.is_on_dev, "evaluate on the text set aside for choosing settings");
    options.add_option(
        "--preset", chosen.preset,
        "demo, and small for the study; gpu: its main rows, of 33 M weights on a CUDA device; demo-trial, trial, "
        "gpu-trial: to see that they work; any other: nine of the study's rows where one thing is another, as in its "
        "name");
    options.add_option("--device", chosen.device, "in place of the preset's: cuda for gpu and gpu-trial, else cpu")
        ->check(CLI::IsMember({"cpu", "cuda"}));
    options.add_option("--out", chosen.out,
                       "folder for the tables and pictures: build/demo or build/replication/PRESET");
    CLI::App* replicate =
        options.add_subcommand("replicate", "the study: more rows, and more models of which none chose");
    replicate->add_option("--models", chosen.study.models, "so many, of consecutive seeds from the preset's first")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    replicate->add_flag("--report", chosen.only_reports,
                        "run nothing: tables and pictures of the results that are there");
    replicate->add_flag("--record", chosen.records,
                        "write the tables of docs/replication.md and docs/replication/ anew, too");
    CLI::App* worker = options.add_subcommand("worker", "")->group("");  // hidden: how the program calls itself
    worker->add_option("job", chosen.job)->required();
    for (CLI::App* part : {replicate, worker}) part->fallthrough();
    CLI11_PARSE(options, argc, argv);
    if (chosen.preset.empty()) chosen.preset = replicate->parsed() ? "small" : "demo";
    if (chosen.out.empty()) chosen.out = replicate->parsed() ? "build/replication/" + chosen.preset : "build/demo";

    try {
        demo::prepare_environment(argv);
        const demo::settings s = settings_of(chosen);
        if (worker->parsed()) {
            demo::run_worker(s, chosen.job, [](double share) {
                std::printf("progress %.4f\n", share);
                std::fflush(stdout);
            });
        } else if (replicate->parsed()) {
            chosen.study.runs = !chosen.only_reports;
            if (chosen.records) chosen.study.record = "docs";
            demo::run_replication(chosen.preset, s, chosen.study);
        } else {
            demo::run_experiment(chosen.preset, s);
        }
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
