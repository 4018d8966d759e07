// SPDX-License-Identifier: MIT
// The concept of a length schedule; first file of the stage sequence length -> t.
#pragma once

#include <concepts>

#include "cordage/core/config.hpp"

namespace cordage {

/// Which length ratio t >= 1 to use for a sequence of seq_len tokens.
template <class S>
concept length_schedule = requires(const S& s, const rope_config& c, double seq_len) {
    { s.ratio(c, seq_len) } -> std::same_as<double>;
};

/// t of a schedule, with its arguments and its own settings checked.
template <length_schedule Schedule>
double ratio_at(const Schedule& schedule, const rope_config& config, double seq_len) {
    validate(config);
    if constexpr (requires { schedule.validate(); }) schedule.validate();
    if (!is_finite(seq_len) || !(seq_len >= 0.0)) {
        throw value_error(message("ratio_at: seq_len ", seq_len, " must be finite and >= 0"));
    }
    return schedule.ratio(config, seq_len);
}

}  // namespace cordage
