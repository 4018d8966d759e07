// SPDX-License-Identifier: MIT
// Gradients through angles on a device, without a stream.
// expected: cordage: these angles lie on a device: the first argument must be on(stream)
#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/rotate/backward.hpp"

void pull_back(const cordage::device_basis& there, const cordage::basis& here, const cordage::position_view<int>& ids,
               const cordage::heads_view<float>& g) {
#ifdef CORDAGE_COMPILE_FAIL
    const cordage::exact_angles angles(there, ids);
    (void)here;
#else
    const cordage::exact_angles angles(here, ids);
    (void)there;
#endif
    cordage::rotate_backward<cordage::half_split>(angles, cordage::rotation_gradients{},
                                                  cordage::grad_through(g, g, g));
}
