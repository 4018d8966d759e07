// SPDX-License-Identifier: MIT
// Cached keys are not normalized a second time.
// expected: cordage::rebase: cached keys are normalized already
#include "cordage/angles/angle_difference.hpp"
#include "cordage/angles/exact_angles.hpp"
#include "cordage/rotate/forward.hpp"

void move(const cordage::exact_angles<int>& to, const cordage::exact_angles<int>& from,
          const cordage::heads_view<float>& k) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rebase<cordage::half_split>(to - from, cordage::in_place(k).normalized(cordage::rms_norm<>{}));
#else
    cordage::rebase<cordage::half_split>(to - from, cordage::in_place(k));
#endif
}
