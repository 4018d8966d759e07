// SPDX-License-Identifier: MIT
// The part of the program that runs in processes of its own: one model trained or evaluated.
#pragma once

#include <filesystem>
#include <string>

#include "model/learning.hpp"

namespace demo {

/// Where the processes meet, besides settings.tokens and settings.pretrained: below settings.out.
struct work_files {
    explicit work_files(const std::filesystem::path& out) : folder(out / "work") {}
    std::filesystem::path result_of(const method& m) const { return folder / (m.file_name() + ".txt"); }
    std::filesystem::path model_of(const method& m) const { return folder / (m.file_name() + ".bin"); }
    std::filesystem::path folder;
};

/// Does one job: "pretraining", or the method of that file name, which may need that of the row it starts from. Reads
/// settings.tokens and settings.pretrained, and writes the latter or work_files.
void run_worker(const settings& s, const std::string& job, const progress_report& report);

}  // namespace demo
