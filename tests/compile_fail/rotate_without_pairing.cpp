// SPDX-License-Identifier: MIT
// The pairing has no default: the wrong layout would degrade a model silently.
// expected: couldn't
// expected: 'Pairing'
#include "cordage/rotate/forward.hpp"

void rotate_all(const cordage::exact_angles<int>& angles, const cordage::heads_view<float>& q) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rotate_forward(angles, cordage::in_place(q));
#else
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(q));
#endif
}
