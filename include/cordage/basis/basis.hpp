// SPDX-License-Identifier: MIT
// The basis: inv_freq in radians and in turns, and the attention factor; stage policy at t -> basis.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/basis/basis_view.hpp"
#include "cordage/pair/phase.hpp"
#include "cordage/scaling/policy.hpp"

namespace cordage {

/// Whether m is a valid factor on cos and sin: the inverse of a rotation divides by m^2, in float.
inline bool is_attention_factor(double m) noexcept {
    return is_finite(m) && std::fabs(m) >= 0x1p-60 && std::fabs(m) <= 0x1p60;
}

/// The frequencies theta_i(t) = alpha_i(t) theta_i and the attention factor m(t) of a model at one t. Immutable.
class basis {
 public:
    /// From frequencies that an engine already has.
    ///
    /// @param inv_freq          [rotary_dim/2], radians per position; finite, at most 2^62 in magnitude, not empty
    /// @param attention_factor  multiplies cos and sin; 2^-60 to 2^60 in magnitude
    /// @throws value_error  naming the first entry that is out of range
    explicit basis(std::vector<double> inv_freq, double attention_factor = 1.0)
        : numbers_(std::move(inv_freq)), turns_(2 * numbers_.size()) {
        if (numbers_.empty()) fail<value_error>({"basis: inv_freq [] must have at least one entry"});
        for (std::size_t pair = 0; pair < numbers_.size(); ++pair) {
            if (!is_finite(numbers_[pair]) || std::fabs(numbers_[pair]) > largest_inv_freq) {
                fail<value_error>(
                    {"basis: inv_freq[", pair, "] ", numbers_[pair], " must be finite and at most 2^62 in magnitude"});
            }
        }
        if (!is_attention_factor(attention_factor)) {
            fail<value_error>({"basis: attention_factor ", attention_factor, " must be 2^-60 to 2^60 in magnitude"});
        }
        for (std::size_t pair = 0; pair < numbers_.size(); ++pair) set_turns(pair, turns_of(numbers_[pair]));
        numbers_.push_back(attention_factor);
    }

    /// Of no other numbers: the error says what to write.
    template <class Row>
        requires requires(const Row& row) { row[0]; } && (!std::convertible_to<const Row&, std::vector<double>>)
    explicit basis(const Row&, double = 1.0) {
        static_assert(!sizeof(Row*), "cordage::basis: copy inv_freq to doubles: std::vector<double>(f, f + n)");
    }

    index_t pairs() const noexcept { return std::ssize(numbers_) - 1; }
    index_t rotary_dim() const noexcept { return 2 * pairs(); }
    std::span<const double> inv_freq() const noexcept { return {numbers_.data(), numbers_.size() - 1}; }
    double attention_factor() const noexcept { return numbers_.back(); }
    /// Turns of a pair per position.
    turns turns_per_position(index_t pair) const noexcept {
        const auto i = static_cast<std::size_t>(pair);
        return {static_cast<std::int64_t>(turns_[inv_freq().size() + i]), turns_[i]};
    }
    /// Phase of a pair at a position, in units of 2^-64 turn: exact (pair/phase.hpp).
    template <position_type P>
    CORDAGE_ALWAYS_INLINE std::uint64_t phase(index_t pair, P position) const noexcept {
        return phase_of(position_traits<P>::split(position), turns_.data()[pair], turns_.data() + pairs() + pair);
    }
    /// The phases of all pairs at a position, for loops over pairs. The basis must outlive them.
    template <position_type P>
    CORDAGE_ALWAYS_INLINE position_phases phases(P position) const noexcept {
        return {position_traits<P>::split(position), turns_.data(), turns_.data() + pairs()};
    }
    /// View of the numbers, for angles. The basis must outlive it.
    CORDAGE_ALWAYS_INLINE operator basis_view() const& noexcept {
        return {.fractions = turns_.data(),
                .whole_turns = turns_.data() + pairs(),
                .inv_freq = numbers_.data(),
                .attention_factors = numbers_.data() + pairs(),
                .pairs = pairs()};
    }
    operator basis_view() const&& = delete;

    /// A hash of pairs(), every inv_freq and attention_factor, to tag the blocks of a KV cache so that keys rotated by
    /// different bases are never mixed. Equal bits have equal fingerprints on every platform, and a change of one bit
    /// changes it; other numbers have the same one with probability 2^-64. Not cryptographic. (Two machines may compute
    /// inv_freq from a config with a different last bit, by their exp and pow: send the numbers, not the config, to a
    /// machine that shares a cache.) Positions, axes, pairing and element type, on which a block also depends, are not
    /// included.
    std::uint64_t fingerprint() const noexcept {
        std::uint64_t hash = mixed(0, static_cast<std::uint64_t>(pairs()));
        for (const double number : numbers_) hash = mixed(hash, std::bit_cast<std::uint64_t>(number));
        return hash;
    }
    /// The hash of these numbers and all of a model's config, for a cache that several models share.
    std::uint64_t fingerprint(const rope_config& c) const noexcept {
        std::uint64_t hash = fingerprint();
        for (const index_t size : {c.head_dim, c.rotary_dim}) hash = mixed(hash, static_cast<std::uint64_t>(size));
        for (const double x : {c.theta_base, c.original_length}) hash = mixed(hash, std::bit_cast<std::uint64_t>(x));
        return hash;
    }

 private:
    void set_turns(std::size_t pair, const turns& rate) noexcept {
        turns_[pair] = rate.fraction;
        turns_[turns_.size() / 2 + pair] = static_cast<std::uint64_t>(rate.whole);
    }
    /// SplitMix64's finaliser (Steele et al. 2014) of hash ^ word: one-to-one in each, so that two sequences of one
    /// length that differ in one word always have different hashes.
    static constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) noexcept {
        std::uint64_t x = (hash ^ word) + 0x9e37'79b9'7f4a'7c15u;
        x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9u;
        x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebu;
        return x ^ (x >> 31);
    }

    std::vector<double> numbers_;       // inv_freq, then the attention factor
    std::vector<std::uint64_t> turns_;  // fractions, then whole turns
};

/// The basis of a policy at length ratio t: theta_i(t) = alpha_i(t) theta_i (CLEX, eq. 8).
///
/// @throws value_error or shape_error  if config, t, or a parameter or table of the policy is invalid
template <class Policy>
basis make_basis(const rope_config& config, const Policy& policy, double t) {
    static_assert(policy_detail::require_policy<Policy>());
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
/// Of no other arguments: the error says what to write.
template <class First, class... More>
    requires(!std::is_invocable_v<void (*)(const rope_config&, policy_detail::anything, double), const First&,
                                  const More&...>)
auto make_basis(const First&, const More&...) {
    static_assert(!sizeof(First*),
                  "cordage::make_basis: write (config, policy, t), t >= 1: make_basis(config, yarn{}, 4.0)");
}

}  // namespace cordage
