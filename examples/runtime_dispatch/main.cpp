// SPDX-License-Identifier: MIT
// One program for every x86-64 processor: linked to cordage::dispatched, rotate_forward uses the best kernels that the
// processor supports. Nothing in the calls says so.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "cordage/kernels.hpp"

int main() {
    using namespace cordage;
    const rope_config model{.head_dim = 128, .rotary_dim = 120, .theta_base = 500000, .original_length = 8192};
    std::vector<double> inv_freq;
    for (index_t pair = 0; pair < model.pairs(); ++pair) inv_freq.push_back(model.inv_freq(pair));
    const basis b(inv_freq);
    std::vector<std::int32_t> position_ids(300);
    std::iota(position_ids.begin(), position_ids.end(), 100'000);
    std::vector<float> x(300 * 8 * 128), y(x.size()), oracle(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 257) / 128.0f - 1.0f;
    const auto view = [](auto& v) { return token_major(v.data(), {.tokens = 300, .heads = 8, .head_dim = 128}); };

    rotate_forward<half_split>(exact_angles(b, position_ids), from_to(view(x), view(y)));
    rotate_forward<half_split, backend::scalar>(exact_angles(b, position_ids), from_to(view(x), view(oracle)));

    float worst = 0.0f;
    for (std::size_t i = 0; i < y.size(); ++i) worst = std::max(worst, std::fabs(y[i] - oracle[i]));
#if defined(CORDAGE_DISPATCH)  // set by cordage::dispatched where there are several kernels
    std::printf("%s kernels: ", backend::chosen_kernels().load()->name);
#endif
    std::printf("within %.1e of the scalar ones\n", worst);
    return worst < 1e-6f ? 0 : 1;
}
