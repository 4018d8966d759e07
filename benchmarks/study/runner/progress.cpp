// SPDX-License-Identifier: MIT
// Drawing the bar, and guessing the time left.
#include "runner/progress.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <utility>

#include "report/formatted.hpp"

namespace demo {
namespace {

constexpr int bar_width = 30;
constexpr int plain_step = 10;  // percent between two plain lines
constexpr const char* clear_line = "\r\033[K";

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::string minutes(double seconds) {
    const long whole = std::lround(seconds);
    return formatted("%ld:%02ld", whole / 60, whole % 60);
}

progress::progress(int stages) : terminal_(isatty(STDOUT_FILENO) != 0), stages_(stages) {}

void progress::stage(const std::string& title) {
    end_bar();
    ++stage_;
    title_ = title;
    shown_percent_ = -1;
    line(formatted("[%d/%d] %s", stage_, stages_, title.c_str()));
}

void progress::line(const std::string& text) {
    std::printf("%s%s\n", terminal_ ? clear_line : "", text.c_str());
    std::fflush(stdout);
}

void progress::bar(double share, double seconds_left) {
    const int percent = static_cast<int>(100.0 * share);
    const std::string left = seconds_left < 0.0 ? "" : formatted("   %s left in all", minutes(seconds_left).c_str());
    if (terminal_) {
        if (percent == shown_percent_ && seconds_since(shown_at_) < 1.0) return;
        const auto full = static_cast<std::size_t>(percent * bar_width / 100);
        const std::string drawn = std::string(full, '#') + std::string(bar_width - full, '.');
        std::printf("%s      %s %3d %%%s", clear_line, drawn.c_str(), percent, left.c_str());
    } else {
        if (percent / plain_step == shown_percent_ / plain_step && shown_percent_ >= 0) return;
        std::printf("      %3d %%%s\n", percent, left.c_str());
    }
    std::fflush(stdout);
    shown_percent_ = percent;
    shown_at_ = std::chrono::steady_clock::now();
}

void progress::end_bar() {
    if (terminal_) std::printf("%s", clear_line);
}

work_clock::work_clock(std::vector<double> work_of_jobs)
    : work_(std::move(work_of_jobs)), share_(work_.size()), begin_(std::chrono::steady_clock::now()) {}

void work_clock::set(std::size_t job, double share) { share_[job] = share; }

double work_clock::seconds_left() const {
    double done = 0.0, total = 0.0;
    for (std::size_t i = 0; i < work_.size(); ++i) {
        done += share_[i] * work_[i];
        total += work_[i];
    }
    if (done < 0.01 * total) return -1.0;
    return seconds_since(begin_) * (total - done) / done;
}

double work_clock::share(std::size_t first, std::size_t last) const {
    double done = 0.0, total = 0.0;
    for (std::size_t i = first; i < last; ++i) {
        done += share_[i] * work_[i];
        total += work_[i];
    }
    return done / total;
}

}  // namespace demo
