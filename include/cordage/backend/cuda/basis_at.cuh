// SPDX-License-Identifier: MIT
// The code of basis_kernel: a basis at a t in device memory; serves the CUDA backend.
#pragma once

#include "cordage/backend/cuda/basis_at.hpp"
#include "cordage/pair/phase.hpp"

namespace cordage::backend {

__device__ inline void run(const basis_kernel& k) {
    const index_t pairs = k.path.pairs(), pair = index_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    const auto bits = [](double x) { return __builtin_bit_cast(std::uint64_t, x); };
    for (index_t b = blockIdx.y; b < k.bases; b += gridDim.y) {
        double t = k.ratios == nullptr ? k.ratio : k.ratios[b];
        if (!(t > 1.0)) t = 1.0;  // NaN too
        if (t > k.path.t_max()) t = k.path.t_max();
        const double inv_freq = std::exp(k.path.log_alpha(t, pair)) * k.path.theta(pair);
        const turns rate = turns_of(inv_freq);
        std::uint64_t* const word = k.words + b * pairs + pair;
        word[0] = rate.fraction;
        word[k.bases * pairs] = static_cast<std::uint64_t>(rate.whole);
        word[2 * k.bases * pairs] = bits(inv_freq);
        if (pair == 0) k.words[3 * k.bases * pairs + b] = bits(k.path.attention_factor(t));
    }
}

}  // namespace cordage::backend
