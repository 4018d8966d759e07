// SPDX-License-Identifier: MIT
// Numbers read in float are not silently stored in double.
// expected: cordage::operand: x and y must compute in one type, float or double
#include "cordage/rotate/forward.hpp"

void rotate_all(const cordage::exact_angles<int>& angles, const cordage::heads_view<float>& x,
                const cordage::heads_view<double>& y, const cordage::heads_view<cordage::bfloat16>& z) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rotate_forward<cordage::half_split>(angles, cordage::from_to(x, y));
#else
    cordage::rotate_forward<cordage::half_split>(angles, cordage::from_to(x, z));
#endif
    static_cast<void>(y);
    static_cast<void>(z);
}
