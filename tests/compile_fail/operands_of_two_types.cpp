// SPDX-License-Identifier: MIT
// One rotation turns tensors of one element type.
// expected: no matching function for call to
#include "cordage/rotate/forward.hpp"

void turn(const cordage::exact_angles<int>& angles, const cordage::heads_view<float>& q,
          const cordage::heads_view<float>& k, const cordage::heads_view<double>& other) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(q), cordage::in_place(other));
#else
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(q), cordage::in_place(k));
#endif
    static_cast<void>(k);
    static_cast<void>(other);
}
