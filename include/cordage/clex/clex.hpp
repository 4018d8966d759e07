// SPDX-License-Identifier: MIT
// CLEX as a scaling policy: solved once, read and differentiated at any t; the door of the stage clex.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/clex/activation.hpp"
#include "cordage/clex/coordinates.hpp"
#include "cordage/clex/log_time_field.hpp"
#include "cordage/clex/paper_field.hpp"
#include "cordage/clex/weights.hpp"
#include "cordage/ode/adjoint.hpp"
#include "cordage/ode/continuous_adjoint.hpp"
#include "cordage/ode/solve_adaptive.hpp"
#include "cordage/ode/solve_fixed.hpp"
#include "cordage/scaling/ntk_aware.hpp"
#include "cordage/scaling/policy.hpp"

namespace cordage {

/// How to solve.
struct clex_options {
    double t_max = 16.0;                            ///< the longest length ratio that can be read
    cordage::tolerance tolerance = {1e-10, 1e-10};  ///< of the adaptive solver, in log inv_freq
    index_t max_steps = 10'000;                     ///< of the adaptive solver
    index_t fixed_steps = 0;                        ///< if > 0: so many equal steps instead
    double step_size = 0.0;                         ///< if > 0: steps of this size instead, the last one shortened
    /// If given: gradients of the exact flow, by a solve backwards to this tolerance; else those of the numbers
    /// computed.
    std::optional<cordage::tolerance> continuous_adjoint = {};
};

/// The gradient of a loss to log inv_freq(t), or, which is the same, to log alpha(t).
struct clex_seed {
    double t;
    std::span<const double> grad_log_inv_freq;  ///< [pairs]
};

/// The gradient of a loss to all that CLEX is made of.
struct clex_gradient {
    std::vector<double> up;    ///< [hidden, pairs]
    std::vector<double> down;  ///< [pairs, hidden]
    std::vector<double> z1;    ///< to z(1) [pairs]
    std::vector<double> t;     ///< to each seed's t, the mesh held fixed [seeds]
    double t_max = 0.0;        ///< to t_max, all steps and seeds moving in proportion (in log time: in ln t)
};

/// Continuous length extrapolation (Chen et al. 2024): the basis follows an ODE whose field is partly learned, from
/// z(1) = log alpha_prior(1) + log theta. One integration to t_max gives the basis at every t.
///
///   const clex policy(config, clex_initial_weights(config, 1, 0));     // W_down = 0: the prior itself
///   policy.log_alpha(config, 3.7, out);
///
/// A scaling_policy in the whole-vector form and a learned_policy, whose flat parameters are up, then down. The
/// attention factor is the prior's. Copies share the solution, which nobody can change any more.
///
/// Scalar is the arithmetic of the network: with float the network is that good (about 1e-6 in log inv_freq over the
/// whole way) and twice as quick, while states, steps and sums stay in double.
///
/// Time is `paper_time` or `log_time` (which field), Activation `silu` or `tanh_activation`, Tableau any rule; one
/// without error weights needs clex_options::fixed_steps or step_size (of the solver's variable: t, or ln t in log
/// time). The authors' released layer, which is none of these, is clex_released (released.hpp).
/// Precision: Scalar; the gradient is that of the computed numbers (ode/adjoint.hpp) unless
/// clex_options::continuous_adjoint asks for the flow's (ode/continuous_adjoint.hpp).
template <prior_policy Prior = ntk_aware, class Time = paper_time, activation Activation = silu,
          butcher_tableau Tableau = tsit5, class Scalar = double>
class clex {
 public:
    using field_type = typename Time::template field<double, Prior, Activation, Scalar>;
    using path_type = trajectory<Tableau, double>;
    using time_type = Time;

    /// @throws value_error or shape_error naming the weight or setting that is wrong; cordage::error if the solve fails
    clex(const rope_config& config, clex_weights weights, const clex_options& options = {}, const Prior& prior = {})
        : solution_(std::make_shared<const solution>(solve(config, std::move(weights), options, prior))) {}

    const rope_config& config() const noexcept { return solution_->config; }
    const clex_weights& weights() const noexcept { return solution_->weights; }
    const clex_options& options() const noexcept { return solution_->options; }
    const Prior& prior() const noexcept { return solution_->prior; }

    /// The solution over paper_time's t or log_time's ln t, in the coordinates it was solved in.
    const path_type& path() const noexcept { return solution_->path; }
    const clex_coordinates& coordinates() const noexcept { return solution_->coordinates; }

