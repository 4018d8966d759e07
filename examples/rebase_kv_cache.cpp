// SPDX-License-Identifier: MIT
// A server's paged cache of rotated keys is changed to another length ratio, without the unrotated keys.
#include <algorithm>
#include <cmath>
#include <cordage/cordage.hpp>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
    const cordage::rope_config model{.head_dim = 64, .rotary_dim = 64, .theta_base = 10000, .original_length = 4096};
    const cordage::rope_scaling rule(model, cordage::yarn{}, cordage::nearest_upper_bound({1, 2, 4, 8}));
    const cordage::basis short_basis = rule.at_length(4096), long_basis = rule.at_length(4097);

    // 8 blocks of 16 tokens; this sequence's 48 tokens lie in blocks 6, 1 and 3.
    const cordage::heads_shape blocks{.batch = 8, .tokens = 16, .heads = 4, .head_dim = 64};
    std::vector<float> keys(8 * 16 * 4 * 64);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = std::sin(static_cast<float>(i));
    std::vector<float> cache = keys;
    const std::vector<std::int32_t> block_table{6, 1, 3};
    std::vector<std::int32_t> position_ids(48);
    std::iota(position_ids.begin(), position_ids.end(), 4000);

    const auto rotate_blocks = [&](std::vector<float>& all, const cordage::basis& basis) {
        for (std::size_t i = 0; i < block_table.size(); ++i) {
            float* const block = all.data() + block_table[i] * 16 * 4 * 64;
            const cordage::position_view<std::int32_t> ids(position_ids.data() + 16 * i, 1, 16, 0);
            cordage::rotate_forward<cordage::half_split>(
                cordage::exact_angles(basis, ids),
                cordage::in_place(cordage::token_major(block, {.tokens = 16, .heads = 4, .head_dim = 64})));
        }
    };
    rotate_blocks(cache, short_basis);  // keys in the cache
    rotate_blocks(keys, long_basis);    // keys it must hold beyond 4096 tokens

    // [rebase_kv_cache]
    const auto whole_cache = cordage::token_major(cache.data(), blocks);  // [blocks, block_size, heads, head_dim]
    cordage::rebase<cordage::half_split>(
        cordage::exact_angles(long_basis, position_ids) - cordage::exact_angles(short_basis, position_ids),
        cordage::in_place(cordage::in_blocks(whole_cache, block_table.data(), 1, 48, 3)));  // 48 tokens in 3 blocks
    // [/rebase_kv_cache]

    float worst = 0.0f;
    for (std::size_t i = 0; i < keys.size(); ++i) worst = std::max(worst, std::abs(cache[i] - keys[i]));
    std::printf("t %g to %g, attention factor %.4f to %.4f: off by at most %.1e\n", rule.ratio(4096), rule.ratio(4097),
                short_basis.attention_factor(), long_basis.attention_factor(), static_cast<double>(worst));
    return worst < 1e-6f ? 0 : 1;
}
