// SPDX-License-Identifier: MIT
// A source on a device_basis points to memory of the device, so a call without a stream is rejected.
// expected: cordage: these angles lie on a device: the first argument must be on(stream)
// expected: cordage::cos_sin_table: these angles lie on a device: make the table of angles on the host
#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "cordage/rotate/forward.hpp"

#ifdef CORDAGE_COMPILE_FAIL
using bases = cordage::device_basis;
#else
using bases = cordage::basis;
#endif

void rotate(const bases& b, const cordage::position_view<int>& ids, const cordage::heads_view<float>& q) {
    const cordage::exact_angles angles(b, ids);
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(q));
    const cordage::cos_sin_table<float> table(angles);
}