    /// log alpha(t) = z(t) - log theta into out [pairs].
    /// @throws value_error unless 1 <= t <= t_max and config is the one solved for; shape_error for the size of out
    void log_alpha(const rope_config& config, double t, std::span<double> out) const {
        check("clex::log_alpha", config, t);
        path().at(time_of(t), out);
        std::ranges::copy(coordinates().point(out), out.begin());
        for (std::size_t i = 0; i < out.size(); ++i) out[i] -= config.log_inv_freq(static_cast<index_t>(i));
    }

    /// d log alpha / dt into out [pairs], of the interpolant that log_alpha reads. Throws as log_alpha.
    void log_alpha_rate(const rope_config& config, double t, std::span<double> out) const {
        check("clex::log_alpha_rate", config, t);
        path().slope_at(time_of(t), out);
        std::ranges::copy(coordinates().along(out), out.begin());
        for (double& rate : out) rate *= Time::rate(t);
    }

    double attention_factor(const rope_config& config, double t) const {
        check("clex::attention_factor", config, t);
        return cordage::attention_factor(prior(), config, t);
    }
    double attention_factor_rate(const rope_config& config, double t) const {
        check("clex::attention_factor_rate", config, t);
        return cordage::attention_factor_rate(prior(), config, t);
    }

    /// Throws value_error unless config is the one solved for.
    void validate(const rope_config& config) const {
        if (config != this->config()) {
            fail<value_error>({"clex: rope_config with rotary_dim ", config.rotary_dim, ", theta_base ",
                               config.theta_base, ", original_length ", config.original_length,
                               " must be the one it was solved for, with ", this->config().rotary_dim, ", ",
                               this->config().theta_base, ", ", this->config().original_length});
        }
    }

    /// up, then down.
    std::vector<double> parameters() const { return flat_parameters(weights()); }

    /// The same model, solved again with other numbers. Throws as the constructor.
    clex with_parameters(std::span<const double> parameters) const {
        return clex(config(), with_flat_parameters(weights(), parameters), options(), prior());
    }

    /// grad_parameters += (d log alpha(t) / d parameters)^T grad_log_alpha.
    void log_alpha_vjp(const rope_config& config, double t, std::span<const double> grad_log_alpha,
                       std::span<double> grad_parameters) const {
        check("clex::log_alpha_vjp", config, t);
        const clex_seed seed{t, grad_log_alpha};
        const gradient_parts parts = pull_back("clex::log_alpha_vjp", {&seed, 1});
        if (grad_parameters.size() != parts.parameters.size()) {
            fail<shape_error>({"clex::log_alpha_vjp: grad_parameters size ", grad_parameters.size(), " must be ",
                               parts.parameters.size()});
        }
        std::transform(grad_parameters.begin(), grad_parameters.end(), parts.parameters.begin(),
                       grad_parameters.begin(), std::plus<>{});
    }

    /// The gradient to everything, for any number of seeds in one reverse sweep. Throws as log_alpha.
    clex_gradient gradient(std::span<const clex_seed> seeds) const {
        gradient_parts parts = pull_back("clex::gradient", seeds);
        clex_weights shaped = with_flat_parameters(weights(), parts.parameters);
        clex_gradient out{std::move(shaped.up), std::move(shaped.down), std::move(parts.z1), std::move(parts.times),
                          parts.end * Time::rate(options().t_max)};
        for (std::size_t i = 0; i < seeds.size(); ++i) out.t[i] *= Time::rate(seeds[i].t);
        return out;
    }

 private:
    struct gradient_parts {
        std::vector<double> parameters, z1, times;
        double end;
    };

    gradient_parts pull_back(const char* who, std::span<const clex_seed> seeds) const {
        for (const auto& seed : seeds) {
            check(who, config(), seed.t);
            if (seed.grad_log_inv_freq.size() != path().size()) {
                fail<shape_error>({who, ": gradient size ", seed.grad_log_inv_freq.size(), " must be ", path().size()});
            }
        }
        std::vector<std::vector<double>> grads;
        std::vector<gradient_seed<double>> placed;
        for (const auto& seed : seeds) grads.push_back(coordinates().gradient(seed.grad_log_inv_freq));
        for (std::size_t i = 0; i < seeds.size(); ++i) placed.push_back({time_of(seeds[i].t), grads[i]});
        field_type field = solution_->field;
        std::vector<double> z1(path().size()), times(seeds.size());
        std::vector<double> flat(static_cast<std::size_t>(field.parameter_count()));
        const gradient_sums<double> sums{z1, flat, times};
        const auto& backward = options().continuous_adjoint;
        const double end = backward ? continuous_adjoint(path(), field, placed, sums,
                                                         {.tolerance = *backward, .max_steps = options().max_steps})
                                    : discrete_adjoint(path(), field, placed, sums);
        return {coordinates().parameter_gradient(flat, weights().hidden, weights().pairs),
                coordinates().gradient_of_z(z1), std::move(times), end};
    }

