// SPDX-License-Identifier: MIT
// The problem on which CLEX's solvers are compared: the released field of a head of 128 lanes over t = 1 ... 16.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "../variants.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/clex/released_field.hpp"
#include "cordage/ode/solve_adaptive.hpp"

namespace cordage::benchmarks {

/// 64 pairs, 128 hidden units, weights of the magnitude of training; read at 16 integer t, each with a gradient.
struct reference_problem {
    static constexpr std::size_t pairs = 64, hidden = 128, reads = 16;
    rope_config config = usual_config();
    clex_weights weights = clex_initial_weights(config, 1, 7);
    std::vector<double> log_theta, times, exact, grads;  // [pairs], [reads], [reads, pairs] twice

    reference_problem() {
        std::mt19937_64 generator(1);
        const auto draw = [&](double deviation) {
            return deviation * (std::ldexp(static_cast<double>(generator() >> 11), -52) - 1.0) * std::sqrt(3.0);
        };
        for (double& w : weights.up) w = draw(0.05);
        for (double& w : weights.down) w = draw(0.02);
        for (index_t i = 0; i < config.pairs(); ++i) log_theta.push_back(config.log_inv_freq(i));
        for (std::size_t k = 0; k < reads; ++k) times.push_back(1.0 + static_cast<double>(k));
        for (std::size_t i = 0; i < reads * pairs; ++i) grads.push_back(draw(1.0));
        exact.resize(reads * pairs);
        released_field<> field(config, weights);
        solve_adaptive(field, {1.0, 16.0}, log_theta, {.tolerance = {1e-12, 1e-12}}).at(times, exact);
    }

    /// The largest difference of z at the times [reads, pairs] from that of the tight solve.
    template <class Scalar>
    double error_of(std::span<const Scalar> z) const {
        double largest = 0.0;
        for (std::size_t i = 0; i < exact.size(); ++i) largest = std::max(largest, std::abs(double{z[i]} - exact[i]));
        return largest;
    }
};

inline const reference_problem& the_problem() {
    static const reference_problem problem;
    return problem;
}

}  // namespace cordage::benchmarks
