// SPDX-License-Identifier: MIT
// Intervals by a two-level bootstrap over models and windows.
#pragma once

#include "statistics/sample.hpp"

namespace demo {

/// A mean and its 95 % interval.
struct estimate {
    double mean;
    double half_width;  ///< of the interval mean +- half_width
    double p;           ///< two-sided, of a mean of 0
    double degrees;     ///< of freedom
    index_t models, windows;

    double low() const { return mean - half_width; }
    double high() const { return mean + half_width; }
};

/// The mean over models, and where it would lie for other models of the same kind and other windows of the same text.
///
/// Models and windows are crossed: all models read the same windows. So a replicate draws models, with replacement, and
/// windows, once for all models (Owen 2007, "The pigeonhole bootstrap"). From 2000 replicates come three variances of
/// the mean: of drawn models alone, A; of drawn windows alone, C; and of what both together do beyond the sum of the
/// two, R. With few models a bootstrap's variance is (n - 1)/n of what it should be, so each is put right by its n/(n -
/// 1), and as A and C both have R in them the mean's variance is
///
///   v = A + C - R, but at least max(A, C)
///
/// The interval is mean +- t sqrt(v), t Student's with Satterthwaite's degrees of freedom, v^2 / (A^2/(models - 1) +
/// C^2/(windows - 1) + R^2/((models - 1)(windows - 1))), at least models - 1. Percentiles of the replicates would be
/// too narrow with five models: 87 % instead of 95 % where models differ more than windows do (tests/benchmarks/study).
///
/// Of one model the interval is of windows alone. A mean that is not finite has an infinite half_width and p = 1. The
/// same sample has the same interval on every run.
///
/// @throws cordage::shape_error  unless there are a model, two windows, and for each model one question or more
estimate estimated(const sample& s);

/// Of first - second where models are the same and windows are not, such as one row at two lengths: windows are drawn
/// for each by themselves. (Where windows are the same: estimated(paired_difference(first, second)).)
estimate estimated_difference(const sample& first, const sample& second);

}  // namespace demo
