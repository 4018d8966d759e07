// SPDX-License-Identifier: MIT
// A user's program for cordage::kernels: rotating the lanes (1, 0) at position 1000000 gives a cosine and a sine.
#ifdef CORDAGE_ONE_FILE
#include "cordage_kernels.hpp"
#else
#include <cordage/kernels.hpp>
#endif
#include <cmath>
#include <cstdio>
#include <type_traits>
#include <vector>

#ifdef EXPECT_SCALAR
constexpr bool expect_scalar = true;
#else
constexpr bool expect_scalar = false;
#endif
static_assert(std::is_same_v<cordage::backend::fastest, cordage::backend::scalar> == expect_scalar);

int main() {
    const cordage::basis basis({0.5});  // radians per position
    const std::vector<int> position_ids{1000000};
    float x[] = {1.0f, 0.0f};
    cordage::rotate_forward<cordage::half_split>(
        cordage::exact_angles(basis, position_ids),
        cordage::in_place(cordage::token_major(x, {.tokens = 1, .heads = 1, .head_dim = 2})));
    std::printf("rotated to (%.6f, %.6f)\n", double{x[0]}, double{x[1]});
    return std::abs(x[0] - std::cos(5e5)) < 1e-7 && std::abs(x[1] - std::sin(5e5)) < 1e-7 ? 0 : 1;
}
