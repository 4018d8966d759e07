// SPDX-License-Identifier: MIT
#include "rotate/random_case.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

template <class T>
void check_type(unsigned seed) {
    for_each_vector_kernel([seed]<class Pairing, class Backend>(Pairing, Backend) {
        check_cases<Pairing, Backend, T, exact<std::int32_t>>(seed, 250);
    });
}

}  // namespace

TEST_CASE("rotate/random: float as by the scalar backend, and nothing beyond the tensors is touched") {
    check_type<float>(1);
}
TEST_CASE("rotate/random: double as by the scalar backend, and nothing beyond the tensors is touched") {
    check_type<double>(2);
}
TEST_CASE("rotate/random: float16 as by the scalar backend, and nothing beyond the tensors is touched") {
    check_type<float16>(3);
}
TEST_CASE("rotate/random: bfloat16 as by the scalar backend, and nothing beyond the tensors is touched") {
    check_type<bfloat16>(4);
}
