// SPDX-License-Identifier: MIT
// device_words of bases whose frequencies a device computes or holds; serves hosts with frequencies in device memory.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/backend/cuda/launch.cuh"
#include "cordage/pair/phase.hpp"

namespace cordage::backend {

/// block -> basis      thread -> pairs thread, thread + threads, ...
///
/// A kernel cannot throw: a frequency or factor that a basis on the host rejects makes the factor NaN.
template <class Numbers>
__global__ void write_basis_words(const __grid_constant__ Numbers numbers, index_t pairs, std::uint64_t* words) {
    const index_t basis = blockIdx.x, all = gridDim.x * pairs;
    bool is_valid = true;
    for (index_t pair = threadIdx.x; pair < pairs; pair += blockDim.x) {
        const double rate = numbers.inv_freq(basis, pair);
        const bool is_rate = rate >= -largest_inv_freq && rate <= largest_inv_freq;  // not NaN
        const turns of_pair = turns_of(is_rate ? rate : 0.0);
        std::uint64_t* const word = words + basis * pairs + pair;
        word[0] = of_pair.fraction;
        word[all] = static_cast<std::uint64_t>(of_pair.whole);
        word[2 * all] = __builtin_bit_cast(std::uint64_t, rate);
        is_valid = is_valid && is_rate;
    }
    const bool are_valid = __syncthreads_and(is_valid) != 0;
    if (threadIdx.x > 0) return;
    const double m = numbers.attention_factor(basis);
    const bool is_factor = std::fabs(m) >= 0x1p-60 && std::fabs(m) <= 0x1p60;
    words[3 * all + basis] = are_valid && is_factor ? __builtin_bit_cast(std::uint64_t, m) : ~std::uint64_t{0};
}

/// Enqueues one kernel that writes device_words(pairs, bases) of frequencies and factors on the device; does not
/// synchronise.
///
/// @param numbers  with `__device__ double inv_freq(index_t basis, index_t pair) const` and `__device__ double
///                 attention_factor(index_t basis) const`; trivially copyable
/// @throws cuda_error, shape_error
template <class Numbers>
device_basis launch_basis_words(cudaStream_t stream, const Numbers& numbers, index_t pairs, index_t bases,
                                std::uint64_t* words) {
    const device_basis view(words, pairs, bases);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(bases));
    config.blockDim = dim3(static_cast<unsigned>(std::min<index_t>(rounded_up_quotient(pairs, 32) * 32, 256)));
    config.stream = stream;
    const cudaError_t status = cudaLaunchKernelEx(&config, write_basis_words<Numbers>, numbers, pairs, words);
    if (status != cudaSuccess) throw_error(cuda_error("basis_words", "cudaLaunchKernelEx", status));
    return view;
}

}  // namespace cordage::backend
