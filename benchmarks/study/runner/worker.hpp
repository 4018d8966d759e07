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
    std::filesystem::path weights_of(const std::string& job) const { return folder / (job + ".bin"); }
    std::filesystem::path log_of(const std::string& job) const { return folder / (job + ".log"); }
    std::filesystem::path folder, tokens, model;
};

/// The job that makes the model; those that tune its weights, by these weights' names; all others are rows, by their
/// file names.
inline constexpr const char* pretraining_job = "pretraining";
std::string job_of(const weight_tuning& tuning);

/// Does one job of these settings: reads the tokens and the weights that it begins with, and writes the job's
/// result, and weights that it makes.
/// @throws std::runtime_error  if there is no such job, or the model does not look up what is within L
void run_worker(const settings& s, const std::string& job, const progress_report& report);

}  // namespace demo
