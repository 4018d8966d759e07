// SPDX-License-Identifier: MIT
// The part of the program that runs in processes of its own: one model trained, or one row learned and evaluated.
#pragma once

#include <filesystem>
#include <string>

#include "methods.hpp"
#include "model/learning.hpp"

namespace demo {

/// Where the processes meet: below settings.out, a folder for each model.
struct work_files {
    explicit work_files(const settings& s)
        : folder(s.out / "work" / ("seed" + std::to_string(s.seed))),
          tokens(s.out / "work" / "tokens.bin"),
          model(folder / "model.bin") {}
    std::filesystem::path result_of(const std::string& job) const { return folder / (job + ".txt"); }
    std::filesystem::path log_of(const std::string& job) const { return folder / (job + ".log"); }
    std::filesystem::path folder, tokens, model;
};

/// The rows of a preset: the demo's or the study's.
std::vector<method> rows_of(const std::string& preset, const settings& s);

/// The job that makes the model; the others are rows, by their file names.
inline constexpr const char* pretraining_job = "pretraining";

/// Does one job of these settings' preset: reads the tokens and the model, and writes the latter and the job's result.
/// @throws std::runtime_error  if there is no such job, or the model does not look up what is within L
void run_worker(const std::string& preset, const settings& s, const std::string& job, const progress_report& report);

}  // namespace demo
