// SPDX-License-Identifier: MIT
// ALiBi beside no rotation: the biases that a host adds to the scores of one query and its cached keys.
#include "alibi.hpp"

#include <cstdio>

int main() {
    const own::index_t heads = 8, queries = 1, keys = 5;
    // [alibi]
    const std::vector<double> slopes = own::alibi_slopes(heads);
    const std::vector<double> bias = own::alibi_bias(slopes, queries, keys);  // [heads, queries, keys]
    // [/alibi]
    for (own::index_t head = 0; head < heads; ++head) {
        std::printf("head %d:", static_cast<int>(head));
        for (own::index_t key = 0; key < keys; ++key) {
            std::printf(" %8.5f", bias[static_cast<std::size_t>(head * keys + key)]);
        }
        std::printf("\n");
    }
    return bias[0] == -4.0 * slopes[0] && bias[4] == 0.0 ? 0 : 1;
}
