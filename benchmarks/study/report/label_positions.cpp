// SPDX-License-Identifier: MIT
// Where the labels at the ends of lines are written.
#include "report/label_positions.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace demo {

std::vector<double> label_positions(std::vector<double> wanted, double gap, double lowest, double highest) {
    std::vector<std::size_t> order(wanted.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
    double least = lowest;
    for (const std::size_t i : order) {
        wanted[i] = std::max(wanted[i], least);
        least = wanted[i] + gap;
    }
    double most = highest;
    for (std::size_t k = order.size(); k-- > 0;) {
        wanted[order[k]] = std::min(wanted[order[k]], most);
        most = wanted[order[k]] - gap;
    }
    return wanted;
}

}  // namespace demo
