// SPDX-License-Identifier: MIT
// The device and versions behind a result, and a main that reports an error in one line.
#pragma once

#include <cstdio>
#include <exception>

#include "device.cuh"
#include "results.hpp"

namespace cordage::benchmarks {

inline void describe_device(results& found) {
    int device = 0, driver = 0;
    cudaDeviceProp properties{};
    check("cudaGetDevice", cudaGetDevice(&device));
    check("cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, device));
    check("cudaDriverGetVersion", cudaDriverGetVersion(&driver));
    const auto version = [](int number) {
        return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    };
    found.describe("device", properties.name);
    found.describe("compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor));
    found.describe("multiprocessors", std::to_string(properties.multiProcessorCount));
    found.describe("l2_bytes", std::to_string(properties.l2CacheSize));
    found.describe("memory_bytes", std::to_string(properties.totalGlobalMem));
    found.describe("cuda_of_driver", version(driver));
    found.describe("cuda_of_build", version(CUDART_VERSION));
}

/// Writes to the file, or to stdout if `path` is empty. A file that was there is replaced as a whole.
inline void write(const results& found, const std::string& path) {
    const std::string part = path + ".part";
    std::FILE* const file = path.empty() ? stdout : std::fopen(part.c_str(), "w");
    if (file == nullptr) throw error(message("output ", path, ": cannot be written"));
    const bool is_written = std::fputs(found.json().c_str(), file) >= 0;
    if (path.empty()) return;
    if (std::fclose(file) != 0 || !is_written || std::rename(part.c_str(), path.c_str()) != 0) {
        throw error(message("output ", path, ": write failed"));
    }
}

/// Calls body(arguments); exit status 1 and one line on stderr if it throws, 77 without a device.
template <class Body>
int run_main(const Body& body) {
    int devices = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess || devices == 0) {
        std::fprintf(stderr, "no CUDA device: %s\n", cudaGetErrorString(status));
        return 77;
    }
    try {
        body();
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}

}  // namespace cordage::benchmarks
