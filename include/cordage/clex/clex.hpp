// SPDX-License-Identifier: MIT
// CLEX as a scaling policy: solved once, then evaluated and differentiated at any t; last file of the stage clex.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/clex/paper_field.hpp"
#include "cordage/clex/released_field.hpp"
#include "cordage/clex/weights.hpp"
#include "cordage/ode/adjoint.hpp"
#include "cordage/ode/solve_adaptive.hpp"
#include "cordage/ode/solve_fixed.hpp"
#include "cordage/scaling/policy.hpp"

namespace cordage {

/// Settings of the solve.
struct clex_options {
    double t_max = 16.0;                            ///< the largest t that can be evaluated
    cordage::tolerance tolerance = {1e-10, 1e-10};  ///< of the adaptive solver, in log inv_freq
    index_t max_steps = 10'000;                     ///< of the adaptive solver
    index_t fixed_steps = 0;                        ///< if > 0: this many equal steps instead
    double step_size = 0.0;                         ///< if > 0: steps of this size instead, the last one shortened
};

namespace clex_detail {

/// Throws value_error for a setting out of range. `fixed_only` is the name of a tableau without error weights, or
/// empty.
inline void validate(const clex_options& options, std::string_view fixed_only) {
    const auto [t_max, tolerance, max_steps, fixed_steps, step_size] = options;
    validate_ratio({"clex: t_max"}, t_max);
    if (fixed_steps < 0) fail<value_error>({"clex: fixed_steps ", fixed_steps, " must be >= 0"});
    validate_number({"clex: step_size"}, step_size, step_size >= 0.0, {">= 0"});
    if (fixed_steps > 0 && step_size > 0.0) {
        fail<value_error>({"clex: fixed_steps ", fixed_steps, " and step_size ", step_size, " must not both be given"});
    }
    if (fixed_steps == 0 && step_size == 0.0 && !fixed_only.empty()) {
        fail<value_error>({"clex: fixed_steps 0 must be >= 1, or step_size 0 must be > 0: tableau ", fixed_only,
                           " has no error weights to choose steps by"});
    }
}

/// Throws value_error unless config equals the config of the solve.
inline void validate(const rope_config& config, const rope_config& solved) {
    if (config == solved) return;
    fail<value_error>({"clex: rope_config with head_dim ", config.head_dim, ", rotary_dim ", config.rotary_dim,
                       ", theta_base ", config.theta_base, ", original_length ", config.original_length,
                       " must be the solved one, with ", solved.head_dim, ", ", solved.rotary_dim, ", ",
                       solved.theta_base, ", ", solved.original_length});
}
/// Throws value_error unless 1 <= t <= t_max.
inline void validate(const char* who, double t, double t_max) {
    if (is_finite(t) && t >= 1.0 && t <= t_max) return;
    fail<value_error>({who, ": t ", t, " must be in [1, ", t_max, "], the solved range"});
}

}  // namespace clex_detail

/// The gradient of a loss with respect to log inv_freq(t), equal to that with respect to log alpha(t).
struct clex_seed {
    double t;
    std::span<const double> grad_log_inv_freq;  ///< [pairs]
};

/// The gradient of a loss with respect to the weights and the initial state of CLEX.
struct clex_gradient {
    std::vector<double> parameters;  ///< as clex::parameters(): up [hidden, pairs], then down [pairs, hidden]
    std::vector<double> z1;          ///< to z(1) [pairs]
};

/// A right-hand side that clex can solve: a differentiable field whose state is log inv_freq and whose parameters are
/// those of clex_weights (up, then down), with a prior, whose attention factor the policy uses.
template <class F>
concept clex_field = differentiable_field<F, double> && std::copy_constructible<F> && requires {
    requires prior_policy<typename F::prior_type>;
    { F::in_log_time } -> std::convertible_to<bool>;
    requires std::constructible_from<F, const rope_config&, const clex_weights&, const typename F::prior_type&>;
};

/// Continuous length extrapolation (Chen et al. 2024): log inv_freq is the solution z(t) of an ODE with a learned term,
/// starting at z(1) = log alpha_prior(1) + log theta. One integration to t_max gives the basis at every t.
///
///   const clex policy(config, clex_initial_weights(config, 1, 0), {.t_max = 32});    // W_down = 0: equals the prior
///   const basis b = make_basis(config, policy, 3.7);
///   const clex_seed seed{.t = 3.7, .grad_log_inv_freq = grad};    // dL/dlog inv_freq(3.7), [pairs]
///   const clex_gradient g = policy.gradient({&seed, 1});          // to W_up, W_down and z(1)
///
/// A scaling_policy in the whole-vector form and a learned_policy, whose flat parameters are up, then down. The
/// attention factor is the prior's. Copies share the solution, which is immutable.
///
/// Field selects the ODE, its prior, activation and arithmetic: `paper_field`, `log_length_field`, `released_field`, or
/// your own clex_field.
///
///   clex<log_length_field<by_parts, tanh_activation, float>> policy(config, weights, {}, by_parts{1, 4});
///
/// With float the network's error is about 1e-6 in log inv_freq over the whole range of t; states, steps and sums stay
/// in double. Tableau is any explicit rule; one without error weights needs clex_options::fixed_steps or step_size (in
/// the solver's variable: t, or ln t in log time). Gradients are exact for the computed numbers
/// (ode/adjoint.hpp), interpolation included; an adjoint ODE solved backward has an error of its own and takes longer
/// (docs/gradients.md). For gradients the policy keeps the trajectory and W_up z of the first 128 evaluations
/// (clex/network.hpp).
template <class Field = paper_field<>, butcher_tableau Tableau = tsit5>
class clex {
    static_assert(clex_field<Field>,
                  "cordage::clex: Field must be paper_field<Prior>, log_length_field<Prior>, released_field<> or a "
                  "differentiable field of your own with 'using prior_type', 'static constexpr bool in_log_time' and a "
                  "constructor (rope_config, clex_weights, prior_type); docs/extending.md");

