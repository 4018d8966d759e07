// SPDX-License-Identifier: MIT
// clex_paper.json: the ODE as the paper states it, its Runge-Kutta steps, and its gradients.
//
// Tolerances: single and fixed steps 1e-12 in z; solutions 1e-10 in z and, since theta = exp z, relative in theta; the
// discrete gradient 1e-12 of its largest entry, the exact one 1e-9. "rk4" is the classical rule.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "clex_cases.hpp"
#include "cordage/basis/basis.hpp"
#include "cordage/clex/clex.hpp"
#include "kinds.hpp"

namespace conformance {
namespace {

using namespace cordage;

constexpr double step_tolerance = 1e-12;
constexpr double solution_tolerance = 1e-10;
constexpr double slope_tolerance = 1e-9;  // of the interpolant's derivative, of one order less
constexpr double discrete_gradient_tolerance = 1e-12;
constexpr double exact_gradient_tolerance = 1e-9;

/// Calls use with an object of the tableau of that name.
void with_method(const std::string& name, const auto& use) {
    bool found = false;
    const auto offer = [&](auto rule, const char* its_name) {
        if (name != its_name) return;
        found = true;
        use(rule);
    };
    offer(euler{}, "euler");
    offer(midpoint{}, "midpoint");
    offer(heun2{}, "heun2");
    offer(ralston2{}, "ralston2");
    offer(heun3{}, "heun3");
    offer(rk4_classic{}, "rk4");
    offer(rk4_38{}, "rk4_38");
    offer(bosh3{}, "bosh3");
    offer(dopri5{}, "dopri5");
    offer(tsit5{}, "tsit5");
    if (!found) throw unsupported("cordage has no Runge-Kutta method '" + name + "'");
}

/// The initial value problem of a case. Steps have no base of their own, since they start from a given z.
struct problem {
    rope_config config;
    clex_weights weights;

    explicit problem(const value& one_case)
        : config{.head_dim = one_case["d"].size(),
                 .rotary_dim = one_case["d"].size(),
                 .theta_base = one_case.has("rope_theta") ? one_case["rope_theta"].number() : 10000.0,
                 .original_length = 1.0} {
        validate(config);
        if (one_case.has("weights")) {
            weights.hidden = one_case["lambda"].size() * config.rotary_dim;
            weights.pairs = config.pairs();
            weights.up = one_case["weights"]["up"].array({weights.hidden, weights.pairs});
            weights.down = one_case["weights"]["down"].array({weights.pairs, weights.hidden});
            validate(weights, config);
        } else {
            const auto size = static_cast<std::size_t>(config.pairs());
            weights = {1, config.pairs(), std::vector<double>(size, 1.0),
                       std::vector<double>(size, 0.0)};  // W_down = 0
        }
    }

    paper_field<> field() const { return {config, weights}; }
    std::vector<double> vector(const value& v) const { return v.numbers(config.pairs()); }

