// SPDX-License-Identifier: MIT
// Intervals by a two-level bootstrap over models and windows.
#pragma once

#include "statistics/sample.hpp"

namespace demo {

/// A mean and its 95 % interval.
struct estimate {
    double mean;
    double half_width;  ///< of the interval mean +- half_width
    double p;           ///< two-sided, for the hypothesis of mean 0
    double degrees;     ///< of freedom
    index_t models, windows;

    double low() const { return mean - half_width; }
    double high() const { return mean + half_width; }
};

/// The mean over models, with an interval for other models of the same kind and other windows of the same text.
///
/// Models and windows are crossed: all models read the same windows. A replicate therefore draws models with
/// replacement, and windows with replacement, the same ones for all models (Owen 2007, "The pigeonhole bootstrap").
/// 2000 replicates give three variances of the mean: A with only models drawn, C with only windows drawn, and R, the
/// excess with both drawn over A + C. A bootstrap's variance is too small by (n - 1)/n, so each is multiplied by n/(n -
/// 1). Since A and C both contain R, the variance of the mean is
///
///   v = A + C - R, but at least max(A, C)
///
/// The interval is mean +- t sqrt(v), t Student's with Satterthwaite's degrees of freedom, v^2 / (A^2/(models - 1) +
/// C^2/(windows - 1) + R^2/((models - 1)(windows - 1))), at least models - 1. Percentiles of the replicates would be
/// too narrow with five models: 87 % instead of 95 % where models differ more than windows do (tests/benchmarks/study).
///
/// For one model the interval covers other windows only. A mean that is not finite has an infinite half_width and p =
/// 1. The interval of a sample is the same on every run.
///
/// @throws cordage::shape_error  unless there is at least one model, two windows, and one question for each model
estimate estimated(const sample& s);

/// The estimate of first - second for equal models but different windows, such as one row at two lengths: windows of
/// both are drawn independently. (For equal windows use estimated(paired_difference(first, second)).)
estimate estimated_difference(const sample& first, const sample& second);

}  // namespace demo
