// SPDX-License-Identifier: MIT
// Evolutionary search of factors that are non-decreasing over pairs, as in LongRoPE.
#pragma once

#include <cstdint>
#include <vector>

#include "search/objective.hpp"

namespace demo {

struct evolution_options {
    /// Initial points of equal size: log(1 / alpha) of each pair for PI, NTK-aware, YaRN ...; then, if `ordered` is
    /// smaller, other numbers such as those of a temperature.
    std::vector<std::vector<double>> starts;
    index_t ordered;         ///< count of leading numbers with x[0] <= x[1] <= ...
    double lowest, highest;  ///< range of the ordered numbers
    double reach;            ///< maximum change of a mutated number
    index_t population = 16, parents = 8;
    double mutation_share = 0.3;  ///< share of a point's numbers that mutate
    std::uint64_t seed = 1;
};

/// Evolution with the constraint of LongRoPE (Ding et al. 2024, section 3.2 and algorithm 1): factors are
/// non-decreasing over pairs. The starts and their mutants are the first population. Each generation keeps the best
/// `parents` and produces half mutants and half crossovers of two of them. Two differences from LongRoPE: a mutated
/// number changes by a uniform draw within +- reach (LongRoPE: drawn from the whole range), and numbers out of order
/// are sorted (LongRoPE: drawn again). It ends when the budget is spent. A seed gives the same trials on every
/// platform.
///
/// @throws cordage::value_error  unless the starts are of one size, finite, in order and within the range, the sizes
///                               fit each other (1 <= parents <= population), reach > 0 and mutation_share in (0, 1]
search_result search_monotone(const objective& what, const evolution_options& options, index_t budget);

}  // namespace demo