    struct solution {
        rope_config config;
        clex_weights weights;
        clex_options options;
        Prior prior;
        clex_coordinates coordinates;
        field_type field;  // copied before use: it holds a workspace
        path_type path;
    };

    static solution solve(const rope_config& config, clex_weights&& weights, const clex_options& options,
                          const Prior& prior) {
        cordage::validate(prior, config);
        cordage::validate(weights, config);
        if (!is_finite(options.t_max) || !(options.t_max >= 1.0)) {
            fail<value_error>({"clex: t_max ", options.t_max, " must be finite and >= 1"});
        }
        if (options.continuous_adjoint) cordage::validate("clex: continuous_adjoint", *options.continuous_adjoint);
        if (options.fixed_steps < 0) {
            fail<value_error>({"clex: fixed_steps ", options.fixed_steps, " must be >= 0"});
        }
        if (!is_finite(options.step_size) || !(options.step_size >= 0.0)) {
            fail<value_error>({"clex: step_size ", options.step_size, " must be finite and >= 0"});
        }
        if (options.fixed_steps > 0 && options.step_size > 0.0) {
            fail<value_error>({"clex: fixed_steps ", options.fixed_steps, " and step_size ", options.step_size,
                               " must not both be given"});
        }
        if (options.fixed_steps == 0 && options.step_size == 0.0 && !has_error_weights<Tableau>) {
            fail<value_error>({"clex: fixed_steps 0 must be >= 1 or step_size 0 be > 0, since ", Tableau::name,
                               " has no error weights to choose steps by"});
        }
        std::vector<double> z1;
        for (index_t pair = 0; pair < config.pairs(); ++pair) {
            z1.push_back(prior.log_alpha(config, pair, 1.0) + config.log_inv_freq(pair));
        }
        clex_coordinates coordinates = coordinates_for(config, weights, options, z1);
        field_type field = field_in(coordinates, config, weights, prior);
        path_type path = integrate(field, coordinates.from_z(z1), options);
        if (path.status() != solve_status::success) {
            fail<error>({"clex: the solve to t_max ", options.t_max, " must end in success, not in ",
                         name_of(path.status()), " after ", path.statistics().accepted, " steps"});
        }
        return {config, std::move(weights), options, prior, std::move(coordinates), std::move(field), std::move(path)};
    }

    static constexpr bool field_has_coordinates =
        std::is_constructible_v<field_type, const rope_config&, const clex_weights&, const Prior&, clex_coordinates>;

    /// Others than z's own where the field knows them, the steps do not depend on them, and are enough to pay for them.
    static clex_coordinates coordinates_for(const rope_config& config, const clex_weights& weights,
                                            const clex_options& options, const std::vector<double>& z1) {
        const double steps = options.step_size > 0.0 ? (options.t_max - 1.0) / options.step_size
                                                     : static_cast<double>(options.fixed_steps);
        if (field_has_coordinates && steps >= 250.0) return clex_coordinates(weights, z1);
        return clex_coordinates(config.pairs());
    }
    static field_type field_in(const clex_coordinates& coordinates, const rope_config& config,
                               const clex_weights& weights, const Prior& prior) {
        if constexpr (field_has_coordinates) {
            return field_type(config, weights, prior, coordinates);
        } else {
            return field_type(config, weights, prior);
        }
    }

    static path_type integrate(field_type& field, std::span<const double> z1, const clex_options& options) {
        const time_interval<double> interval{Time::of(1.0), Time::of(options.t_max)};
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

    void check(const char* who, const rope_config& config, double t) const {
        validate(config);
        if (!is_finite(t) || !(t >= 1.0 && t <= options().t_max)) {
            fail<value_error>({who, ": t ", t, " must be in [1, ", options().t_max, "], the solved range"});
        }
    }

    /// The solver's variable at t, within the interval whatever the rounding of ln.
    double time_of(double t) const { return std::clamp(Time::of(t), path().interval().begin, path().interval().end); }

    std::shared_ptr<const solution> solution_;
};

}  // namespace cordage
