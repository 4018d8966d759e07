// SPDX-License-Identifier: MIT
// A device in the tests: runs what nvcc made of each kernel, on the memory of the test program. Every fault of a kernel
// fails the test case: an access outside of the program's blocks, misaligned or to what nothing wrote; a race in shared
// memory; an argument of another size in the kernel than on the host.
#pragma once

#include <typeinfo>
#include <vector>

#include "backend/cuda/launch_limits.hpp"

namespace cordage_test {

/// Runs the entry `run_kernel<Kernel>` of the PTX that this program has, Kernel being of type `kernel_type`. Fails the
/// test case if there is none, or it cannot run; says that it is skipped where there was no nvcc.
void run_compiled_kernel(const std::type_info& kernel_type, const void* kernel, std::size_t kernel_bytes,
                         const cordage::backend::launch_size& size);

/// A launcher.
struct interpreted_device {
    std::vector<cordage::backend::launch_size>* launches = nullptr;  // records them, if given
    index_t processor_count = 132;                                   // of the device; results do not depend on it

    index_t processors(const char*) const noexcept { return processor_count; }

    template <cordage::backend::device_kernel Kernel>
    void launch(const char*, const Kernel& kernel, const cordage::backend::launch_size& size) const {
        check_limits(size);
        if (launches != nullptr) launches->push_back(size);
        run_compiled_kernel(typeid(Kernel), &kernel, sizeof(Kernel), size);
    }
};
static_assert(cordage::backend::kernel_launcher<interpreted_device>);

}  // namespace cordage_test
