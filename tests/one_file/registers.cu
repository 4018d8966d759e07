// SPDX-License-Identifier: MIT
// The register layer under NVRTC: a thread for each pair.
#include <cordage_kernels.hpp>

#include "one_file/registers.hpp"

extern "C" __global__ void registers(cordage::basis_view basis, const cordage_test::given_numbers* given,
                                     cordage_test::exact_results* exact, cordage_test::close_results* close) {
    const int pair = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    exact[pair] = cordage_test::exact_of(basis, pair, given[pair]);
    close[pair] = cordage_test::close_of(given[pair]);
}