 public:
    using field_type = Field;
    using prior_type = typename Field::prior_type;
    using path_type = trajectory<Tableau, double>;

    /// @throws value_error or shape_error naming the invalid weight or setting; cordage::error if the solve fails
    clex(const rope_config& config, clex_weights weights, const clex_options& options = {},
         const prior_type& prior = {})
        : solution_(std::make_shared<const solution>(config, std::move(weights), options, prior)) {}

    const rope_config& config() const noexcept { return solution_->config; }
    const clex_weights& weights() const noexcept { return solution_->weights; }
    const clex_options& options() const noexcept { return solution_->options; }
    const prior_type& prior() const noexcept { return solution_->prior; }

    /// The solution: log inv_freq over t, or over ln t if field_type::in_log_time.
    const path_type& path() const noexcept { return solution_->path; }

    /// log alpha(t) = z(t) - log theta into out [pairs].
    /// @throws value_error unless 1 <= t <= t_max and config is the solved one; shape_error unless out has [pairs]
    void log_alpha(const rope_config& config, double t, std::span<double> out) const {
        check("clex::log_alpha", config, t);
        path().at(time_of(t), out);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] -= config.log_inv_freq(static_cast<index_t>(i));
    }

    /// d log alpha / dt into out [pairs], the derivative of the interpolant used by log_alpha. Throws as log_alpha.
    void log_alpha_rate(const rope_config& config, double t, std::span<double> out) const {
        check("clex::log_alpha_rate", config, t);
        path().slope_at(time_of(t), out);
        for (double& rate : out) rate *= time_rate(t);
    }

    double attention_factor(const rope_config& config, double t) const {
        check("clex::attention_factor", config, t);
        return cordage::attention_factor(prior(), config, t);
    }
    double attention_factor_rate(const rope_config& config, double t) const {
        check("clex::attention_factor_rate", config, t);
        return cordage::attention_factor_rate(prior(), config, t);
    }

    /// Throws value_error unless config is the solved one.
    void validate(const rope_config& config) const { clex_detail::validate(config, this->config()); }

    /// up, then down.
    std::vector<double> parameters() const { return flat_parameters(weights()); }

    /// The same model solved with other parameters. Throws as the constructor.
    clex with_parameters(std::span<const double> parameters) const {
        return clex(config(), with_flat_parameters(weights(), parameters), options(), prior());
    }

    /// grad_parameters += (d log alpha(t) / d parameters)^T grad_log_alpha.
    void log_alpha_vjp(const rope_config& config, double t, std::span<const double> grad_log_alpha,
                       std::span<double> grad_parameters) const {
        check("clex::log_alpha_vjp", config, t);
        const std::size_t size = grad_parameters.size(), count = weights().up.size() + weights().down.size();
        if (size != count) fail<shape_error>({"clex::log_alpha_vjp: grad_parameters size ", size, " must be ", count});
        const clex_seed seed{t, grad_log_alpha};
        const clex_gradient grad = pull_back("clex::log_alpha_vjp", {&seed, 1});
        for (std::size_t i = 0; i < size; ++i) grad_parameters[i] += grad.parameters[i];
    }

