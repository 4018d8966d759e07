// SPDX-License-Identifier: MIT
#include "rotate/naive_gradients.hpp"

using namespace cordage_test;

TEST_CASE("rotate/backward: grad_x and the gradients behind the angles, double") { check_gradients<double>(); }
