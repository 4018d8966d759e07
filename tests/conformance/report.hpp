// SPDX-License-Identifier: MIT
// Collects the results of the cases of one kind: the error nearest to its tolerance, and failures.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "golden.hpp"

namespace conformance {

/// The case needs something that cordage does not support: a policy, a method.
struct unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The largest magnitude of some numbers.
inline double largest(std::span<const double> entries) {
    double found = 0.0;
    for (const double x : entries) found = std::max(found, std::abs(x));
    return found;
}

class report {
 public:
    /// An error that must not exceed its tolerance. The worst error is the one largest relative to its tolerance.
    void error(std::string_view what, double error, double tolerance) {
        ++comparisons_;
        const bool holds = error <= tolerance;  // false for NaN
        const double share = error == 0.0 ? 0.0 : holds ? error / tolerance : past(error / tolerance);
        if (share > worst_share_ || std::isnan(tolerance_)) {
            worst_share_ = share;
            worst_ = error;
            tolerance_ = tolerance;
        }
        if (!holds) fail(message(what, ": error ", error, " exceeds ", tolerance));
    }

    void near(std::string_view what, double got, double expected, double tolerance) {
        error(what, std::abs(got - expected), tolerance);
    }
    /// Every entry within one tolerance; the largest error counts.
    void near(std::string_view what, std::span<const double> got, std::span<const double> expected, double tolerance) {
        if (!same_size(what, got, expected)) return;
        double largest = 0.0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double difference = std::abs(got[i] - expected[i]);
            if (!(difference <= largest)) largest = difference;
            if (std::isnan(largest)) break;
        }
        error(what, largest, tolerance);
    }
    /// As above with the tolerance relative to each expected entry.
    void near_relative(std::string_view what, std::span<const double> got, std::span<const double> expected,
                       double tolerance) {
        if (!same_size(what, got, expected)) return;
        double largest = 0.0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (got[i] == expected[i]) continue;
            const double relative = std::abs(got[i] - expected[i]) / std::abs(expected[i]);
            if (!(relative <= largest)) largest = relative;
            if (std::isnan(largest)) break;
        }
        error(what, largest, tolerance);
    }

    /// A fact without a number.
    void require(std::string_view what, bool holds) {
        ++comparisons_;
        if (!holds) fail(message("must hold: ", what));
    }

    void fail(std::string why) { failures_.push_back(case_ + ": " + std::move(why)); }
    void lacks(std::string why) { gaps_.push_back(case_ + ": " + std::move(why)); }

    /// Starts a case: subsequent messages and counts belong to it.
    void begin_case(std::string name) {
        case_ = std::move(name);
        ++cases_;
        comparisons_before_ = comparisons_;
    }
    /// A case without comparisons fails.
    void end_case() {
        if (comparisons_ == comparisons_before_) fail("nothing to compare");
    }

    const char* verdict() const { return !failures_.empty() ? "fail" : !gaps_.empty() ? "unsupported" : "pass"; }
    bool passes() const { return failures_.empty() && gaps_.empty(); }
    std::size_t cases() const { return cases_; }
    double worst() const { return worst_; }
    double tolerance() const { return tolerance_; }
    const std::vector<std::string>& failures() const { return failures_; }
    const std::vector<std::string>& gaps() const { return gaps_; }

 private:
    bool same_size(std::string_view what, std::span<const double> got, std::span<const double> expected) {
        const bool same = got.size() == expected.size();
        require(message(what, " has ", expected.size(), " entries"), same);
        return same;
    }

    /// A failed ratio is worse than any that holds, also if it is NaN.
    static double past(double share) { return std::isnan(share) ? std::numeric_limits<double>::infinity() : share; }

    std::string case_ = "file";
    std::size_t cases_ = 0, comparisons_ = 0, comparisons_before_ = 0;
    double worst_share_ = 0.0;
    double worst_ = std::numeric_limits<double>::quiet_NaN();
    double tolerance_ = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::string> failures_, gaps_;
};

}  // namespace conformance
