// SPDX-License-Identifier: MIT
// rebase rotates keys from one angle to another and needs both.
// expected: cordage::rebase: the angles must be a difference, 'to - from'
#include "cordage/rotate/forward.hpp"

void rotate_all(const cordage::exact_angles<int>& after, const cordage::exact_angles<int>& before,
                const cordage::heads_view<float>& keys) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rebase<cordage::half_split>(after, cordage::in_place(keys));
#else
    cordage::rebase<cordage::half_split>(after - before, cordage::in_place(keys));
#endif
    static_cast<void>(before);
}
