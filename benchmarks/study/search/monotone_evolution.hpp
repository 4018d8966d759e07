// SPDX-License-Identifier: MIT
// Evolution of factors that grow from pair to pair, as LongRoPE searches them.
#pragma once

#include <cstdint>
#include <vector>

#include "search/objective.hpp"

namespace demo {

struct evolution_options {
    /// Points to begin with, of one size: log(1 / alpha) of each pair, of PI, NTK-aware, YaRN ...; then, if `ordered`
    /// is smaller, other numbers such as a temperature's.
    std::vector<std::vector<double>> starts;
    index_t ordered;         ///< the first so many numbers never fall: x[0] <= x[1] <= ...
    double lowest, highest;  ///< of the ordered numbers
    double reach;            ///< a mutated number moves by at most so much
    index_t population = 16, parents = 8;
    double mutation_share = 0.3;  ///< of a point's numbers
    std::uint64_t seed = 1;
};

/// Evolution with the constraint of LongRoPE (Ding et al. 2024, section 3.2 and algorithm 1): factors between the pairs
/// do not fall. The starts and their mutants are the first population; a generation keeps the best `parents`, and makes
/// of them half mutants and half crossings of two. A mutated number moves evenly within +- reach, where LongRoPE draws
/// it anew from its whole range; numbers that come out of order are sorted, where LongRoPE draws until they are in
/// order. It closes when the budget is spent. A seed has the same trials on every platform.
///
/// @throws cordage::value_error  unless the starts are of one size, finite, in order and within the range, the sizes
///                               fit each other (1 <= parents <= population), reach > 0 and mutation_share in (0, 1]
search_result search_monotone(const objective& what, const evolution_options& options, index_t budget);

}  // namespace demo
