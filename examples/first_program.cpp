// SPDX-License-Identifier: MIT
// The program of the README: a model trained on 4096 tokens rotates q and k of a sequence of 16384.
// [first_program]
#include <cordage/cordage.hpp>
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
    const cordage::rope_config model{.head_dim = 64, .rotary_dim = 64, .theta_base = 10000, .original_length = 4096};
    const cordage::rope_scaling rule(model, cordage::yarn{}, cordage::continuous{});  // policy and schedule
    const cordage::basis basis = rule.at_length(16384);                               // t = 4
    std::vector<int> position_ids(16384);
    std::iota(position_ids.begin(), position_ids.end(), 0);
    std::vector<float> q(16384 * 8 * 64, 1.0f), k(16384 * 2 * 64, 1.0f);  // 8 heads share 2
    cordage::rotate_forward<cordage::half_split>(
        cordage::exact_angles(basis, position_ids),
        cordage::in_place(cordage::token_major(q.data(), {.tokens = 16384, .heads = 8, .head_dim = 64})),
        cordage::in_place(cordage::token_major(k.data(), {.tokens = 16384, .heads = 2, .head_dim = 64})));
    std::printf("t = %g, attention factor %.4f, last key %.4f\n", rule.ratio(16384), basis.attention_factor(),
                k.back());
}
// [/first_program]
