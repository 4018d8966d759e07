// SPDX-License-Identifier: MIT
// One decode step of a server: three requests of different lengths in one call, each with the basis of its own t, as
// rows of a batch and as a flat row of tokens.
#include <cmath>
#include <cordage/cordage.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    const cordage::rope_config model{.head_dim = 64, .rotary_dim = 64, .theta_base = 10000, .original_length = 4096};
    const cordage::basis_cache cache(model, cordage::yarn{}, cordage::nearest_upper_bound({1, 2, 4, 16}));
    const std::vector<int> lengths{900, 7000, 50000};
    const cordage::heads_shape shape{.batch = 3, .tokens = 1, .heads = 8, .head_dim = 64};
    std::vector<float> q(std::size_t{3} * 8 * 64, 1.0f), flat = q;

    // [batch_of_lengths]
    std::vector<const cordage::basis*> bases;
    std::vector<int> position_ids;  // [batch, 1]: the newest token of each request
    for (const int length : lengths) {
        bases.push_back(&cache.at_length(length));
        position_ids.push_back(length - 1);
    }
    const cordage::basis_list list(bases);
    cordage::rotate_forward<cordage::half_split>(
        cordage::exact_angles(list.of_rows(), cordage::position_view<int>(position_ids.data(), 3, 1, 1)),
        cordage::in_place(cordage::token_major(q.data(), shape)));
    // [/batch_of_lengths]

    // [flat_batch]
    const std::vector<std::int32_t> basis_of_token{0, 1, 2};  // index of each token's basis
    cordage::rotate_forward<cordage::half_split>(
        cordage::exact_angles(list.of(basis_of_token), position_ids),  // [tokens]: no rows, no padding
        cordage::in_place(cordage::token_major(flat.data(), {.tokens = 3, .heads = 8, .head_dim = 64})));
    // [/flat_batch]

    bool right = flat == q;
    for (std::size_t row = 0; row < 3; ++row) {
        std::vector<float> alone(std::size_t{8} * 64, 1.0f);
        const std::vector<int> position{position_ids[row]};
        cordage::rotate_forward<cordage::half_split>(
            cordage::exact_angles(*bases[row], position),
            cordage::in_place(cordage::token_major(alone.data(), {.tokens = 1, .heads = 8, .head_dim = 64})));
        for (std::size_t i = 0; i < alone.size(); ++i) right = right && std::abs(alone[i] - q[row * 512 + i]) < 1e-6f;
        std::printf("length %5d: t = %2g, attention factor %.4f, keys tagged %016llx\n", lengths[row],
                    cache.ratio(lengths[row]), bases[row]->attention_factor(),
                    static_cast<unsigned long long>(bases[row]->fingerprint()));
    }
    return right ? 0 : 1;
}
