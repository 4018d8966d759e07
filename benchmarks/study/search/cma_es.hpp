// SPDX-License-Identifier: MIT
// CMA-ES: search without gradients by a normal distribution that learns its shape.
#pragma once

#include <cstdint>
#include <vector>

#include "search/objective.hpp"

namespace demo {

struct cma_es_options {
    std::vector<double> start;  ///< the first mean; it is the first trial, too
    double step;                ///< the first standard deviation of every number, > 0
    std::uint64_t seed = 1;
};

/// The (mu/mu_w, lambda)-CMA-ES with the published defaults, lambda = 4 + floor(3 ln n), no restarts (Hansen, "The CMA
/// Evolution Strategy: A Tutorial", 2016, arXiv:1604.00772, figure 6, without negative weights). It closes when the
/// budget is spent.
///
/// Trial points are rounded to float, so that a seed has the same trials whatever the last bits of a platform's
/// logarithm and square roots of matrices are.
///
/// @throws cordage::value_error  unless the start is finite and not empty, and step > 0
search_result search_cma_es(const objective& what, const cma_es_options& options, index_t budget);

}  // namespace demo
