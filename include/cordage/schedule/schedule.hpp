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

/// Calls the schedule's own check of its settings, where it has one.
template <length_schedule Schedule>
void validate_schedule(const Schedule& schedule) {
    if constexpr (requires { schedule.validate(); }) schedule.validate();
}

/// Throws value_error unless seq_len is a number of tokens.
inline void validate_length(const char* who, double seq_len) {
    validate_number({who, ": seq_len"}, seq_len, seq_len >= 0.0, {">= 0"});
}

/// t of a schedule, with its arguments, its own settings and the t checked.
template <length_schedule Schedule>
double ratio_at(const Schedule& schedule, const rope_config& config, double seq_len) {
    validate(config);
    validate_schedule(schedule);
    validate_length("ratio_at", seq_len);
    const double t = schedule.ratio(config, seq_len);
    validate_ratio({"ratio_at: t"}, t);  // of a schedule that overflows, or of a caller's own
    return t;
}

}  // namespace cordage
