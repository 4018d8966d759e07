// SPDX-License-Identifier: MIT
// CUDA's device 0 for tests: plain device memory, and launches that are waited for.
#pragma once

#include <map>

#include "backend/cuda/copying_device.hpp"
#include "cordage/cuda.cuh"

namespace cordage_test {

struct real_device {
    static void check(const char* call, cudaError_t status) {
        if (status != cudaSuccess) throw cordage::cuda_error("test", call, status);
    }
    // Blocks are used again for the same size, so that compute-sanitizer knows where each one ends. (cudaMalloc and
    // cudaFree for each launch took longer than all kernels.)
    static std::byte* allocate(std::size_t size) {
        blocks& all = all_blocks();
        if (const auto found = all.unused.find(size); found != all.unused.end()) {
            std::byte* const memory = found->second;
            all.unused.erase(found);
            return memory;
        }
        void* memory = nullptr;
        check("cudaMalloc", cudaMalloc(&memory, size));
        all.sizes[static_cast<std::byte*>(memory)] = size;
        return static_cast<std::byte*>(memory);
    }
    static void release(std::byte* memory) { all_blocks().unused.emplace(all_blocks().sizes.at(memory), memory); }
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

 private:
    struct blocks {
        std::map<std::byte*, std::size_t> sizes;
        std::multimap<std::size_t, std::byte*> unused;
    };
    static blocks& all_blocks() {
        static blocks all;
        return all;
    }
};

}  // namespace cordage_test
