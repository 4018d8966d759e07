// SPDX-License-Identifier: MIT
// Kernels on the caller's stream; the one place where the library calls CUDA.
#pragma once

#include <cuda_runtime.h>

#include "cordage/backend/cuda/launch.hpp"
#include "cordage/core/error.hpp"

namespace cordage {

/// A CUDA call failed. The text names the cordage function, the CUDA call, and cudaGetErrorString. The error is cleared
/// for the host's next cudaGetLastError, unless it is one that persists.
struct cuda_error : error {
    cuda_error(const char* function, const char* call, cudaError_t status)
        : error(message(function, ": ", call, ": ", cudaGetErrorString(status))), code(status) {
        cudaGetLastError();
    }

    cudaError_t code;
};

namespace backend {

/// For kernels that may overlap (on_stream::overlapping): waits until the preceding kernel has ended and its writes are
/// visible, then allows the next kernel to start. No effect otherwise.
__device__ inline void wait_for_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ inline void run(const empty_kernel&) {}

/// Blocks for which the compiler leaves registers on a multiprocessor. More than 4 were measured on 9.0 only: for
/// others some kernels would spill, and before 8.0 there are threads for 4 blocks of 256.
template <device_kernel Kernel>
constexpr int blocks_for_registers() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
    return Kernel::blocks_per_processor;
#else
    return Kernel::blocks_per_processor < 4 ? Kernel::blocks_per_processor : 4;
#endif
}

/// The one kernel that is launched: what it does, and what it is given, is the type and the value of its argument.
template <device_kernel Kernel>
__global__ void __launch_bounds__(Kernel::block_threads, blocks_for_registers<Kernel>())
    run_kernel(const __grid_constant__ Kernel kernel) {
    wait_for_kernel_before();
    run(kernel);
}

}  // namespace backend

/// Runs a call on a device: enqueues it on the stream and does not synchronise. The stream's device must be the current
/// one, as for every CUDA launch.
struct on_stream {
    cudaStream_t stream;
    bool may_overlap = false;

    /// The same stream with kernels that start while the preceding one ends (programmatic dependent launch), also in a
    /// graph:
    ///
    ///   rotate_forward<half_split>(on(stream).overlapping(), angles, in_place(q), in_place(k));
    ///
    /// Only the launch overlaps: each cordage kernel, launched this way or not, first waits until the preceding kernel
    /// has ended and its writes are visible, so results equal those of on(stream). A kernel of yours may start early
    /// after one of cordage's if it is launched with the same attribute and calls cudaGridDependencySynchronize()
    /// before it accesses memory. Without this call, the kernel after yours waits for yours only, not for the kernels
    /// before it. Needs compute capability 9.0 and a program compiled for it; otherwise equivalent to on(stream).
    on_stream overlapping() const noexcept { return {stream, true}; }

    /// Multiprocessors of the current device.
    /// @throws cuda_error
    index_t processors(const char* function) const {
        int device = 0, count = 0;
        check(function, "cudaGetDevice", cudaGetDevice(&device));
        check(function, "cudaDeviceGetAttribute",
              cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
        return count;
    }

    /// @throws cuda_error
    template <backend::device_kernel Kernel>
    void launch(const char* function, const Kernel& kernel, const backend::launch_size& size) const {
        const auto to = [](const backend::index3& n) { return dim3(n.x, n.y, n.z); };
        cudaLaunchConfig_t config{};
        config.gridDim = to(size.blocks);
        config.blockDim = to(size.threads);
        config.dynamicSmemBytes = static_cast<std::size_t>(size.shared_bytes);
        config.stream = stream;
        cudaLaunchAttribute overlap{};
        overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        overlap.val.programmaticStreamSerializationAllowed = 1;
        if (may_overlap && waits_for_kernel_before<Kernel>(function)) {
            config.attrs = &overlap;
            config.numAttrs = 1;
        }
        check(function, "cudaLaunchKernelEx", cudaLaunchKernelEx(&config, backend::run_kernel<Kernel>, kernel));
    }

 private:
    static void check(const char* function, const char* call, cudaError_t status) {
        if (status != cudaSuccess) throw_error(cuda_error(function, call, status));
    }

    // Whether the code that this device runs was compiled for 9.0. Code compiled for older devices and translated when
    // the program starts does not wait and must not start early.
    template <class Kernel>
    static bool waits_for_kernel_before(const char* function) {
        cudaFuncAttributes code{};
        check(function, "cudaFuncGetAttributes", cudaFuncGetAttributes(&code, backend::run_kernel<Kernel>));
        return code.ptxVersion >= 90;
    }
};

/// Where a call runs: rotate_forward<half_split>(on(stream), angles, ...).
inline on_stream on(cudaStream_t stream) noexcept { return {stream}; }
static_assert(backend::kernel_launcher<on_stream>);

}  // namespace cordage
