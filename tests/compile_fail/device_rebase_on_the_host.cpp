// SPDX-License-Identifier: MIT
// A difference of which one part lies on a device, without a stream.
// expected: cordage: these angles lie on a device: the first argument must be on(stream)
#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/rotate/forward.hpp"

void move(const cordage::device_basis& there, const cordage::basis& here, const cordage::position_view<int>& ids,
          const cordage::heads_view<float>& keys) {
#ifdef CORDAGE_COMPILE_FAIL
    const cordage::exact_angles before(there, ids);
#else
    const cordage::exact_angles before(here, ids);
    (void)there;
#endif
    cordage::rebase<cordage::half_split>(cordage::exact_angles(here, ids) - before, cordage::in_place(keys));
}
