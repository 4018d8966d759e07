// SPDX-License-Identifier: MIT
// The code of gradient_sums_kernel, which adds up partial sums in a fixed order; serves the CUDA backward pass.
#pragma once

#include "cordage/backend/cuda/gradient_sums.hpp"
#include "cordage/backend/cuda/team.cuh"

namespace cordage::backend {

__device__ inline void run(const gradient_sums_kernel& k) {
    constexpr int columns = gradient_sums_kernel::columns, warps = gradient_sums_kernel::block_threads / 32;
    __shared__ double of_warps[warps][columns];
    const auto column = static_cast<index_t>(blockIdx.x * columns + threadIdx.x);
    const auto warp = static_cast<int>(threadIdx.y * columns / 32);
    const auto sum_of_rows = [&](index_t first, index_t rows, index_t at) {
        const double* const from = k.rows + first * k.row_size + at;
        double sum = 0.0;
#pragma unroll 4
        for (index_t row = threadIdx.y; row < rows; row += blockDim.y) sum += from[row * k.row_size];
        return sum;
    };
    // Of a column's threads; called by all threads of a block, has the sum in the first of a column.
    const auto sum_of_threads = [&](double sum) {
        for (int distance = columns; distance < 32; distance *= 2) sum += __shfl_xor_sync(whole_warp, sum, distance);
        __syncthreads();
        if (threadIdx.y * columns % 32 == 0) of_warps[warp][threadIdx.x] = sum;
        __syncthreads();
        for (int i = 1; threadIdx.y == 0 && i < warps; ++i) sum += of_warps[i][threadIdx.x];
        return sum;
    };
    for (index_t target = blockIdx.y; target < k.targets; target += gridDim.y) {
        if (target == k.bases) {  // weights: operands may share them, so one block adds up all
#pragma unroll 1
            for (const summed_operand& o : k.operands) {
                if (o.weight == nullptr) continue;
                const bool is_column = column < o.weights;
                const double sum =
                    sum_of_threads(is_column ? sum_of_rows(o.first_row, o.rows, k.weights_at + column) : 0.0);
                if (is_column && threadIdx.y == 0) o.weight[column] += sum;
            }
            continue;
        }
        const bool is_column = column <= k.numbers;
        double sum = 0.0;
#pragma unroll 1
        for (const summed_operand& o : k.operands) {
            if (!is_column || !o.is_rotated) continue;
            sum += sum_of_rows(o.first_row + target * o.rows_of_basis, o.rows_of_basis, column);
        }
        sum = sum_of_threads(sum);
        if (threadIdx.y > 0 || !is_column) continue;
        if (column < k.numbers) {
            if (k.inv_freq != nullptr) k.inv_freq[target * k.numbers + column] += sum;
        } else if (k.attention_factor != nullptr) {
            k.attention_factor[target * k.factor_stride] += sum / k.attention_factors[target * k.factor_stride];
        }
    }
}

}  // namespace cordage::backend
