// SPDX-License-Identifier: MIT
// log alpha at a few t as learned parameters, over any prior; a policy of the stage t -> log alpha.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "cordage/core/macros.hpp"
#include "cordage/scaling/policy.hpp"
#include "cordage/scaling/power_laws.hpp"

namespace cordage {

/// log alpha_i(t) = log alpha_prior,i(t) + s_i offset_i(t). offset_i is 0 at t = 1, a parameter at each knot t_k > 1,
/// linear in ln t between knots and constant beyond the last. s_i is rope_config::phase_gate, as in log_length_field:
/// an optimiser like Adam, which moves every parameter by the same amount, would otherwise move fast pairs too far. The
/// table is as flexible per pair as CLEX but has no ODE, and serves as the control in comparisons with CLEX.
///
///   learned_table<by_parts> table(config, {2, 4, 8, 16});            // all offsets 0: the prior itself
///   table = table.with_parameters(offsets);                          // [knots, pairs]
///
/// The policy is a closed form and may be the prior of another policy. The attention factor is the prior's. At a knot,
/// log_alpha_rate is the slope of the interval above it.
template <class Prior = ntk_aware>
class learned_table {
    static_assert(has_log_alpha<Prior> && has_log_alpha_rate<Prior>,
                  "cordage::learned_table: Prior needs 'double log_alpha(const rope_config&, index_t pair, double t) "
                  "const' and 'double log_alpha_rate' alike; docs/extending.md");

 public:
    static constexpr bool jumps = has_jump<Prior>;

    /// @throws value_error unless there are knots, finite, > 1 and increasing, and the config and prior are valid
    learned_table(const rope_config& config, std::vector<double> knots, const Prior& prior = {})
        : pairs_(static_cast<std::size_t>(config.pairs())), knots_(std::move(knots)), prior_(prior) {
        cordage::validate(prior, config);
        if (knots_.empty()) fail<value_error>({"learned_table: knots size 0 must be >= 1"});
        double below = 1.0;
        for (std::size_t k = 0; k < knots_.size(); ++k) {
            validate_number({"learned_table: knots[", k, "]"}, knots_[k], knots_[k] > below, {"> ", below});
            below = knots_[k];
            x_.push_back(std::log(below));
            if (!(x_[k + 1] > x_[k])) {
                fail<value_error>({"learned_table: knots[", k, "] ", below,
                                   " must differ from the knot before in its logarithm, too"});
            }
        }
        offsets_.resize(knots_.size() * pairs_);
    }

    const std::vector<double>& knots() const noexcept { return knots_; }
    const Prior& prior() const noexcept { return prior_; }

    double log_alpha(const rope_config& c, index_t pair, double t) const {
        const auto [lower, upper, share, width] = segment_at(t);
        return prior_.log_alpha(c, pair, t) +
               c.phase_gate(pair) * ((1.0 - share) * offset(lower, pair) + share * offset(upper, pair));
    }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const {
        return prior_.log_alpha_rate(c, pair, t) + slope(c, pair, t) / t;
    }
    double attention_factor(const rope_config& c, double t) const { return cordage::attention_factor(prior_, c, t); }
    double attention_factor_rate(const rope_config& c, double t) const {
        return cordage::attention_factor_rate(prior_, c, t);
    }

    /// Throws unless the table has the config's number of pairs.
    void validate(const rope_config& c) const {
        validate_pairs({"learned_table: pairs"}, pairs_, c);
        cordage::validate(prior_, c);
    }

    /// The offsets [knots, pairs].
    std::vector<double> parameters() const { return offsets_; }

    /// The same table with other offsets.
    /// @throws shape_error unless there are knots * pairs offsets, value_error for one that is not finite
    learned_table with_parameters(std::span<const double> offsets) const {
        expect_parameters(offsets.size());
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            validate_finite({"learned_table: offset[", i / pairs_, ", ", i % pairs_, "]"}, offsets[i]);
        }
        learned_table other(*this);
        std::copy(offsets.begin(), offsets.end(), other.offsets_.begin());
        return other;
    }

    /// grad_parameters += (d log alpha(t) / d parameters)^T grad_log_alpha; only entries of the knots around t change.
    void log_alpha_vjp(const rope_config& c, double t, std::span<const double> grad_log_alpha,
                       std::span<double> grad_parameters) const {
        validate(c);
        validate_ratio({"learned_table::log_alpha_vjp: t"}, t);
        if (grad_log_alpha.size() != pairs_) {
            fail<shape_error>(
                {"learned_table: grad_log_alpha size ", grad_log_alpha.size(), " must be pairs ", pairs_});
        }
        expect_parameters(grad_parameters.size());
        const auto [lower, upper, share, width] = segment_at(t);
        for (std::size_t pair = 0; pair < pairs_; ++pair) {
            const auto row = [&](std::size_t knot) { return (knot - 1) * pairs_ + pair; };
            const double grad = c.phase_gate(static_cast<index_t>(pair)) * grad_log_alpha[pair];
            if (lower > 0) grad_parameters[row(lower)] += (1.0 - share) * grad;
            grad_parameters[row(upper)] += share * grad;
        }
    }

 private:
    /// The interval of x_ that contains ln t: the indices of its ends, the position in it (0 to 1), and its width.
    /// Beyond an end of x_ both indices are that end's and width is 0.
    struct segment {
        std::size_t lower, upper;
        double share, width;
    };
    segment segment_at(double t) const {
        const double log_t = std::log(t);
        const auto upper = static_cast<std::size_t>(std::upper_bound(x_.begin(), x_.end(), log_t) - x_.begin());
        if (upper == 0) return {0, 0, 0.0, 0.0};
        if (upper == x_.size()) return {upper - 1, upper - 1, 0.0, 0.0};
        const double width = x_[upper] - x_[upper - 1];
        return {upper - 1, upper, (log_t - x_[upper - 1]) / width, width};
    }

    double offset(std::size_t knot, index_t pair) const {
        CORDAGE_ASSERT(pair >= 0 && static_cast<std::size_t>(pair) < pairs_);
        return knot == 0 ? 0.0 : offsets_[(knot - 1) * pairs_ + static_cast<std::size_t>(pair)];
    }
    /// s d offset / d ln t
    double slope(const rope_config& c, index_t pair, double t) const {
        const auto [lower, upper, share, width] = segment_at(t);
        return width > 0.0 ? c.phase_gate(pair) * (offset(upper, pair) - offset(lower, pair)) / width : 0.0;
    }
    void expect_parameters(std::size_t size) const {
        if (size != offsets_.size()) {
            fail<shape_error>(
                {"learned_table: parameters size ", size, " must be knots ", knots_.size(), " * pairs ", pairs_});
        }
    }

    std::size_t pairs_;
    std::vector<double> knots_;    // [knots]
    std::vector<double> x_{0.0};   // ln of 1 and of the knots [1 + knots]
    std::vector<double> offsets_;  // [knots, pairs]
    Prior prior_;
};

}  // namespace cordage
