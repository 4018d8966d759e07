// SPDX-License-Identifier: MIT
// The error of the backward pass also names the valid first arguments.
// expected: cordage: the first argument must be the angles
#include "cordage/rotate/backward.hpp"

void rotate_all(const cordage::exact_angles<int>& angles, const cordage::rotation_gradients& grads,
                const cordage::heads_view<float>& x) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rotate_backward<cordage::half_split>(3, angles, grads, cordage::grad_through(x, x, x));
#else
    cordage::rotate_backward<cordage::half_split>(cordage::serial{}, angles, grads, cordage::grad_through(x, x, x));
#endif
}
