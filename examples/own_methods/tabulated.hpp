// SPDX-License-Identifier: MIT
// Given alpha at a few t, interpolated by monotone cubics in ln t: a policy of one's own that is a class.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "cordage/scaling/policy.hpp"

namespace own {

using cordage::fail, cordage::index_t, cordage::rope_config, cordage::shape_error, cordage::value_error;

/// A continuous policy from searched or measured factors: log alpha_i is given at chosen t_k and interpolated in ln t
/// by the monotone cubic of Fritsch and Butland (1984), which has a continuous slope and stays between neighbouring
/// values. It is constant before the first and after the last t_k.
///
///   tabulated table({1, 4, 16}, alpha);         // alpha [3, pairs]
///
/// At the first and the last t_k, where the slope is discontinuous, log_alpha_rate is that of the interval above.
class tabulated {
 public:
    /// @param knots  t_k, increasing, finite, >= 1
    /// @param alpha  [knots, pairs], factors on inv_freq; finite and > 0
    /// @throws value_error or shape_error naming the invalid entry
    tabulated(std::vector<double> knots, std::vector<double> alpha) : log_alpha_(std::move(alpha)) {
        if (knots.empty()) fail<value_error>({"tabulated: knots size 0 must be >= 1"});
        for (std::size_t k = 0; k < knots.size(); ++k) {
            cordage::validate_ratio({"tabulated: knots[", k, "]"}, knots[k]);
            if (k > 0 && !(knots[k] > knots[k - 1])) {
                fail<value_error>({"tabulated: knots[", k, "] ", knots[k], " must be > ", knots[k - 1]});
            }
            x_.push_back(std::log(knots[k]));
            if (k > 0 && !(x_[k] > x_[k - 1])) {
                fail<value_error>({"tabulated: knots[", k, "] ", knots[k], " must differ from ", knots[k - 1],
                                   " by more than the rounding of their logarithms"});
            }
        }
        if (log_alpha_.empty() || log_alpha_.size() % x_.size() != 0) {
            fail<shape_error>(
                {"tabulated: alpha size ", log_alpha_.size(), " must be knots ", x_.size(), " * pairs, pairs >= 1"});
        }
        pairs_ = log_alpha_.size() / x_.size();
        for (std::size_t i = 0; i < log_alpha_.size(); ++i) {
            cordage::validate_positive({"tabulated: alpha[", i / pairs_, ", ", i % pairs_, "]"}, log_alpha_[i]);
            log_alpha_[i] = std::log(log_alpha_[i]);
        }
        slope_.resize(log_alpha_.size());
        for (std::size_t pair = 0; pair < pairs_; ++pair) set_slopes(pair);
    }

    double log_alpha(const rope_config&, index_t pair, double t) const { return at(pair, t).value; }
    double log_alpha_rate(const rope_config&, index_t pair, double t) const { return at(pair, t).slope / t; }

    /// Throws unless the table has the config's number of pairs.
    void validate(const rope_config& c) const { cordage::validate_pairs({"tabulated: pairs"}, pairs_, c); }

 private:
    /// log alpha and its derivative in ln t.
    struct cubic_value {
        double value, slope;
    };

    std::size_t at_knot(std::size_t knot, std::size_t pair) const { return knot * pairs_ + pair; }

    cubic_value at(index_t wanted, double t) const {
        const auto pair = static_cast<std::size_t>(wanted);
        const double x = std::log(t);
        if (x < x_.front()) return {log_alpha_[at_knot(0, pair)], 0.0};
        if (x >= x_.back()) return {log_alpha_[at_knot(x_.size() - 1, pair)], 0.0};
        const auto upper = static_cast<std::size_t>(std::upper_bound(x_.begin(), x_.end(), x) - x_.begin());
        const std::size_t lower = upper - 1;
        const double h = x_[upper] - x_[lower], s = (x - x_[lower]) / h;
        const double y0 = log_alpha_[at_knot(lower, pair)], y1 = log_alpha_[at_knot(upper, pair)];
        const double d0 = h * slope_[at_knot(lower, pair)], d1 = h * slope_[at_knot(upper, pair)];
        const double c2 = 3.0 * (y1 - y0) - 2.0 * d0 - d1, c3 = d0 + d1 - 2.0 * (y1 - y0);
        return {y0 + s * (d0 + s * (c2 + s * c3)), (d0 + s * (2.0 * c2 + s * 3.0 * c3)) / h};
    }

    /// Slopes at the knots: a weighted harmonic mean of the two secants, 0 where they disagree in sign.
    void set_slopes(std::size_t pair) {
        const std::size_t last = x_.size() - 1;
        if (last == 0) return;
        const auto width = [&](std::size_t k) { return x_[k + 1] - x_[k]; };
        const auto secant = [&](std::size_t k) {
            return (log_alpha_[at_knot(k + 1, pair)] - log_alpha_[at_knot(k, pair)]) / width(k);
        };
        for (std::size_t k = 1; k < last; ++k) {
            const double before = secant(k - 1), after = secant(k);
            if (before * after > 0.0) {
                const double a = 2.0 * width(k) + width(k - 1), b = width(k) + 2.0 * width(k - 1);
                slope_[at_knot(k, pair)] = (a + b) / (a / before + b / after);
            }
        }
        if (last == 1) {
            slope_[at_knot(0, pair)] = slope_[at_knot(1, pair)] = secant(0);
            return;
        }
        slope_[at_knot(0, pair)] = end_slope(width(0), width(1), secant(0), secant(1));
        slope_[at_knot(last, pair)] = end_slope(width(last - 1), width(last - 2), secant(last - 1), secant(last - 2));
    }

    /// The three-point slope at an end, limited so that the cubic stays monotone.
    static double end_slope(double h0, double h1, double secant0, double secant1) {
        const double slope = ((2.0 * h0 + h1) * secant0 - h0 * secant1) / (h0 + h1);
        if (slope * secant0 <= 0.0) return 0.0;
        if (secant0 * secant1 <= 0.0 && std::fabs(slope) > 3.0 * std::fabs(secant0)) return 3.0 * secant0;
        return slope;
    }

    std::size_t pairs_ = 0;
    std::vector<double> x_;          // ln t_k [knots]
    std::vector<double> log_alpha_;  // [knots, pairs]
    std::vector<double> slope_;      // d log alpha / d ln t [knots, pairs]
};
static_assert(cordage::scaling_policy<tabulated> && cordage::prior_policy<tabulated>);

}  // namespace own
