// SPDX-License-Identifier: MIT
// xPos by the library's kernels: a table of cos and sin times xPos's factors, one for q and one for k. The score of a
// query and a key depends on their distance alone, and decays with it.
#include "xpos.hpp"

#include <cmath>
#include <cordage/basis/rope_scaling.hpp>
#include <cordage/kernels.hpp>
#include <cordage/scaling/power_laws.hpp>
#include <cstdio>
#include <vector>

namespace {

const cordage::rope_config model{.head_dim = 16, .rotary_dim = 16, .theta_base = 10000, .original_length = 2048};

/// A head of ones at a position, rotated and times the factor of each pair; sign -1 for keys.
std::vector<float> at(const own::xpos& magnitudes, double position, double sign) {
    const cordage::basis basis = cordage::make_basis(model, cordage::unscaled{}, 1.0);
    // [xpos]
    std::vector<float> cos, sin;  // [tokens, pairs], here of one token
    for (cordage::index_t pair = 0; pair < model.pairs(); ++pair) {
        const double factor = magnitudes.query_scale(model, pair, sign * position);  // 1/query_scale for a key
        const double angle = position * basis.inv_freq()[static_cast<std::size_t>(pair)];
        cos.push_back(static_cast<float>(factor * std::cos(angle)));
        sin.push_back(static_cast<float>(factor * std::sin(angle)));
    }
    const cordage::cos_sin_view<float> table{cos.data(), sin.data(), 1, 1, model.pairs()};
    std::vector<float> x(16, 1.0f);
    cordage::rotate_forward<cordage::half_split>(table,
                                                 cordage::in_place(cordage::token_major(x.data(), {1, 1, 1, 16})));
    // [/xpos]
    return x;
}

double score(double query, double key) {
    const own::xpos magnitudes;
    const std::vector<float> q = at(magnitudes, query, 1.0), k = at(magnitudes, key, -1.0);
    double sum = 0.0;
    for (std::size_t i = 0; i < q.size(); ++i) sum += double{q[i]} * double{k[i]};
    return sum;
}

}  // namespace

int main() {
    own::xpos{}.validate(model);
    for (const double distance : {0.0, 64.0, 512.0}) {
        std::printf("distance %3g: score %9.5f, of positions 1000 larger %9.5f\n", distance, score(distance, 0.0),
                    score(distance + 1000.0, 1000.0));
    }
    return std::fabs(score(64.0, 0.0) - score(1064.0, 1000.0)) < 1e-3 && score(0.0, 0.0) > 15.9 ? 0 : 1;
}
