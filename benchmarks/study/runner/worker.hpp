// SPDX-License-Identifier: MIT
// A job in a separate process: trains one model, or learns and evaluates one row.
#pragma once

#include <filesystem>
#include <string>

#include "methods.hpp"
#include "model/learning.hpp"

namespace demo {

/// The files shared by the processes: below settings.out, a folder for each model.
struct work_files {
    explicit work_files(const settings& s)
        : folder(s.out / "work" / ("seed" + std::to_string(s.seed))),
          tokens(s.out / "work" / "tokens.bin"),
          model(folder / "model.bin") {}
    std::filesystem::path result_of(const std::string& job) const { return folder / (job + ".txt"); }
    std::filesystem::path log_of(const std::string& job) const { return folder / (job + ".log"); }
    std::filesystem::path folder, tokens, model;
};

/// The name of the job that trains the model; all others are rows, by file name.
inline constexpr const char* pretraining_job = "pretraining";

/// Runs one job: reads the tokens and the initial weights, and writes the job's result and new weights. The weights of
/// a model that does not pass the gate are not written.
/// @throws std::runtime_error  if there is no such job
void run_worker(const settings& s, const std::string& job, const progress_report& report);

}  // namespace demo
