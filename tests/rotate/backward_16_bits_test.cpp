// SPDX-License-Identifier: MIT
#include "rotate/naive_gradients.hpp"

using namespace cordage_test;

TEST_CASE("rotate/backward: grad_x and the gradients to frequencies, positions and factor, 16 bits") {
    check_gradients<cordage::float16>();
    check_gradients<cordage::bfloat16>();
}
