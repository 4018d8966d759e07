// SPDX-License-Identifier: MIT
// Progress and remaining time of the program: bars on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace demo {

class progress {
 public:
    /// @param stages  total number of stages
    explicit progress(int stages);

    /// Begins the next stage.
    void stage(const std::string& title);

    /// Prints a permanent line.
    void line(const std::string& text);

    /// Shows the bar of the current stage. @param seconds_left of the whole program; negative: unknown
    void bar(double share, double seconds_left);

    /// Removes the bar.
    void end_bar();

 private:
    bool terminal_;
    int stages_, stage_ = 0;
    std::string title_;
    int shown_percent_ = -1;
    std::chrono::steady_clock::time_point shown_at_;
};

/// Estimates the remaining time from the completed work of jobs, in any one unit.
class work_clock {
 public:
    explicit work_clock(std::vector<double> work_of_jobs);
    void set(std::size_t job, double share);
    double seconds_left() const;

    /// Completed share of the jobs first ... last-1.
    double share(std::size_t first, std::size_t last) const;

 private:
    std::vector<double> work_, share_;
    std::chrono::steady_clock::time_point begin_;
};

/// "1:05"
std::string minutes(double seconds);

}  // namespace demo
