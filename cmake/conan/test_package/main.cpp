// SPDX-License-Identifier: MIT
// The lanes (1, 0) at position 2 turn to a cosine and a sine.
#include <cmath>
#include <cordage/kernels.hpp>
#include <cstdio>
#include <vector>

int main() {
    const cordage::basis basis({0.5});  // radians per position
    const std::vector<int> position_ids{2};
    float x[] = {1.0f, 0.0f};
    cordage::rotate_forward<cordage::half_split>(
        cordage::exact_angles(basis, position_ids),
        cordage::in_place(cordage::token_major(x, {.tokens = 1, .heads = 1, .head_dim = 2})));
    std::printf("rotated to (%.6f, %.6f)\n", double{x[0]}, double{x[1]});
    return std::abs(x[0] - std::cos(1.0)) < 1e-7 && std::abs(x[1] - std::sin(1.0)) < 1e-7 ? 0 : 1;
}
