// SPDX-License-Identifier: MIT
// What the tests of kernels run them on: the emulation, or with CORDAGE_TEST_ON_DEVICE (and nvcc) CUDA's device 0. A
// test hands over memory of the host either way.
#pragma once

#if defined(CORDAGE_TEST_ON_DEVICE)
#include "backend/cuda/real_device.cuh"

namespace cordage_test {
using test_device = copying_device<real_device>;
}
#else
#include "backend/cuda/emulation.hpp"

namespace cordage_test {
using test_device = emulated_device;
}
#endif
