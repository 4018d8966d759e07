// SPDX-License-Identifier: MIT
// Kernels on the caller's stream; the one place where the library calls CUDA.
#pragma once

#include <cuda_runtime.h>

#include "cordage/backend/cuda/block_view.hpp"
#include "cordage/core/error.hpp"

namespace cordage {

/// A call of CUDA's failed. The text says who asked for it, which call it was, and cudaGetErrorString.
struct cuda_error : error {
    cuda_error(const char* who, const char* call, cudaError_t status)
        : error(message(who, ": ", call, ": ", cudaGetErrorString(status))), code(status) {}

    cudaError_t code;
};

namespace backend {

template <device_kernel Kernel>
__global__ void __launch_bounds__(most_threads, Kernel::blocks_per_processor)
    run_kernel(const __grid_constant__ Kernel kernel) {
    extern __shared__ int4 shared[];  // aligned to 16 bytes
    const auto from = [](const auto& v) { return index3{v.x, v.y, v.z}; };
    const block_view at{from(threadIdx), from(blockDim), from(blockIdx), from(gridDim), shared};
    typename Kernel::thread_state state;
    const index_t phases = kernel.phases(at);
    for (index_t phase = 0; phase < phases; ++phase) {
        if (phase > 0) __syncthreads();
        kernel.run(phase, at, state);
    }
}

}  // namespace backend

/// Who runs a call on a device: it is enqueued on the stream, whatever else is on it, and nothing waits for it.
struct on_stream {
    cudaStream_t stream;

    /// @throws cuda_error
    template <backend::device_kernel Kernel>
    void launch(const char* who, const Kernel& kernel, const backend::launch_size& size) const {
        const auto to = [](const backend::index3& n) { return dim3(n.x, n.y, n.z); };
        cudaLaunchConfig_t config{};
        config.gridDim = to(size.blocks);
        config.blockDim = to(size.threads);
        config.dynamicSmemBytes = static_cast<std::size_t>(size.shared_bytes);
        config.stream = stream;
        const cudaError_t status = cudaLaunchKernelEx(&config, backend::run_kernel<Kernel>, kernel);
        if (status != cudaSuccess) throw cuda_error(who, "cudaLaunchKernelEx", status);
    }
};

inline on_stream on(cudaStream_t stream) noexcept { return {stream}; }
static_assert(backend::kernel_launcher<on_stream>);

}  // namespace cordage
