// SPDX-License-Identifier: MIT
// The parts of a program on the real model: processes, each of which leaves a result in a file. Without libtorch.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "observation.hpp"
#include "runner/progress.hpp"

namespace demo {

struct real_options {
    std::filesystem::path model, texts, out;
    bool is_trial = false;  ///< a short run that tests the program
};

/// What one process does. Its result is the file NAME.txt in the folder work of `out`.
struct part {
    std::string name, title;
    double cost;           ///< in units of a block of tokens without attention to earlier ones
    std::string settings;  ///< a result with another line belongs to another run
};

struct stage_of_parts {
    std::string title;
    std::vector<part> parts;
};

/// What a part measures: fills the result, and says what it has seen up to now.
using part_work = std::function<void(row_result& made,
                                     const std::function<void(double share, const std::vector<observation>&)>& report)>;

/// Called while a part runs, with the observations up to now, and once more when it is done.
using part_shown = std::function<void(const part&, const row_result* done, progress&)>;

/// The result of a part, if it is there with these settings.
std::optional<row_result> result_if_done(const real_options& o, const part& p);
/// @throws std::runtime_error  if it is not there
row_result result_of(const real_options& o, const std::string& name);
/// What a running part has seen up to now; nothing if it has not said.
std::vector<observation> seen_by(const real_options& o, const std::string& name);

/// Runs the parts that have no result, in order, two at a time: this program with the words of `command`, the part's
/// name, and the options.
void run_parts(const real_options& o, const std::vector<std::string>& command, std::vector<stage_of_parts> stages,
               progress& shown, const part_shown& show);

/// Does a part's work in this process and saves its result.
void run_part(const real_options& o, const part& p, const part_work& work);

/// Two processes read a block at the same time, as all parts will. @returns the slower one's seconds
double seconds_of_block(const real_options& o, const std::vector<std::string>& command);

}  // namespace demo
