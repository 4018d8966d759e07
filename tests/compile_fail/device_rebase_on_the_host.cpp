// SPDX-License-Identifier: MIT
// A difference of which one part lies on a device, without a stream.
// expected: cordage: these angles lie on a device: the first argument must be on(stream)
#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/rotate/forward.hpp"

#ifdef CORDAGE_COMPILE_FAIL
using bases = cordage::device_basis;
#else
using bases = cordage::basis;
#endif

void move(const bases& before, const cordage::basis& after, const cordage::position_view<int>& ids,
          const cordage::heads_view<float>& keys) {
    const auto turn = cordage::exact_angles(after, ids) - cordage::exact_angles(before, ids);
    cordage::rebase<cordage::half_split>(turn, cordage::in_place(keys));
}
