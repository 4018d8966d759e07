// SPDX-License-Identifier: MIT
// Weights trained with interleaved pairs, as Meta's LLaMA files, reordered for half-split kernels: the same scores.
#include "permute_projection.hpp"

#include <cmath>
#include <cordage/basis/basis.hpp>
#include <cordage/kernels.hpp>
#include <cordage/scaling/power_laws.hpp>
#include <cstdio>
#include <vector>

namespace {

const cordage::rope_config model{.head_dim = 8, .rotary_dim = 8, .theta_base = 100, .original_length = 64};

/// The projection of x to one head, rotated with Pairing at a position.
template <class Pairing>
std::vector<float> projected(const std::vector<float>& weight, const std::vector<float>& x, int position) {
    const cordage::basis basis = cordage::make_basis(model, cordage::unscaled{}, 1.0);
    std::vector<float> y(8);
    for (std::size_t i = 0; i < weight.size(); ++i) y[i / x.size()] += weight[i] * x[i % x.size()];
    const std::vector<int> ids{position};
    cordage::rotate_forward<Pairing>(cordage::exact_angles(basis, ids),
                                     cordage::in_place(cordage::token_major(y.data(), {1, 1, 1, 8})));
    return y;
}

template <class Pairing>
double score(const std::vector<float>& q_weight, const std::vector<float>& k_weight, const std::vector<float>& x) {
    const auto q = projected<Pairing>(q_weight, x, 7), k = projected<Pairing>(k_weight, x, 3);
    double sum = 0.0;
    for (std::size_t i = 0; i < q.size(); ++i) sum += double{q[i]} * double{k[i]};
    return sum;
}

}  // namespace

int main() {
    std::vector<float> q(8 * 3), k(8 * 3);
    for (std::size_t i = 0; i < q.size(); ++i) {
        q[i] = std::sin(static_cast<float>(i));
        k[i] = std::cos(static_cast<float>(3 * i));
    }
    const std::vector<float> x{1.0f, -0.5f, 2.0f};
    const double before = score<cordage::interleaved>(q, k, x);
    // [permute_projection]
    const own::projection_shape shape{.heads = 1, .head_dim = 8, .rotary_dim = 8, .row_length = 3};
    own::permute_projection<cordage::interleaved, cordage::half_split>(shape, q.data(), q.data());
    own::permute_projection<cordage::interleaved, cordage::half_split>(shape, k.data(), k.data());
    // [/permute_projection]
    const double after = score<cordage::half_split>(q, k, x);
    std::printf("score %.6f with interleaved pairs, %.6f with half-split ones\n", before, after);
    return std::fabs(before - after) < 1e-5 ? 0 : 1;
}
