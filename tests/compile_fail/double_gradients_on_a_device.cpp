// SPDX-License-Identifier: MIT
// Gradients in double on a device, whose kernels compute in float.
// expected: cordage: a device rotates in float
#include "cordage/rotate/cuda/backward.hpp"

#ifdef CORDAGE_COMPILE_FAIL
using number = double;
#else
using number = float;
#endif

struct no_device {
    cordage::index_t processors(const char*) const noexcept { return 1; }
    template <cordage::backend::device_kernel Kernel>
    void launch(const char*, const Kernel&, const cordage::backend::launch_size&) const {}
};

void pull_back(const cordage::device_angles<int>& angles, const cordage::heads_view<number>& g) {
    cordage::rotate_backward<cordage::half_split>(no_device{}, angles, cordage::rotation_gradients{},
                                                  cordage::grad_through(g, g, g));
}
