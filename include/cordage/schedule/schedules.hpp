// SPDX-License-Identifier: MIT
// The concept of a length schedule, the library's schedules, and one chosen at run time; stage sequence length -> t.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cordage/core/config.hpp"

namespace cordage {

/// Returns the length ratio t >= 1 to use for a sequence of seq_len tokens.
template <class S>
concept length_schedule = requires(const S& s, const rope_config& c, double seq_len) {
    { s.ratio(c, seq_len) } -> std::same_as<double>;
};

/// Calls the schedule's own check of its settings, if it has one. One with other arguments does not compile.
template <length_schedule Schedule>
void validate_schedule(const Schedule& schedule) {
    static_assert(
        requires { schedule.validate(); } || !requires { &Schedule::validate; },
        "cordage: a schedule's check is 'void validate() const'");
    if constexpr (requires { schedule.validate(); }) schedule.validate();
}

/// Throws value_error unless seq_len is finite and >= 0.
inline void validate_length(const char* who, double seq_len) {
    validate_number({who, ": seq_len"}, seq_len, seq_len >= 0.0, {">= 0"});
}

/// t of a schedule for a sequence of seq_len tokens.
/// @throws value_error  unless config, seq_len, the schedule's settings and the resulting t are valid
template <length_schedule Schedule>
double ratio_at(const Schedule& schedule, const rope_config& config, double seq_len) {
    validate(config);
    validate_schedule(schedule);
    validate_length("ratio_at", seq_len);
    const double t = schedule.ratio(config, seq_len);
    validate_ratio({"ratio_at: t"}, t);  // a schedule may overflow or be user-defined
    return t;
}

/// The same t at every length: "factor" in most config files.
struct fixed {
    double t = 1.0;

    double ratio(const rope_config&, double) const { return t; }
    void validate() const { validate_ratio({"fixed: t"}, t); }
};
static_assert(length_schedule<fixed>);

/// t = max(t_min, seq_len / original_length). t_min = 1 gives the exact t of every length (CLEX, section 3.3); t_min =
/// the t of training gives the paper's "self-extending" evaluation of fixed methods (appendix A.3).
struct continuous {
    double t_min = 1.0;

    double ratio(const rope_config& c, double seq_len) const { return std::max(t_min, seq_len / c.original_length); }
    void validate() const { validate_ratio({"continuous: t_min"}, t_min); }
};
static_assert(length_schedule<continuous>);

/// t = s * max(1, seq_len / original_length) - (s - 1), s = factor: transformers' "dynamic", which scales the base of
/// NTK-aware scaling, so dynamic NTK is `ntk_aware` on this schedule. factor 1 is `continuous`.
struct dynamic {
    double factor = 1.0;

    double ratio(const rope_config& c, double seq_len) const {
        // 1 is subtracted last: added to a factor of 2^53 or more it would be lost to rounding.
        return std::max(1.0, factor * (seq_len / c.original_length) - (factor - 1.0));
    }
    void validate() const { validate_number({"dynamic: factor"}, factor, factor >= 1.0, {">= 1"}); }
};
static_assert(length_schedule<dynamic>);

/// t = ceil(seq_len / original_length), at least 1 and at most t_max: the rule of CLEX's released code, where t_max is
/// its max_factor and original_length its max_position_embeddings. Equal to `nearest_upper_bound` of 1, 2, ..., t_max.
struct rounded_up {
    double t_max = 16.0;

    double ratio(const rope_config& c, double seq_len) const {
        return std::clamp(std::ceil(seq_len / c.original_length), 1.0, t_max);
    }
    void validate() const {
        if (!is_finite(t_max) || !(t_max >= 1.0) || std::floor(t_max) != t_max) {
            fail<value_error>({"rounded_up: t_max ", t_max, " must be a whole number >= 1"});
        }
    }
};
static_assert(length_schedule<rounded_up>);

/// The smallest t_k with seq_len <= t_k * original_length, or the largest t_k if there is none (CLEX, section 3.3; the
/// paper does not define the last case, its released code uses the largest t_k). A server then stores only K bases and
/// changes the basis rarely.
class nearest_upper_bound {
 public:
    /// @throws value_error unless cached_t is not empty, strictly increasing, finite and >= 1
    explicit nearest_upper_bound(std::vector<double> cached_t) : cached_t_(std::move(cached_t)) {
        if (cached_t_.empty()) fail<value_error>({"nearest_upper_bound: cached_t [] must hold at least one t"});
        for (std::size_t k = 0; k < cached_t_.size(); ++k) {
            validate_ratio({"nearest_upper_bound: cached_t[", k, "]"}, cached_t_[k]);
            if (k > 0 && !(cached_t_[k] > cached_t_[k - 1])) {
                fail<value_error>({"nearest_upper_bound: cached_t[", k, "] ", cached_t_[k], " must be > cached_t[",
                                   k - 1, "] ", cached_t_[k - 1]});
            }
        }
    }

    /// Index k of the t_k to use.
    std::size_t index(const rope_config& c, double seq_len) const {
        const auto covers = [&](double t) { return seq_len <= t * c.original_length; };
        const auto found = std::find_if(cached_t_.begin(), cached_t_.end(), covers);
        return found == cached_t_.end() ? cached_t_.size() - 1 : static_cast<std::size_t>(found - cached_t_.begin());
    }
    double ratio(const rope_config& c, double seq_len) const { return cached_t_[index(c, seq_len)]; }

    const std::vector<double>& cached_t() const { return cached_t_; }

 private:
    std::vector<double> cached_t_;
};
static_assert(length_schedule<nearest_upper_bound>);

/// t = 1 up to original_length tokens and t = `beyond` for more: switches between LongRoPE's short and long factors.
struct two_regimes {
    double beyond = 2.0;

    double ratio(const rope_config& c, double seq_len) const { return seq_len > c.original_length ? beyond : 1.0; }
    void validate() const { validate_number({"two_regimes: beyond"}, beyond, beyond > 1.0, {"> 1"}); }
};
static_assert(length_schedule<two_regimes>);

/// Holds any length schedule as one value type that is itself a length schedule. Copies share the schedule.
class any_schedule {
 public:
    template <length_schedule Schedule>
        requires(!std::same_as<Schedule, any_schedule>)
    any_schedule(Schedule schedule) {
        const auto held = std::make_shared<const Schedule>(std::move(schedule));
        ratio_ = [held](const rope_config& c, double seq_len) { return held->ratio(c, seq_len); };
        validate_ = [held] { validate_schedule(*held); };
    }

    double ratio(const rope_config& c, double seq_len) const { return ratio_(c, seq_len); }
    void validate() const { validate_(); }

 private:
    std::function<double(const rope_config&, double)> ratio_;
    std::function<void()> validate_;
};
static_assert(length_schedule<any_schedule>);

}  // namespace cordage
