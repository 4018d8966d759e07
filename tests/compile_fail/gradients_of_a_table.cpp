// SPDX-License-Identifier: MIT
// Gradients to positions and frequencies need a source that has them.
// expected: cordage::rotate_backward: gradients to positions and frequencies need 'double position(index_t row, index_t
// expected: token, index_t axis) const' and 'const double* inv_freq(index_t basis) const'; docs/extending.md
#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/rotate/backward.hpp"

void rotate_back(const cordage::cos_sin_view<float>& table, const cordage::exact_angles<int>& angles,
                 const cordage::rotation_gradients& grads, const cordage::heads_view<float>& x) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rotate_backward<cordage::half_split>(table, grads, cordage::grad_through(x, x, x));
#else
    cordage::rotate_backward<cordage::half_split>(angles, grads, cordage::grad_through(x, x, x));
#endif
    static_cast<void>(table);
    static_cast<void>(angles);
}
