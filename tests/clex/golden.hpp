// SPDX-License-Identifier: MIT
// Reads tests/golden/clex_paper.json for the tests of the stage clex; the file names its source.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "cordage/clex/weights.hpp"
#include "cordage/ode/tableaus.hpp"

namespace cordage_test {

using vector = std::vector<double>;

/// All cases of one kind.
inline std::vector<nlohmann::json> golden_cases(const std::string& kind) {
    const auto file = nlohmann::json::parse(std::ifstream(CORDAGE_GOLDEN_DIR "/clex_paper.json"));
    std::vector<nlohmann::json> found;
    for (const auto& item : file.at("cases")) {
        if (item.at("kind") == kind) found.push_back(item);
    }
    return found;
}

/// The file's d is both head_dim and rotary_dim; the paper's field does not depend on a length.
inline cordage::rope_config config_of(const nlohmann::json& item) {
    const auto d = item.at("d").get<cordage::index_t>();
    return {d, d, item.value("rope_theta", 10000.0), 4096.0};
}

inline vector matrix_of(const nlohmann::json& matrix) { return matrix.at("data").get<vector>(); }

inline cordage::clex_weights weights_of(const nlohmann::json& item) {
    const auto& shape = item.at("weights").at("up").at("shape");
    return {shape.at(0).get<cordage::index_t>(), shape.at(1).get<cordage::index_t>(),
            matrix_of(item.at("weights").at("up")), matrix_of(item.at("weights").at("down"))};
}

inline double largest_difference(std::span<const double> x, std::span<const double> y) {
    double largest = x.size() == y.size() ? 0.0 : INFINITY;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
    return largest;
}

/// Norm of the difference relative to the norm of the expected values.
inline double relative_difference(std::span<const double> x, std::span<const double> expected) {
    double difference = x.size() == expected.size() ? 0.0 : INFINITY, norm = 0.0;
    for (std::size_t i = 0; i < std::min(x.size(), expected.size()); ++i) {
        difference += (x[i] - expected[i]) * (x[i] - expected[i]);
        norm += expected[i] * expected[i];
    }
    return std::sqrt(difference / norm);
}

/// Calls visit(tableau) for the rule of that name in the file; rk4 is the classical one.
template <class Visit>
void with_tableau(const std::string& name, Visit&& visit) {
    bool found = false;
    const auto offer = [&](auto tableau) {
        const std::string own(decltype(tableau)::name);
        if (own == name || (own == "rk4_classic" && name == "rk4")) visit(tableau), found = true;
    };
    offer(cordage::euler{}), offer(cordage::midpoint{}), offer(cordage::heun2{}), offer(cordage::ralston2{});
    offer(cordage::heun3{}), offer(cordage::rk4_classic{}), offer(cordage::rk4_38{}), offer(cordage::bosh3{});
    offer(cordage::dopri5{}), offer(cordage::tsit5{});
    if (!found) throw std::runtime_error("no tableau " + name);
}

}  // namespace cordage_test
