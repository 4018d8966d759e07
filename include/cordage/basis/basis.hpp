// SPDX-License-Identifier: MIT
// The basis: inv_freq as plain numbers and as turns, and the attention factor; stage policy at t -> basis.
#pragma once

#include <span>
#include <vector>

#include "cordage/basis/fingerprint.hpp"
#include "cordage/basis/turns.hpp"
#include "cordage/scaling/policy.hpp"

namespace cordage {

/// Whether m may multiply cos and sin: the inverse of a rotation divides by m^2, in float.
inline bool is_attention_factor(double m) noexcept {
    return is_finite(m) && std::fabs(m) >= 0x1p-60 && std::fabs(m) <= 0x1p60;
}

/// Everything that angles need of a model at one t: theta_i(t) = alpha_i(t) theta_i and m(t). Immutable.
class basis {
 public:
    /// From plain numbers, as an engine has them.
    ///
    /// @param inv_freq          [rotary_dim/2], radians per position; finite, at most 2^62 in magnitude, not empty
    /// @param attention_factor  multiplies cos and sin; 2^-60 to 2^60 in magnitude
    /// @throws value_error  naming the first entry that is out of its domain
    explicit basis(std::vector<double> inv_freq, double attention_factor = 1.0)
        : inv_freq_(std::move(inv_freq)),
          turns_(inv_freq_.size()),
          fractions_(inv_freq_.size()),
          attention_factor_(attention_factor) {
        if (inv_freq_.empty()) fail<value_error>({"basis: inv_freq [] must have at least one entry"});
        for (std::size_t pair = 0; pair < inv_freq_.size(); ++pair) {
            if (!is_finite(inv_freq_[pair]) || std::fabs(inv_freq_[pair]) > largest_inv_freq) {
                fail<value_error>(
                    {"basis: inv_freq[", pair, "] ", inv_freq_[pair], " must be finite and at most 2^62 in magnitude"});
            }
        }
        if (!is_attention_factor(attention_factor)) {
            fail<value_error>({"basis: attention_factor ", attention_factor, " must be 2^-60 to 2^60 in magnitude"});
        }
        for (std::size_t pair = 0; pair < inv_freq_.size(); ++pair) {
            turns_[pair] = turns_of(inv_freq_[pair]);
            fractions_[pair] = turns_[pair].fraction;
        }
    }

    index_t pairs() const noexcept { return static_cast<index_t>(inv_freq_.size()); }
    index_t rotary_dim() const noexcept { return 2 * pairs(); }
    std::span<const double> inv_freq() const noexcept { return inv_freq_; }
    std::span<const turns> turns_per_position() const noexcept { return {turns_.data(), turns_.size()}; }
    /// The fractions of turns_per_position(), dense, for kernels that step whole positions.
    std::span<const std::uint64_t> fractions_of_turn() const noexcept { return {fractions_.data(), fractions_.size()}; }
    double attention_factor() const noexcept { return attention_factor_; }

    /// A name for these numbers, to tag the blocks of a KV cache so that keys turned by two bases never mix: the
    /// fingerprint_of_words of pairs(), the bits of every inv_freq, and those of attention_factor. Equal bits have
    /// equal fingerprints on every platform, and a change of one bit changes it. (Whether two machines compute equal
    /// numbers from a config is up to their exp and pow, which differ in a last bit now and then: send the numbers, not
    /// the config, to a machine that shares a cache.) What else a block depends on, positions, axes, pairing and
    /// element type, is not in it.
    std::uint64_t fingerprint() const noexcept { return words().value(); }
    /// The same with all of a model's config after it, for a cache that several models share.
    std::uint64_t fingerprint(const rope_config& config) const noexcept {
        fingerprint_of_words all = words();
        all.add(static_cast<std::uint64_t>(config.head_dim));
        all.add(static_cast<std::uint64_t>(config.rotary_dim));
        all.add(config.theta_base);
        all.add(config.original_length);
        return all.value();
    }

    /// The basis that turns what was rotated with `from` into what this one would have made of it:
    ///
    ///   theta = theta_this - theta_from        m = m_this / m_from
    ///
    /// The difference is taken between turns, modulo one turn, and is exact: at every whole position the phases of many
    /// changes, one after another, add up to that of the one change from the first basis to the last.
    ///
    /// @throws shape_error  unless from has as many pairs
    /// @throws value_error  unless m_this / m_from is 2^-60 to 2^60 in magnitude
    basis relative_to(const basis& from) const {
        if (from.pairs() != pairs()) {
            fail<shape_error>({"basis::relative_to: from.rotary_dim ", from.rotary_dim(), " must be ", rotary_dim()});
        }
        basis difference = *this;
        difference.attention_factor_ /= from.attention_factor_;
        if (!is_attention_factor(difference.attention_factor_)) {
            fail<value_error>({"basis::relative_to: attention_factor ", attention_factor_, " / ",
                               from.attention_factor_, " must be 2^-60 to 2^60 in magnitude"});
        }
        for (std::size_t pair = 0; pair < turns_.size(); ++pair) {
            difference.inv_freq_[pair] -= from.inv_freq_[pair];
            difference.turns_[pair] = turns_[pair] - from.turns_[pair];
            difference.fractions_[pair] = difference.turns_[pair].fraction;
        }
        return difference;
    }

 private:
    fingerprint_of_words words() const noexcept {
        fingerprint_of_words all;
        all.add(inv_freq_);
        all.add(attention_factor_);
        return all;
    }

    std::vector<double> inv_freq_;
    std::vector<turns> turns_;
    std::vector<std::uint64_t> fractions_;
    double attention_factor_;
};

/// The basis of a policy at length ratio t: theta_i(t) = alpha_i(t) theta_i (CLEX, eq. 8).
///
/// @throws value_error  if config, the policy's parameters or t are out of their domain
template <scaling_policy Policy>
basis make_basis(const rope_config& config, const Policy& policy, double t) {
    validate(policy, config);
    validate_ratio({"make_basis: t"}, t);
    std::vector<double> values(static_cast<std::size_t>(config.pairs()));
    log_alpha(policy, config, t, values);
    for (index_t pair = 0; pair < config.pairs(); ++pair) {
        double& value = values[static_cast<std::size_t>(pair)];
        value = std::exp(value) * config.inv_freq(pair);
    }
    return basis(std::move(values), attention_factor(policy, config, t));
}

}  // namespace cordage
