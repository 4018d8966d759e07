// SPDX-License-Identifier: MIT
// The two-level bootstrap.
#include "statistics/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "cordage/core/error.hpp"
#include "cordage/positions/sampler.hpp"
#include "statistics/tests.hpp"

namespace demo {
namespace {

using cordage::fail;
using cordage::shape_error;

constexpr int replicates = 2000;

// One of the samples that are added up, with its sign.
struct term {
    const sample& s;
    double sign;
};

using times = std::vector<double>;  // how often each model or window is drawn

times each_once(index_t n) { return times(static_cast<std::size_t>(n), 1.0); }

times drawn(index_t n, std::mt19937_64& generator) {
    times made(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) ++made[cordage::draw_below(generator, static_cast<std::uint64_t>(n))];
    return made;
}

// Adds sign * (sum / count) of each model. A model none of whose questions was drawn keeps what is there.
void add_ratios(const term& what, const times& of_windows, times& ratios, const times* instead = nullptr) {
    for (index_t m = 0; m < what.s.models; ++m) {
        double sum = 0.0, count = 0.0;
        for (index_t w = 0; w < what.s.windows; ++w) {
            const double n = of_windows[static_cast<std::size_t>(w)];
            sum += n * what.s.at(m, w).sum;
            count += n * what.s.at(m, w).count;
        }
        const auto i = static_cast<std::size_t>(m);
        ratios[i] += count > 0.0 ? what.sign * sum / count : (*instead)[i];
    }
}

double mean_of(const times& ratios, const times& of_models) {
    double sum = 0.0;
    for (std::size_t m = 0; m < ratios.size(); ++m) sum += of_models[m] * ratios[m];
    return sum / static_cast<double>(ratios.size());
}

void validate(const sample& s) {
    if (s.models < 1 || s.windows < 2) {
        fail<shape_error>({"bootstrap: sample [", s.models, ", ", s.windows, "] must have a model and two windows"});
    }
    for (index_t m = 0; m < s.models; ++m) {
        double count = 0.0;
        for (index_t w = 0; w < s.windows; ++w) count += s.at(m, w).count;
        if (!(count > 0.0)) fail<shape_error>({"bootstrap: model ", m, " must have a question or more"});
    }
}

double square(double x) { return x * x; }

estimate bootstrapped(std::span<const term> terms) {
    const index_t models = terms.front().s.models;
    index_t windows = terms.front().s.windows;
    std::vector<times> of_term;  // each term's ratios, by model
    times ratios(static_cast<std::size_t>(models));
    for (const term& what : terms) {
        validate(what.s);
        of_term.emplace_back(static_cast<std::size_t>(models));
        add_ratios(what, each_once(what.s.windows), of_term.back());
        for (std::size_t m = 0; m < ratios.size(); ++m) ratios[m] += of_term.back()[m];
        windows = std::min(windows, what.s.windows);
    }
    const times all_models = each_once(models);
    const double centre = mean_of(ratios, all_models);
    if (!cordage::is_finite(centre)) {
        return {centre, std::numeric_limits<double>::infinity(), 1.0, 1.0, models, windows};
    }

    std::mt19937_64 generator(1);
    double by_models = 0.0, by_windows = 0.0, by_both = 0.0;
    for (int b = 0; b < replicates; ++b) {
        const times drawn_models = drawn(models, generator);
        times of_drawn_windows(static_cast<std::size_t>(models));
        for (std::size_t k = 0; k < terms.size(); ++k) {
            add_ratios(terms[k], drawn(terms[k].s.windows, generator), of_drawn_windows, &of_term[k]);
        }
        const double model_step = mean_of(ratios, drawn_models) - centre;
        const double window_step = mean_of(of_drawn_windows, all_models) - centre;
        const double both_step = mean_of(of_drawn_windows, drawn_models) - centre;
        by_models += square(model_step) / replicates;
        by_windows += square(window_step) / replicates;
        by_both += square(both_step - model_step - window_step) / replicates;
    }
    const auto n = static_cast<double>(models), w = static_cast<double>(windows);
    const double c = by_windows * w / (w - 1.0);
    const double a = models > 1 ? by_models * n / (n - 1.0) : 0.0;
    const double r = models > 1 ? by_both * n / (n - 1.0) * w / (w - 1.0) : 0.0;
    const double v = std::max({a + c - r, a, c});
    if (v == 0.0) return {centre, 0.0, centre == 0.0 ? 1.0 : 0.0, std::max(1.0, n - 1.0), models, windows};
    double inverse_degrees = square(c / v) / (w - 1.0);
    if (models > 1) inverse_degrees += square(a / v) / (n - 1.0) + square(r / v) / ((n - 1.0) * (w - 1.0));
    const double degrees = std::max({1.0, n - 1.0, 1.0 / inverse_degrees});
    const double error = std::sqrt(v);
    return {centre, student_t(0.05, degrees) * error, two_sided_p(centre / error, degrees), degrees, models, windows};
}

}  // namespace

double sample::mean() const {
    times ratios(static_cast<std::size_t>(models));
    add_ratios({*this, 1.0}, each_once(windows), ratios);
    return mean_of(ratios, each_once(models));
}

sample paired_difference(const sample& first, const sample& second) {
    if (first.models != second.models || first.windows != second.windows) {
        fail<shape_error>({"paired_difference: second [", second.models, ", ", second.windows, "] must be [",
                           first.models, ", ", first.windows, "] as first"});
    }
    sample difference(first.models, first.windows);
    for (std::size_t i = 0; i < difference.cells.size(); ++i) {
        const cell &a = first.cells[i], &b = second.cells[i];
        if (a.count != b.count) {
            fail<shape_error>({"paired_difference: second count ", b.count, " of cell ", i, " must be ", a.count,
                               " as that of first"});
        }
        difference.cells[i] = {a.sum - b.sum, a.count};
    }
    return difference;
}

estimate estimated(const sample& s) {
    const term terms[] = {{s, 1.0}};
    return bootstrapped(terms);
}

estimate estimated_difference(const sample& first, const sample& second) {
    if (first.models != second.models) {
        fail<shape_error>(
            {"estimated_difference: second has ", second.models, " models and must have ", first.models, " as first"});
    }
    const term terms[] = {{first, 1.0}, {second, -1.0}};
    return bootstrapped(terms);
}

}  // namespace demo
