// SPDX-License-Identifier: MIT
// Train short, test long: reads the options, then runs the demo, the replication study or, as one of its own processes,
// a part of either.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "experiment.hpp"
#include "replication.hpp"
#include "runner/worker.hpp"

namespace {

struct choices {
    bool is_quick = false, is_on_dev = false;
    std::uint64_t seed = 1;
    std::string out, preset = "small", variant = "base", job, tokens, pretrained;
    std::vector<std::string> studies;
};

demo::settings settings_of(const choices& chosen, const std::string& preset) {
    demo::settings s = demo::settings_of(preset, chosen.variant);
    s.seed = chosen.seed;
    s.evaluate_on_dev = s.evaluate_on_dev || chosen.is_on_dev;
    if (!chosen.out.empty()) s.out = chosen.out;
    const auto work = demo::work_files(s.out).folder;
    s.tokens = chosen.tokens.empty() ? work / "tokens.bin" : std::filesystem::path(chosen.tokens);
    s.pretrained = chosen.pretrained.empty() ? work / "pretrained.bin" : std::filesystem::path(chosen.pretrained);
    return s;
}

}  // namespace

int main(int argc, char** argv) {
    choices chosen;
    CLI::App options(
        "Trains a small language model on short text, extends its context by each method, and tests all of "
        "them on long text.");
    options.add_flag("--quick", chosen.is_quick, "fewer steps: three minutes instead of eight");
    options.add_option("--seed", chosen.seed, "of the weights, the windows and the positions")->capture_default_str();
    options.add_flag("--dev", chosen.is_on_dev, "evaluate on the text set aside for choosing settings");
    options.add_option("--out", chosen.out,
                       "folder for the tables and pictures: build/demo or build/replication/PRESET");
    CLI::App* replicate = options.add_subcommand("replicate", "the whole study: every system, seed and ablation");
    replicate
        ->add_option("--preset", chosen.preset,
                     "small, or gpu (needs a CUDA libtorch); trial or gpu-trial to see that either works")
        ->capture_default_str();
    replicate->add_option("--study", chosen.studies, "only these, by their headings; may be repeated");
    CLI::App* worker = options.add_subcommand("worker", "")->group("");  // hidden: how the program calls itself
    worker->add_option("job", chosen.job)->required();
    worker->add_option("--preset", chosen.preset);
    worker->add_option("--variant", chosen.variant);
    worker->add_option("--tokens", chosen.tokens);
    worker->add_option("--pretrained", chosen.pretrained);
    for (CLI::App* part : {replicate, worker}) part->fallthrough();
    CLI11_PARSE(options, argc, argv);

    try {
        if (worker->parsed()) {
            demo::run_worker(settings_of(chosen, chosen.preset), chosen.job, [](double share) {
                std::printf("progress %.4f\n", share);
                std::fflush(stdout);
            });
        } else if (replicate->parsed()) {
            demo::run_replication(chosen.preset, chosen.studies,
                                  chosen.out.empty() ? "build/replication/" + chosen.preset : chosen.out);
        } else {
            const std::string preset = chosen.is_quick ? "quick" : "demo";
            demo::run_experiment(preset, settings_of(chosen, preset));
        }
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
