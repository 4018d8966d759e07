// SPDX-License-Identifier: MIT
// The one main of the tests that run on a device: counts as skipped (77) where there is none.
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
