// SPDX-License-Identifier: MIT
// Student's t, the exact binomial of McNemar, and Holm's correction; serves the study's intervals and contrasts.
#pragma once

#include <span>
#include <vector>

#include "cordage/core/index.hpp"

namespace demo {

using cordage::index_t;

/// P(|T| >= |t|), T of Student's distribution with that many degrees of freedom, >= 1, whole or not; to 1e-9.
double two_sided_p(double t, double degrees);

/// The t whose two_sided_p is `p`, in (0, 1).
double student_t(double p, double degrees);

/// McNemar's exact test (1947) of paired yes-or-no answers: of `first` + `second` questions that only one of two rows
/// answers rightly, first by the one and second by the other, 2 P(X <= min(first, second)), X binomial with 1/2, at
/// most
/// 1. It counts questions as independent, which those of one model are not: it tells about these models, not others.
double mcnemar_p(index_t first, index_t second);

/// Holm's step-down correction (1979): p-values that may each be held against 0.05 with a chance of one false
/// rejection or more of at most 0.05 in the whole family; in the order given.
std::vector<double> holm_corrected(std::span<const double> p);

}  // namespace demo
