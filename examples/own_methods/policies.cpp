// SPDX-License-Identifier: MIT
// Policies of one's own beside YaRN: how many tokens one turn of pair 20 takes, at four t.
#include <cmath>
#include <cordage/basis/basis.hpp>
#include <cordage/scaling/yarn.hpp>
#include <cstdio>
#include <numbers>
#include <vector>

#include "base_change_power.hpp"
#include "clipped.hpp"
#include "dynamic_longrope.hpp"
#include "resonance.hpp"
#include "tabulated.hpp"

namespace {

const cordage::rope_config model{.head_dim = 64, .rotary_dim = 64, .theta_base = 10000, .original_length = 4096};

/// The tokens for a turn at t = 1, 2, 4, 8, printed behind the name.
template <class Policy>
std::vector<double> turns(const char* name, const Policy& policy) {
    std::vector<double> tokens;
    std::printf("%-18s", name);
    for (const double t : {1.0, 2.0, 4.0, 8.0}) {
        tokens.push_back(2.0 * std::numbers::pi / cordage::make_basis(model, policy, t).inv_freq()[20]);
        std::printf(" %9.3f", tokens.back());
    }
    std::printf("\n");
    return tokens;
}

}  // namespace

int main() {
    const std::vector<double> yarn = turns("yarn", cordage::yarn{});
    const std::vector<double> whole = turns("resonance<yarn>", own::resonance<cordage::yarn>{});
    const std::vector<double> slowed = turns("clipped<yarn>", own::clipped<cordage::yarn>{{}, 16});
    const std::vector<double> power = turns("base_change_power", own::base_change_power{});
    const std::vector<double> grown = turns("dynamic_longrope", own::dynamic_longrope{std::vector<double>(32, 8.0), 8});
    std::vector<double> alpha(2 * 32, 1.0);
    for (std::size_t pair = 0; pair < 32; ++pair) alpha[32 + pair] = 0.125;  // at t = 8
    const std::vector<double> straight = turns("tabulated", own::tabulated({1, 8}, alpha));
    const bool is_right = std::fabs(whole[3] - std::round(yarn[3])) < 1e-6 && slowed[0] > yarn[0] &&
                          std::fabs(power[0] - grown[0]) < 1e-6 && std::fabs(grown[3] / grown[0] - 8.0) < 1e-9 &&
                          std::fabs(straight[2] / straight[0] - 4.0) < 1e-9;
    return is_right ? 0 : 1;
}
