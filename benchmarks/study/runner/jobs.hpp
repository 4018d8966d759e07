// SPDX-License-Identifier: MIT
// Independent jobs as processes, a few at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace demo {

struct job {
    std::string name;                    ///< for messages
    std::vector<std::string> arguments;  ///< for this program itself
    std::filesystem::path log;           ///< takes what the process writes to standard error
};

/// Told which job (an index) has done which share of its work; 1 when it has ended well.
using job_report = std::function<void(std::size_t job, double share)>;

/// Runs this program once for each job, in order, at most `at_once` at a time. A process tells its share by lines
/// "progress SHARE" on standard output.
///
/// @throws std::runtime_error  when a process fails, with what it wrote to its log; the others are ended first
void run_jobs(const std::vector<job>& jobs, std::size_t at_once, const job_report& report);

/// Settings of the numerical libraries, unless the user has set them: one thread each, and the right kernels where
/// OpenBLAS does not know the processor. A model's last bits depend on them, and the libraries read them as they are
/// loaded: where one was not set, this program is started anew, with these arguments, and the call does not return.
/// @throws std::runtime_error  if it cannot be started
void prepare_environment(char** arguments);

}  // namespace demo
