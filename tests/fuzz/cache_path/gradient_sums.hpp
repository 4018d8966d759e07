// SPDX-License-Identifier: MIT
// Sums of a backward pass: their initial values and the expected increments.
#pragma once

#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "cache_path/tensors.hpp"
#include "run_counter.hpp"

namespace fuzz {

/// Rounding of some thousand terms added, one after the other, to an initial value below 1.
inline constexpr double room_of_before = 4e-13;

/// Sums that a call adds to, and the expected increments; empty if not wanted.
struct gradient_sums {
    numbers<double>* sums = nullptr;
    std::vector<double> terms, sizes;

    void make(run_tensors& run, index_t count, bool is_wanted) {
        sums = run.numbers_of<double>(is_wanted ? count : 0, [&](index_t) { return uniform(run.random, -1.0, 1.0); });
        clear();
    }
    void clear() { terms.assign(sums->size(), 0.0), sizes = terms; }
    std::span<double> span() const { return {sums->data, sums->size()}; }
    /// Adds a term, with the magnitudes of its factors.
    void add(index_t i, double term, double size) {
        if (terms.empty()) return;
        terms[static_cast<std::size_t>(i)] += term;
        sizes[static_cast<std::size_t>(i)] += size;
    }
    void check(double relative, const char* what) const {
        sums->is_written.assign(sums->size(), true);
        for (std::size_t i = 0; i < terms.size(); ++i) {
            const double wanted = sums->before[i] + terms[i], allowed = relative * sizes[i] + room_of_before;
            if (std::fabs(sums->data[i] - wanted) <= allowed) continue;
            std::fprintf(stderr, "fuzz: sum %zu is %.17g, must be %.17g within %.3g\n", i, sums->data[i], wanted,
                         allowed);
            expect(false, what);
        }
    }
};

/// Gradients to frequencies, positions and factor of a call.
struct angle_sums {
    gradient_sums inv_freq, position, factor;
};

}  // namespace fuzz
