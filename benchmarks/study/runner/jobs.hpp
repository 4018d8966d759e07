// SPDX-License-Identifier: MIT
// Runs independent jobs as processes, a few at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace demo {

struct job {
    std::string name;                    ///< for messages
    std::vector<std::string> arguments;  ///< of this program, which runs the job
    std::filesystem::path log;           ///< receives the standard error of the process
};

/// Callback with the index of a job and the completed share of its work; 1 after success.
using job_report = std::function<void(std::size_t job, double share)>;

/// Runs this program once for each job, in order, at most `at_once` at a time. A process reports its progress by lines
/// "progress SHARE" on standard output.
///
/// @throws std::runtime_error  if a process fails, with the content of its log, after ending all others
void run_jobs(const std::vector<job>& jobs, std::size_t at_once, const job_report& report);

/// Sets environment variables of the numerical libraries that the user has not set: one thread each, and suitable
/// kernels if OpenBLAS does not recognise the processor. The last bits of a model depend on them. The libraries read
/// them when they are loaded, so if one was not set, the program is restarted with these arguments and the call does
/// not return.
/// @throws std::runtime_error  if it cannot be started
void prepare_environment(char** arguments);

}  // namespace demo
