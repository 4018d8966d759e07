// SPDX-License-Identifier: MIT
// The code of gradient_sums_kernel, which adds up partial sums in a fixed order; serves the CUDA backward pass.
#pragma once

#include "cordage/backend/cuda/gradient_sums.hpp"

namespace cordage::backend {

__device__ inline void run(const gradient_sums_kernel& k) {
    constexpr int columns = gradient_sums_kernel::columns, warps = gradient_sums_kernel::block_threads / 32;
    __shared__ double of_warps[warps][columns];
    const auto column = static_cast<index_t>(blockIdx.x * columns + threadIdx.x);
    const auto warp = static_cast<int>(threadIdx.y * columns / 32);
    for (index_t target = blockIdx.y; target < k.targets; target += gridDim.y) {
        const bool is_basis = target < k.bases;
        const summed_operand& of_weights = k.operands[is_basis ? 0 : target - k.bases];
        const bool is_column =
            is_basis ? column <= k.numbers : of_weights.weight != nullptr && column < of_weights.weights;
        double sum = 0.0;
        const auto add = [&](index_t first, index_t rows, index_t at) {
            const double* const from = k.rows + first * k.row_size + at;
#pragma unroll 4
            for (index_t row = threadIdx.y; row < rows; row += blockDim.y) sum += from[row * k.row_size];
        };
        if (is_column && is_basis) {
#pragma unroll 1
            for (const summed_operand& o : k.operands) {
                if (o.is_rotated) add(o.first_row + target * o.rows_of_basis, o.rows_of_basis, column);
            }
        } else if (is_column) {
            add(of_weights.first_row, of_weights.rows, k.weights_at + column);
        }
        for (int distance = columns; distance < 32; distance *= 2) sum += __shfl_xor_sync(0xffff'ffffu, sum, distance);
        __syncthreads();
        if (threadIdx.y * columns % 32 == 0) of_warps[warp][threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.y > 0 || !is_column) continue;
        for (int i = 1; i < warps; ++i) sum += of_warps[i][threadIdx.x];
        if (!is_basis) {
            of_weights.weight[column] += sum;
        } else if (column < k.numbers) {
            if (k.inv_freq != nullptr) k.inv_freq[target * k.numbers + column] += sum;
        } else if (k.attention_factor != nullptr) {
            k.attention_factor[target * k.factor_stride] += sum / k.attention_factors[target * k.factor_stride];
        }
    }
}

}  // namespace cordage::backend