    /// The gradient for any number of seeds in one reverse sweep. Throws as log_alpha.
    clex_gradient gradient(std::span<const clex_seed> seeds) const { return pull_back("clex::gradient", seeds); }

 private:
    clex_gradient pull_back(const char* who, std::span<const clex_seed> seeds) const {
        std::vector<gradient_seed<double>> placed;
        for (const auto& seed : seeds) {
            check(who, config(), seed.t);
            if (seed.grad_log_inv_freq.size() != path().size()) {
                fail<shape_error>({who, ": gradient size ", seed.grad_log_inv_freq.size(), " must be ", path().size()});
            }
            placed.push_back({time_of(seed.t), seed.grad_log_inv_freq});
        }
        field_type field = solution_->field;
        clex_gradient grad{std::vector<double>(static_cast<std::size_t>(field.parameter_count())),
                           std::vector<double>(path().size())};
        discrete_adjoint(path(), field, placed, {.grad_z0 = grad.z1, .grad_parameters = grad.parameters});
        return grad;
    }

    struct solution {
        solution(const rope_config& c, clex_weights&& w, const clex_options& o, const prior_type& p)
            : config(c),
              weights(std::move(w)),
              options(o),
              prior(p),
              field((check(), config), weights, prior),
              path(solved()) {
            if (path.status() != solve_status::success) {
                fail<error>({"clex: the solve to t_max ", options.t_max, " failed: ", name_of(path.status()), " at t ",
                             Field::in_log_time ? std::exp(path.reached()) : path.reached(), " after ",
                             path.statistics().accepted, " steps; ", remedy_of(path.status())});
            }
        }

        rope_config config;
        clex_weights weights;
        clex_options options;
        prior_type prior;
        field_type field;  // copied before each use, since it holds a workspace
        path_type path;

     private:
        void check() const {
            cordage::validate(prior, config);
            cordage::validate(weights, config);
            clex_detail::validate(options, has_error_weights<Tableau> ? "" : Tableau::name);
        }

        path_type solved() {
            std::vector<double> z1;
            for (index_t pair = 0; pair < config.pairs(); ++pair) {
                z1.push_back(prior.log_alpha(config, pair, 1.0) + config.log_inv_freq(pair));
            }
            const time_interval<double> interval{variable(1.0), variable(options.t_max)};
            if (options.step_size > 0.0) {
                return solve_fixed<Tableau>(field, interval, z1, cordage::step_size{options.step_size});
            }
            if constexpr (has_error_weights<Tableau>) {
                if (options.fixed_steps == 0) {
                    return solve_adaptive<Tableau>(field, interval, z1,
                                                   {.tolerance = options.tolerance, .max_steps = options.max_steps});
                }
            }
            return solve_fixed<Tableau>(field, interval, z1, equal_steps{options.fixed_steps});
        }
    };

    void check(const char* who, const rope_config& config, double t) const {
        validate(config);
        clex_detail::validate(who, t, options().t_max);
    }

    /// The solver's variable at t (t or ln t) and its derivative with respect to t. time_of clamps it to the solved
    /// interval, since ln rounds.
    static double variable(double t) { return Field::in_log_time ? std::log(t) : t; }
    static double time_rate(double t) { return Field::in_log_time ? 1.0 / t : 1.0; }
    double time_of(double t) const { return std::clamp(variable(t), path().interval().begin, path().interval().end); }

    std::shared_ptr<const solution> solution_;
};

template <class Prior>
clex(const rope_config&, clex_weights, const clex_options&, const Prior&) -> clex<paper_field<Prior>>;

/// The layer of the authors' released code: released_field solved by the 3/8 rule in steps of time_dt from t = 1, the
/// last one shortened, with linear interpolation of z between steps. t = 1 is the unscaled basis.
///
///   const clex_released<> policy(config, weights, released_options(16, 0.01));    // tanh
///   const clex_released<silu> policy(...);
///
/// For inference, solve to max_factor and evaluate at the t of `rounded_up`. For training, solve to the drawn t as the
/// released code does; since the last step is shortened there, the last bits differ. config.original_length is
/// max_position_embeddings.
template <activation Activation = tanh_activation, class Scalar = double>
using clex_released = clex<released_field<Activation, Scalar>, linear_output<rk4_38>>;

/// Options of the released layer: up to t_max, which is max_factor or a t drawn for training, in steps of time_dt. Not
/// checked here: the constructor of clex throws value_error if either is out of range.
inline clex_options released_options(double t_max, double time_dt) { return {.t_max = t_max, .step_size = time_dt}; }

}  // namespace cordage
