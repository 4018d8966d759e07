// SPDX-License-Identifier: MIT
// A bare view does not state whether it is overwritten.
// expected: cordage: after the angles write operands: in_place(view) or from_to(view, view)
#include "cordage/rotate/forward.hpp"

void rotate_all(const cordage::exact_angles<int>& angles, const cordage::heads_view<float>& x) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rotate_forward<cordage::half_split>(angles, x);
#else
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(x));
#endif
}
