// SPDX-License-Identifier: MIT
// P-values.
#include "statistics/tests.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace demo {
namespace {

// Simpson's rule.
template <class Function>
double integral(const Function& f, double from, double to) {
    constexpr int panels = 200;
    const double width = (to - from) / panels;
    double sum = f(from) + f(to);
    for (int i = 1; i < panels; ++i) sum += (i % 2 == 1 ? 4.0 : 2.0) * f(from + i * width);
    return sum * width / 3.0;
}

}  // namespace

double two_sided_p(double t, double degrees) {
    // T = sqrt(degrees) tan(a) has the density c cos(a)^(degrees - 1) in a, from -pi/2 to pi/2.
    const double log_c =
        std::lgamma((degrees + 1.0) / 2.0) - std::lgamma(degrees / 2.0) - 0.5 * std::log(std::numbers::pi);
    const double within = integral([&](double a) { return std::exp(log_c + (degrees - 1.0) * std::log(std::cos(a))); },
                                   0.0, std::atan(std::abs(t) / std::sqrt(degrees)));
    return std::clamp(1.0 - 2.0 * within, 0.0, 1.0);
}

double student_t(double p, double degrees) {
    double low = 0.0, high = 1.0;
    while (two_sided_p(high, degrees) > p) high *= 2.0;
    for (int i = 0; i < 45; ++i) {
        const double middle = (low + high) / 2.0;
        (two_sided_p(middle, degrees) > p ? low : high) = middle;
    }
    return (low + high) / 2.0;
}

double mcnemar_p(index_t first, index_t second) {
    const auto n = static_cast<double>(first + second);
    double tail = 0.0;
    for (index_t k = 0; k <= std::min(first, second); ++k) {
        const auto x = static_cast<double>(k);
        tail +=
            std::exp(std::lgamma(n + 1.0) - std::lgamma(x + 1.0) - std::lgamma(n - x + 1.0) - n * std::numbers::ln2);
    }
    return std::min(1.0, 2.0 * tail);
}

std::vector<double> holm_corrected(std::span<const double> p) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
    std::vector<double> corrected(p.size());
    double largest = 0.0;
    for (std::size_t rank = 0; rank < p.size(); ++rank) {
        largest = std::max(largest, static_cast<double>(p.size() - rank) * p[order[rank]]);
        corrected[order[rank]] = std::min(1.0, largest);
    }
    return corrected;
}

}  // namespace demo
