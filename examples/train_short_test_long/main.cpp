// SPDX-License-Identifier: MIT
// Train short, test long: reads the options, then runs the experiment or, as one of its own processes, a part of it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "experiment.hpp"
#include "worker.hpp"

int main(int argc, char** argv) {
    demo::settings chosen;
    bool is_quick = false;
    std::string out = chosen.out.string(), job;
    CLI::App options(
        "Trains a small language model on short text, extends its context by each method, and tests all of "
        "them on long text.");
    options.add_flag("--quick", is_quick, "fewer steps: three minutes instead of seven");
    options.add_option("--out", out, "folder for the tables and pictures")->capture_default_str();
    options.add_option("--seed", chosen.seed, "of the weights, the windows and the positions")->capture_default_str();
    options.add_flag("--dev", chosen.evaluate_on_dev, "evaluate on the text set aside for choosing settings");
    CLI::App* worker = options.add_subcommand("worker", "")->group("");  // hidden: how the program calls itself
    worker->add_option("job", job)->required();
    CLI11_PARSE(options, argc, argv);

    try {
        chosen.out = out;
        if (is_quick) chosen = demo::quick(chosen);
        if (worker->parsed()) {
            demo::run_worker(chosen, job, [](double share) {
                std::printf("progress %.4f\n", share);
                std::fflush(stdout);
            });
        } else {
            std::vector<std::string> passed_on{"--out", out, "--seed", std::to_string(chosen.seed)};
            if (is_quick) passed_on.push_back("--quick");
            if (chosen.evaluate_on_dev) passed_on.push_back("--dev");
            demo::run_experiment(chosen, passed_on);
        }
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
