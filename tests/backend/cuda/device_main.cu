// SPDX-License-Identifier: MIT
// main of the tests that run on a device: exit status 77, skipped, without one.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <cstdio>

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
        std::printf("skipped: no CUDA device: %s\n", cudaGetErrorString(status));
        return 77;
    }
    return context.run();
}
