// SPDX-License-Identifier: MIT
#include "rotate/naive_gradients.hpp"

using namespace cordage_test;

TEST_CASE("rotate/backward: grad_x and the gradients to frequencies, positions and factor, double") {
    check_gradients<double>();
}
