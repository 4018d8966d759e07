// SPDX-License-Identifier: MIT
// The parameters of a model's unscaled rotary embedding; serves every stage after it.
#pragma once

#include <cmath>
#include <cstddef>
#include <initializer_list>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage {

/// The parameters of a model that policies read. theta_i = theta_base^(-2i/rotary_dim), i = 0 ... rotary_dim/2-1.
struct rope_config {
    index_t head_dim = 0;          ///< size of a head
    index_t rotary_dim = 0;        ///< rotated lanes of a head: even, <= head_dim
    double theta_base = 10000.0;   ///< the 10000 of RoPE
    double original_length = 0.0;  ///< tokens the base model was trained on; the L of t = seq_len / L

    /// Number of rotated pairs, rotary_dim/2.
    constexpr index_t pairs() const noexcept { return rotary_dim / 2; }

    /// log theta_pair of the unscaled basis.
    double log_inv_freq(index_t pair) const noexcept {
        return -2.0 * static_cast<double>(pair) / static_cast<double>(rotary_dim) * std::log(theta_base);
    }

    /// theta_pair of the unscaled basis, radians per position.
    double inv_freq(index_t pair) const noexcept {
        return std::pow(theta_base, -2.0 * static_cast<double>(pair) / static_cast<double>(rotary_dim));
    }

    /// 1/(1 + theta_pair L), L = original_length, in (0, 1): the weight of a pair in learned policies. A small change
    /// of log alpha_pair by phase_gate(pair) * d shifts the phase at distance L by less than d rad for any pair.
    double phase_gate(index_t pair) const noexcept { return 1.0 / (1.0 + inv_freq(pair) * original_length); }

    friend bool operator==(const rope_config&, const rope_config&) = default;
};

/// Largest head_dim that validate accepts; it bounds the size of a basis.
inline constexpr index_t largest_head_dim = index_t{1} << 20;

/// Throws value_error unless t is a length ratio, finite and >= 1.
inline void validate_ratio(std::initializer_list<message_part> name, double t) {
    validate_number(name, t, t >= 1.0, {">= 1"});
}

/// Throws value_error naming the first field that is out of its range.
inline void validate(const rope_config& config) {
    if (config.head_dim < 2 || config.head_dim > largest_head_dim) {
        fail<value_error>({"rope_config: head_dim ", config.head_dim, " must be >= 2 and <= ", largest_head_dim});
    }
    if (config.rotary_dim < 2 || config.rotary_dim % 2 != 0 || config.rotary_dim > config.head_dim) {
        fail<value_error>(
            {"rope_config: rotary_dim ", config.rotary_dim, " must be even, >= 2 and <= head_dim ", config.head_dim});
    }
    validate_number({"rope_config: theta_base"}, config.theta_base, config.theta_base > 1.0, {"> 1"});
    validate_number({"rope_config: original_length"}, config.original_length, config.original_length >= 1.0, {">= 1"});
}

/// Throws shape_error, "name size must be rotary_dim/2 = ...", unless size is the number of pairs.
inline void validate_pairs(std::initializer_list<message_part> name, std::size_t size, const rope_config& config) {
    if (size != static_cast<std::size_t>(config.pairs())) {
        fail<shape_error>({joined(name), " ", size, " must be rotary_dim/2 = ", config.pairs()});
    }
}

}  // namespace cordage
