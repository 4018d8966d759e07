// SPDX-License-Identifier: MIT
// CUDA's device 0 for tests: plain device memory, and launches that are waited for.
#pragma once

#include "backend/cuda/copying_device.hpp"
#include "cordage/cuda.cuh"

namespace cordage_test {

struct real_device {
    static void check(const char* call, cudaError_t status) {
        if (status != cudaSuccess) throw cordage::cuda_error("test", call, status);
    }
    static std::byte* allocate(std::size_t size) {
        void* memory = nullptr;
        check("cudaMalloc", cudaMalloc(&memory, size));
        return static_cast<std::byte*>(memory);
    }
    static void release(std::byte* memory) noexcept { cudaFree(memory); }
    static void copy_there(std::byte* there, const std::byte* here, std::size_t size) {
        check("cudaMemcpy", cudaMemcpy(there, here, size, cudaMemcpyHostToDevice));
    }
    static void copy_here(std::byte* here, const std::byte* there, std::size_t size) {
        check("cudaMemcpy", cudaMemcpy(here, there, size, cudaMemcpyDeviceToHost));
    }
    template <class Kernel>
    static void run(const char* function, const Kernel& kernel, const cordage::backend::launch_size& size) {
        cordage::on(nullptr).launch(function, kernel, size);
        check(function, cudaDeviceSynchronize());
    }
};

}  // namespace cordage_test
