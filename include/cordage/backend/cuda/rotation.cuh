// SPDX-License-Identifier: MIT
// The code of rotation_kernel: the rotation of heads that are only rotated; serves stage rotation.
#pragma once

#include "cordage/backend/cuda/angles.cuh"
#include "cordage/backend/cuda/rotation.hpp"
#include "cordage/backend/cuda/team.cuh"

namespace cordage::backend {

template <class T, int N, pairing Pairing, class Angles>
__device__ void rotate_token(const rotation_kernel<T, N, Pairing, Angles>& k, std::int32_t row, std::int32_t token) {
    constexpr int ahead = rotation_kernel<T, N, Pairing, Angles>::ahead;
    using stored = stored_pairs<T, Pairing, N>;
    const auto member = static_cast<std::int32_t>(threadIdx.x);
    int lane[stored::runs::count];
#pragma unroll
    for (int r = 0; r < stored::runs::count; ++r) lane[r] = stored::runs::lane(r, member, k.pairs);
    const auto step = static_cast<std::int32_t>(blockDim.y * gridDim.y);
    auto head = static_cast<std::int32_t>(blockIdx.y * blockDim.y + threadIdx.y);
    if (head >= k.heads.all) return;
    const auto read = [&](stored& x, std::int32_t number) {
        if (number >= k.heads.all) return;
        const std::int32_t operand = k.heads.operand_of(number);
        x = stored::load(k.operands[operand].x.at(row, token, number - k.heads.starts[operand]), lane);
    };
    stored next[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) read(next[i], head + i * step);
    const auto at = angles_of<N>(k.angles, k.direction, row, token, member * N);
    while (true) {
#pragma unroll
        for (int i = 0; i < ahead; ++i) {
            const pair_values<N> x = next[i].values();
            read(next[i], head + ahead * step);
            const std::int32_t operand = k.heads.operand_of(head);
            stored::packed(rotated(at, x))
                .store(k.operands[operand].y.at(row, token, head - k.heads.starts[operand]), lane);
            head += step;
            if (head >= k.heads.all) return;
        }
    }
}

template <class T, int N, pairing Pairing, class Angles>
__device__ void run(const rotation_kernel<T, N, Pairing, Angles>& k) {
    for_each_row(k, [&](std::int32_t row, std::int32_t token, bool has_token) {
        if (has_token) rotate_token(k, row, token);
    });
}

}  // namespace cordage::backend
