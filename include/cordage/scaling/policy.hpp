// SPDX-License-Identifier: MIT
// The concept of a scaling policy and functions over all its forms; first file of the stage t -> log alpha.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <vector>

#include "cordage/core/config.hpp"

namespace cordage {

/// Closed form: log alpha_pair(t), the log of the factor that the policy puts on inv_freq[pair] at length ratio t >= 1.
template <class P>
concept has_log_alpha = requires(const P& p, const rope_config& c, index_t pair, double t) {
    { p.log_alpha(c, pair, t) } -> std::same_as<double>;
};

/// Closed form: d log alpha_pair / dt.
template <class P>
concept has_log_alpha_rate = requires(const P& p, const rope_config& c, index_t pair, double t) {
    { p.log_alpha_rate(c, pair, t) } -> std::same_as<double>;
};

/// Whole-vector form, for policies that are solved rather than evaluated by pair: out has rotary_dim/2 entries.
template <class P>
concept has_log_alpha_vector = requires(const P& p, const rope_config& c, double t, std::span<double> out) {
    p.log_alpha(c, t, out);
    p.log_alpha_rate(c, t, out);
};

/// Optional: the factor m(t) that multiplies cos and sin (YaRN), and its derivative. Absent means 1 and 0.
template <class P>
concept has_attention_factor = requires(const P& p, const rope_config& c, double t) {
    { p.attention_factor(c, t) } -> std::same_as<double>;
    { p.attention_factor_rate(c, t) } -> std::same_as<double>;
};

/// theta_i(t) = alpha_i(t) * theta_i (CLEX, Chen et al. 2024, eq. 8): one alpha(t) for every method.
template <class P>
concept scaling_policy = (has_log_alpha<P> && has_log_alpha_rate<P>) || has_log_alpha_vector<P>;

/// A policy with `static constexpr bool jumps = true`: log alpha is discontinuous in t, which its rate does not show.
template <class P>
concept has_jump = requires { requires P::jumps; };

/// A closed form that can be the prior of an ODE, which integrates the rate.
template <class P>
concept prior_policy = has_log_alpha<P> && has_log_alpha_rate<P> && !has_jump<P>;

/// A policy with parameters. log_alpha_vjp adds J^T grad_log_alpha to grad_parameters.
template <class P>
concept learned_policy = scaling_policy<P> && requires(const P& p, const rope_config& c, double t,
                                                       std::span<const double> in, std::span<double> out) {
    { p.parameters() } -> std::same_as<std::vector<double>>;
    { p.with_parameters(in) } -> std::same_as<P>;
    p.log_alpha_vjp(c, t, in, out);
};

/// Optional for a learned policy: attention_factor_vjp adds grad * dm/dparameters to grad_parameters. If absent, m(t)
/// must not depend on the parameters.
template <class P>
concept has_attention_factor_vjp = requires(const P& p, const rope_config& c, double t, double grad,
                                            std::span<double> out) { p.attention_factor_vjp(c, t, grad, out); };

namespace policy_detail {

/// Whether P is a policy; if not, the first error says what to write.
template <class P>
constexpr bool require_policy() {
    static_assert(
        has_log_alpha<P> || has_log_alpha_vector<P>,
        "cordage: the policy, such as yarn{}, needs 'double log_alpha(const rope_config&, index_t pair, double "
        "t) const', log of the factor on inv_freq[pair]; docs/extending.md. Write rope_scaling(config, policy, "
        "schedule) and make_basis(config, policy, t)");
    static_assert(
        has_log_alpha_rate<P> || has_log_alpha_vector<P>,
        "cordage: the policy needs 'double log_alpha_rate(const rope_config&, index_t pair, double t) const', "
        "d log_alpha / dt; docs/extending.md");
    return scaling_policy<P>;
}

/// A policy, or what resembles one: any_policy says what it lacks.
template <class P>
concept like_policy = scaling_policy<P> || requires { &P::log_alpha; } || requires { &P::log_alpha_rate; };

struct anything {
    template <class T>
    anything(const T&);
};

/// Whether `&P::name` is that of a function, static or not.
template <class Address>
constexpr bool is_function(Address) {
    return std::is_member_function_pointer_v<Address> || std::is_function_v<std::remove_pointer_t<Address>>;
}

/// An optional function with other arguments, or without its other half, would be ignored: it does not compile.
template <class P>
constexpr void require_optional_functions() {
    static_assert(
        has_attention_factor<P> || !requires { requires is_function(&P::attention_factor); },
        "cordage: a policy with an attention factor needs 'double attention_factor(const rope_config&, "
        "double t) const' and 'double attention_factor_rate(const rope_config&, double t) const', dm/dt");
    static_assert(
        has_attention_factor_vjp<P> || !requires { requires is_function(&P::attention_factor_vjp); },
        "cordage: a policy's attention_factor_vjp is 'void attention_factor_vjp(const rope_config&, "
        "double t, double grad, std::span<double> grad_parameters) const'");
    constexpr bool is_to_learn = requires { requires is_function(&P::log_alpha_vjp); } ||
                                 requires { requires is_function(&P::with_parameters); };
    static_assert(learned_policy<P> || !is_to_learn,
                  "cordage: a policy with parameters needs 'std::vector<double> parameters() const', its own type from "
                  "'with_parameters(std::span<const double>) const' and 'void log_alpha_vjp(const rope_config&, double "
                  "t, std::span<const double> grad_log_alpha, std::span<double> grad_parameters) const'");
    static_assert(
        requires(const P& p, const rope_config& c) { p.validate(c); } ||
            !requires { requires is_function(&P::validate); },
        "cordage: a policy's check is 'void validate(const rope_config&) const'");
}

}  // namespace policy_detail

/// Calls the policy's own check of its parameters, if it has one.
template <scaling_policy Policy>
void validate(const Policy& policy, const rope_config& config) {
    policy_detail::require_optional_functions<Policy>();
    validate(config);
    if constexpr (requires { policy.validate(config); }) policy.validate(config);
}

namespace policy_detail {

// Policies do not validate their arguments; the functions below do.
template <scaling_policy Policy>
void check(const char* who, const Policy& policy, const rope_config& config, double t, std::span<double> out) {
    validate(policy, config);
    validate_ratio({who, ": t"}, t);
    validate_pairs({who, ": out size"}, out.size(), config);
}

}  // namespace policy_detail

/// log alpha(t) of every pair, into out [rotary_dim/2].
///
/// @throws value_error, shape_error  as validate; unless t is finite and >= 1 and out has rotary_dim/2 entries
template <scaling_policy Policy>
void log_alpha(const Policy& policy, const rope_config& config, double t, std::span<double> out) {
    policy_detail::check("log_alpha", policy, config, t, out);
    if constexpr (has_log_alpha_vector<Policy>) {
        policy.log_alpha(config, t, out);
    } else {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = policy.log_alpha(config, static_cast<index_t>(i), t);
    }
}

/// d log alpha / dt of every pair, into out [rotary_dim/2]. Throws as log_alpha.
template <scaling_policy Policy>
void log_alpha_rate(const Policy& policy, const rope_config& config, double t, std::span<double> out) {
    policy_detail::check("log_alpha_rate", policy, config, t, out);
    if constexpr (has_log_alpha_vector<Policy>) {
        policy.log_alpha_rate(config, t, out);
    } else {
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = policy.log_alpha_rate(config, static_cast<index_t>(i), t);
        }
    }
}

/// The policy's attention factor m(t), 1 if it defines none. Throws value_error unless t is finite and >= 1.
template <scaling_policy Policy>
double attention_factor(const Policy& policy, const rope_config& config, double t) {
    policy_detail::require_optional_functions<Policy>();
    validate_ratio({"attention_factor: t"}, t);
    if constexpr (has_attention_factor<Policy>) return policy.attention_factor(config, t);
    return 1.0;
}

/// dm/dt, 0 if the policy defines no attention factor. Throws as attention_factor.
template <scaling_policy Policy>
double attention_factor_rate(const Policy& policy, const rope_config& config, double t) {
    validate_ratio({"attention_factor_rate: t"}, t);
    if constexpr (has_attention_factor<Policy>) return policy.attention_factor_rate(config, t);
    return 0.0;
}

}  // namespace cordage
