// SPDX-License-Identifier: MIT
// Gradients through angles on a device, without a stream.
// expected: cordage: these angles lie on a device: the first argument must be on(stream)
#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/rotate/backward.hpp"

#ifdef CORDAGE_COMPILE_FAIL
using bases = cordage::device_basis;
#else
using bases = cordage::basis;
#endif

void pull_back(const bases& b, const cordage::position_view<int>& ids, const cordage::heads_view<float>& g) {
    cordage::rotate_backward<cordage::half_split>(cordage::exact_angles(b, ids), cordage::rotation_gradients{},
                                                  cordage::grad_through(g, g, g));
}
