// SPDX-License-Identifier: MIT
// The device of kernel tests: the emulation, or with CORDAGE_TEST_ON_DEVICE (and nvcc) CUDA's device 0. Tests pass host
// memory in both cases.
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
