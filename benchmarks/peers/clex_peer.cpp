// SPDX-License-Identifier: MIT
// libcordage_peer.so: CLEX as released, solved and differentiated for the comparison.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "cordage/clex/clex.hpp"

extern "C" {

/// dim 2*pairs, t = 1 ... t_max; z is read at every integer t.
struct clex_case {
    std::int64_t pairs, hidden;
    std::int64_t t_max;
    std::int64_t in_float;  ///< not 0: the network computes in float, the states in double
    double step_size;       ///< of the 3/8 rule, or 0: Tsit5 to `tolerance`, relative and absolute
    double tolerance;
    const double* up;      ///< [hidden, pairs]
    const double* down;    ///< [pairs, hidden]
    const double* grad_z;  ///< [t_max, pairs], or nullptr: no gradient
};

/// Solves `repeats` times. Writes z = log inv_freq [t_max, pairs] and, if grad_z is given, the gradient of
/// sum(grad_z * z) to up, then down [2*hidden*pairs]. Returns 0, or 1 if it could not.
std::int32_t cordage_clex(const clex_case*, std::int64_t repeats, double* z, double* grad_parameters);

}  // extern "C"

namespace {

using namespace cordage;

template <class Policy>
void solve(const clex_case& c, const clex_options& options, double* z, double* grad_parameters) {
    const rope_config config{.head_dim = 2 * c.pairs, .rotary_dim = 2 * c.pairs, .original_length = 4096.0};
    const index_t size = c.hidden * c.pairs;
    const Policy policy(config, {c.hidden, c.pairs, {c.up, c.up + size}, {c.down, c.down + size}}, options);
    std::vector<clex_seed> seeds;
    for (index_t i = 0; i < c.t_max; ++i) {
        const auto t = static_cast<double>(i + 1);
        const auto pairs = static_cast<std::size_t>(c.pairs);
        const std::span<double> row(z + i * c.pairs, pairs);
        policy.log_alpha(config, t, row);
        for (index_t pair = 0; pair < c.pairs; ++pair) row[static_cast<std::size_t>(pair)] += config.log_inv_freq(pair);
        if (c.grad_z != nullptr) seeds.push_back({t, {c.grad_z + i * c.pairs, pairs}});
    }
    if (c.grad_z == nullptr) return;
    std::ranges::copy(policy.gradient(seeds).parameters, grad_parameters);
}

template <class Scalar>
void solve_by(const clex_case& c, double* z, double* grad_parameters) {
    const auto t_max = static_cast<double>(c.t_max);
    if (c.step_size > 0.0) {
        solve<clex_released<tanh_activation, Scalar>>(c, released_options(t_max, c.step_size), z, grad_parameters);
    } else {
        const clex_options options{.t_max = t_max, .tolerance = {c.tolerance, c.tolerance}};
        solve<clex<released_field<tanh_activation, Scalar>>>(c, options, z, grad_parameters);
    }
}

}  // namespace

std::int32_t cordage_clex(const clex_case* c, std::int64_t repeats, double* z, double* grad_parameters) {
    try {
        while (repeats-- > 0) {
            if (c->in_float != 0) {
                solve_by<float>(*c, z, grad_parameters);
            } else {
                solve_by<double>(*c, z, grad_parameters);
            }
        }
        return 0;
    } catch (...) {  // no exception may cross a C interface
        return 1;
    }
}
