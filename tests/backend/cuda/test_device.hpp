// SPDX-License-Identifier: MIT
// The device of kernel tests: the interpreter of what nvcc compiled, or with CORDAGE_TEST_ON_DEVICE (and nvcc) CUDA's
// device 0. Tests pass host memory in both cases. With CORDAGE_TEST_MAKES_PTX nvcc compiles the kernels that the tests
// launch, and nothing is run.
#pragma once

#if defined(CORDAGE_TEST_MAKES_PTX)
#include "backend/cuda/named_kernels.cuh"

namespace cordage_test {
using test_device = named_kernels;
}
#elif defined(CORDAGE_TEST_ON_DEVICE)
#include "backend/cuda/real_device.cuh"

namespace cordage_test {
using test_device = copying_device<real_device>;
}
#else
#include "backend/cuda/interpreted_device.hpp"

namespace cordage_test {
using test_device = interpreted_device;
}
#endif
