// SPDX-License-Identifier: MIT
// An element without element_traits. With them it may be a floating type wider than its compute type.
// expected: elements are float, double, float16 or bfloat16
#include "cordage/rotate/forward.hpp"

#ifndef CORDAGE_COMPILE_FAIL
template <>
struct cordage::element_traits<long double> {
    using compute = double;
    static double load(long double x) noexcept { return static_cast<double>(x); }
    static long double store(double x) noexcept { return x; }
};
#endif

void rotate(const cordage::exact_angles<int>& angles, long double* q, const cordage::heads_shape& shape) {
    cordage::rotate_forward<cordage::interleaved>(angles, cordage::in_place(cordage::token_major(q, shape)));
}
