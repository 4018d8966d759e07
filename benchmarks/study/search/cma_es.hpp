// SPDX-License-Identifier: MIT
// CMA-ES: gradient-free search by a normal distribution with adapted covariance.
#pragma once

#include <cstdint>
#include <vector>

#include "search/objective.hpp"

namespace demo {

struct cma_es_options {
    std::vector<double> start;  ///< initial mean, also the first trial
    double step;                ///< initial standard deviation of every number, > 0
    std::uint64_t seed = 1;
};

/// The (mu/mu_w, lambda)-CMA-ES with the published defaults, lambda = 4 + floor(3 ln n), no restarts (Hansen, "The CMA
/// Evolution Strategy: A Tutorial", 2016, arXiv:1604.00772, figure 6, without negative weights). It ends when the
/// budget is spent.
///
/// Trial points are rounded to float, so that a seed gives the same trials on platforms whose logarithms and matrix
/// square roots differ in the last bits.
///
/// @throws cordage::value_error  unless the start is finite and not empty, and step > 0
search_result search_cma_es(const objective& what, const cma_es_options& options, index_t budget);

}  // namespace demo
