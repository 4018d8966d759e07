// SPDX-License-Identifier: MIT
// Operands of one call may differ in type, but all compute in float or all in double.
// expected: cordage: the operands of one call must all compute in float or all in double
#include "cordage/rotate/forward.hpp"

void rotate_all(const cordage::exact_angles<int>& angles, const cordage::heads_view<float>& q,
                const cordage::heads_view<cordage::bfloat16>& k, const cordage::heads_view<double>& other) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(q), cordage::in_place(other));
#else
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(q), cordage::in_place(k));
#endif
    static_cast<void>(k);
    static_cast<void>(other);
}
