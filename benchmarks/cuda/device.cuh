// SPDX-License-Identifier: MIT
// Device memory for the benchmarks, and its initial content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cordage/cuda.cuh"

namespace cordage::benchmarks {

inline void check(const char* call, cudaError_t status) {
    if (status != cudaSuccess) throw cuda_error("benchmark", call, status);
}

template <class T>
class device_array {
 public:
    explicit device_array(std::size_t count) : size_(count) {
        check("cudaMalloc", cudaMalloc(&data_, count * sizeof(T)));
    }
    explicit device_array(std::span<const T> numbers) : device_array(numbers.size()) {
        check("cudaMemcpy", cudaMemcpy(data_, numbers.data(), numbers.size_bytes(), cudaMemcpyHostToDevice));
    }
    device_array(const device_array&) = delete;
    ~device_array() { cudaFree(data_); }

    T* data() const { return data_; }
    std::size_t size() const { return size_; }

 private:
    T* data_ = nullptr;
    std::size_t size_;
};

// Numbers in (-1, 1) from a hash of their index: equal numbers or zeros would draw less power.
template <element T>
__global__ void fill_elements(T* x, std::size_t count) {
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        auto h = static_cast<std::uint32_t>(i) * 0x9e37'79b9u;
        h = (h ^ (h >> 16)) * 0x85eb'ca6bu;
        x[i] = element_traits<T>::store(static_cast<float>(static_cast<std::int32_t>(h ^ (h >> 13))) * 0x1p-31f);
    }
}

/// Fills all of `memory` with elements of type T.
template <element T>
void fill(const device_array<std::byte>& memory) {
    fill_elements<<<1024, 256>>>(reinterpret_cast<T*>(memory.data()), memory.size() / sizeof(T));
    check("fill_elements", cudaGetLastError());
    check("cudaDeviceSynchronize", cudaDeviceSynchronize());
}

}  // namespace cordage::benchmarks
