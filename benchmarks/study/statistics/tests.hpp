// SPDX-License-Identifier: MIT
// Student's t, the exact binomial of McNemar, and Holm's correction; serves the study's intervals and contrasts.
#pragma once

#include <span>
#include <vector>

#include "cordage/core/index.hpp"

namespace demo {

using cordage::index_t;

/// P(|T| >= |t|) for Student's t distribution with `degrees` >= 1 degrees of freedom, not necessarily an integer;
/// within 1e-9.
double two_sided_p(double t, double degrees);

/// The t whose two_sided_p is `p`, in (0, 1).
double student_t(double p, double degrees);

/// McNemar's exact test (1947) of paired binary answers: min(1, 2 P(X <= min(first, second))) with X binomial (first +
/// second, 1/2). `first` and `second` are the numbers of questions answered correctly by only the one or only the other
/// row. Questions are treated as independent, which those of one model are not, so the result holds for these models
/// only.
double mcnemar_p(index_t first, index_t second);

/// Holm's step-down correction (1979): adjusted p-values, in the order given. Comparing each with 0.05 bounds the
/// probability of any false rejection in the family by 0.05.
std::vector<double> holm_corrected(std::span<const double> p);

}  // namespace demo
