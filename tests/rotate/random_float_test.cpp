// SPDX-License-Identifier: MIT
#include "rotate/random_case.hpp"

using namespace cordage;
using namespace cordage_test;

TEST_CASE("rotate/random: float as by the scalar backend, and nothing beyond the tensors is touched") {
    for_each_vector_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        check_cases<Pairing, Backend, float, exact<std::int32_t>>(1, 250);
    });
}
