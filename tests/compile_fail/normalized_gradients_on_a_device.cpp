// SPDX-License-Identifier: MIT
// The backward pass of a norm runs on the host.
// expected: cordage::rotate_backward: a device takes grad_through(grad_y, y, grad_x) without 'normalized'
#include "cordage/rotate/backward.hpp"

struct stream {
    cordage::index_t processors(const char* function) const;
};

void turn_back(const stream& where, const cordage::exact_angles<int>& angles, const cordage::heads_view<float>& x) {
    const auto o = cordage::grad_through(x, x, x).normalized(cordage::rms_norm<>{});
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rotate_backward<cordage::half_split>(where, angles, o);
#else
    cordage::rotate_backward<cordage::half_split>(angles, o);
#endif
    static_cast<void>(where);
}
