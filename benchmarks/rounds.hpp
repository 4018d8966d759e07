// SPDX-License-Identifier: MIT
// Times of functions that run alternately, and their ratios within a round; serves the benchmarks of every backend.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cordage::benchmarks {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Times by name, over many rounds in one process: at least 7 rounds and half a second, or as long as is said.
class rounds {
 public:
    explicit rounds(double seconds = 0.5) : seconds_(seconds) {}
    bool want_more() { return count_++ < 7 || seconds_since(start_) < seconds_; }

    void add(const std::string& name, double seconds) { all_[name].push_back(seconds); }
    double median(const std::string& name) const { return quantile(all_.at(name), 0.5); }
    /// The median over the rounds of one time over another of the same round.
    double ratio(const std::string& name, const std::string& to) const { return quantile(ratios(name, to), 0.5); }
    /// Width of the range of ratios of half of the rounds, relative to the median.
    double spread(const std::string& name, const std::string& to) const {
        const auto all = ratios(name, to);
        return (quantile(all, 0.75) - quantile(all, 0.25)) / quantile(all, 0.5);
    }

 private:
    std::vector<double> ratios(const std::string& name, const std::string& to) const {
        std::vector<double> all = all_.at(name);
        std::ranges::transform(all, all_.at(to), all.begin(), std::divides<>{});
        return all;
    }
    static double quantile(std::vector<double> values, double share) {
        std::ranges::sort(values);
        return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    }
    std::map<std::string, std::vector<double>> all_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double seconds_;
    int count_ = 0;
};

}  // namespace cordage::benchmarks
