// SPDX-License-Identifier: MIT
// A launcher that only names the kernels, so that nvcc -ptx compiles those that a test launches.
#pragma once

#include <vector>

#include "backend/cuda/launch_limits.hpp"
#include "cordage/cuda.cuh"

namespace cordage_test {

struct named_kernels {
    std::vector<cordage::backend::launch_size>* launches = nullptr;
    index_t processor_count = 132;

    index_t processors(const char*) const noexcept { return processor_count; }

    template <cordage::backend::device_kernel Kernel>
    void launch(const char*, const Kernel&, const cordage::backend::launch_size&) const {
        static_cast<void>(&cordage::backend::run_kernel<Kernel>);
    }
};

}  // namespace cordage_test