    /// The case's z(1), which cordage must compute.
    void check_start(const value& z1, report& result) const {
        std::vector<double> own;
        for (index_t pair = 0; pair < config.pairs(); ++pair) own.push_back(config.log_inv_freq(pair));
        result.near("z1", own, vector(z1), 1e-14 * std::log(config.theta_base));
    }
};

/// z and theta at many t, all from one integration.
void check_solution(const value& one_case, report& result) {
    const problem p(one_case);
    const auto ts = one_case["t"].numbers();
    if (ts.empty()) throw malformed("t must not be empty");
    const auto count = static_cast<index_t>(ts.size());
    const auto z = one_case["z"].array({count, p.config.pairs()});
    const auto theta = one_case["theta"].array({count, p.config.pairs()});
    if (one_case.has("z1")) p.check_start(one_case["z1"], result);

    const clex policy(p.config, p.weights, {.t_max = *std::ranges::max_element(ts), .tolerance = tight});
    const auto size = static_cast<std::size_t>(p.config.pairs());
    std::vector<double> got(size);
    for (std::size_t i = 0; i < ts.size(); ++i) {
        const std::string at = message("t=", ts[i], " ");
        policy.log_alpha(p.config, ts[i], got);
        for (std::size_t pair = 0; pair < size; ++pair) got[pair] += p.config.log_inv_freq(static_cast<index_t>(pair));
        result.near(at + "z", got, row_of(z, i, size), solution_tolerance);
        result.near_relative(at + "theta", make_basis(p.config, policy, ts[i]).inv_freq(), row_of(theta, i, size),
                             solution_tolerance);
    }
    if (!one_case.has("dz_dt")) return;

    const auto rates = one_case["dz_dt"].array({count, p.config.pairs()});
    auto field = p.field();
    for (std::size_t i = 0; i < ts.size(); ++i) {
        const std::string at = message("t=", ts[i], " ");
        field(ts[i], row_of(z, i, size), got);
        result.near(at + "dz_dt of the field", got, row_of(rates, i, size), solution_tolerance);
        policy.log_alpha_rate(p.config, ts[i], got);
        result.near(at + "dz_dt of the solution", got, row_of(rates, i, size), slope_tolerance);
    }
}

void check_full_solution(const value& one_case, report& result) {
    for (const char* field : {"weights", "z1", "dz_dt"}) static_cast<void>(one_case[field]);  // throw if missing
    check_solution(one_case, result);
}

void check_zero_down(const value& one_case, report& result) {
    if (one_case.has("weights")) throw malformed("weights must be absent: W_down is 0");
    check_solution(one_case, result);
}

/// One step by each method, and the embedded rule where the file has it.
void check_single_step(const value& one_case, report& result) {
    const problem p(one_case);
    const double t0 = one_case["t0"].number(), h = one_case["h"].number();
    const auto z0 = p.vector(one_case["z0"]);
    for (const value& expected : one_case["results"].items()) {
        const std::string method = expected["method"].text();
        with_method(method, [&]<class Rule>(Rule) {
            const auto path = solve_fixed<Rule>(p.field(), {t0, t0 + h}, z0, equal_steps{1});
            std::vector<double> z(z0.size());
            path.at(t0 + h, z);
            result.near(method + " z", z, p.vector(expected["z"]), step_tolerance);
            if (!expected.has("embedded_z")) return;
            if constexpr (has_error_weights<Rule>) {
                std::vector<double> difference(z.size());
                ode_detail::local_error<Rule>(path.step_size(0), path.slopes(0), std::span<double>(difference));
                std::vector<double> embedded, estimate;
                for (std::size_t i = 0; i < z.size(); ++i) {
                    embedded.push_back(z[i] - difference[i]);
                    estimate.push_back(std::abs(difference[i]));
                }
                result.near(method + " embedded_z", embedded, p.vector(expected["embedded_z"]), step_tolerance);
                result.near(method + " abs_error_estimate", estimate, p.vector(expected["abs_error_estimate"]),
                            step_tolerance);
            } else {
                throw unsupported("cordage has no embedded rule for '" + method + "'");
            }
        });
    }
}

/// The whole interval by equal steps, and by the adaptive solver against the truth.
void check_fixed_steps(const value& one_case, report& result) {
    const problem p(one_case);
    p.check_start(one_case["z1"], result);
    const double end = one_case["T"].number();
    const auto z1 = p.vector(one_case["z1"]);
    std::vector<double> z(z1.size());
    for (const value& expected : one_case["results"].items()) {
        const std::string method = expected["method"].text();
        with_method(method, [&]<class Rule>(Rule) {
            const auto path = solve_fixed<Rule>(p.field(), {1.0, end}, z1, equal_steps{one_case["N"].size()});
            path.at(end, z);
            result.near(method + " z", z, p.vector(expected["z"]), step_tolerance);
        });
    }
    const auto path = solve_adaptive(p.field(), {1.0, end}, z1, {.tolerance = tight});
    path.at(end, z);
    result.near("truth", z, p.vector(one_case["truth"]), solution_tolerance);
}

double dot(std::span<const double> a, std::span<const double> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The loss c . z(T), and its gradient to W_up, W_down and z(1).
void compare_gradient(const value& expected, const std::string& what, const auto& policy, std::span<const double> c,
                      double gradient_tolerance, double z_tolerance, report& result) {
    const problem& p = policy.first;
    const auto& solved = policy.second;
    const double end = solved.options().t_max;
    const clex_seed seed{end, c};
    const clex_gradient gradient = solved.gradient({&seed, 1});

    std::vector<double> z(c.size());
    solved.path().at(end, z);
    const auto expected_z = p.vector(expected["z"]);
    result.near(what + " z", z, expected_z, z_tolerance);
    double scale = 0.0;
    for (std::size_t i = 0; i < c.size(); ++i) scale += std::abs(c[i] * expected_z[i]);
    result.near(what + " loss", dot(c, z), expected["loss"].number(), z_tolerance * std::max(1.0, scale));

    const auto compare = [&](const char* field, const std::vector<double>& got, const std::vector<double>& wanted) {
        result.near(what + " " + field, got, wanted, gradient_tolerance * largest(wanted));
    };
    const clex_weights weights = with_flat_parameters(p.weights, gradient.parameters);
    compare("up", weights.up, expected["up"].array({p.weights.hidden, p.weights.pairs}));
    compare("down", weights.down, expected["down"].array({p.weights.pairs, p.weights.hidden}));
    compare("z1", gradient.z1, p.vector(expected["z1"]));
}

void check_gradient(const value& one_case, report& result) {
    const problem p(one_case);
    p.check_start(one_case["z1"], result);
    const double end = one_case["T"].number();
    const auto c = p.vector(one_case["c"]);

    const value discrete = one_case["discrete"];
    with_method(discrete["method"].text(), [&]<class Rule>(Rule) {
        using policy_type = clex<paper_field<>, Rule>;
        const policy_type policy(p.config, p.weights, {.t_max = end, .fixed_steps = discrete["N"].size()});
        compare_gradient(discrete, "discrete", std::pair<const problem&, const policy_type&>(p, policy), c,
                         discrete_gradient_tolerance, step_tolerance, result);
    });

    const clex policy(p.config, p.weights, {.t_max = end, .tolerance = tight});
    compare_gradient(one_case["truth"], "truth", std::pair<const problem&, const clex<>&>(p, policy), c,
                     exact_gradient_tolerance, solution_tolerance, result);
    std::vector<double> rate(c.size());
    policy.log_alpha_rate(p.config, end, rate);
    const double to_end = one_case["truth"]["T"].number();  // c . dz/dt(T)
    result.near("truth T", dot(c, rate), to_end, exact_gradient_tolerance * std::abs(to_end));
}

}  // namespace

std::span<const kind> clex_paper_kinds() {
    static constexpr kind kinds[] = {
        {.name = "solution", .check = check_full_solution, .marked_by = "lambda"},
        {"zero_down", check_zero_down},
        {"single_step", check_single_step},
        {"fixed_steps", check_fixed_steps},
        {"gradient", check_gradient},
    };
    return kinds;
}

}  // namespace conformance
