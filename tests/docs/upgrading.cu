// SPDX-License-Identifier: MIT
// The code for a device of version 0.2 in docs/upgrading.md; compiled by tests/cuda_compile, and not run.
#include <cordage/cuda.cuh>

using namespace cordage;

void upgrade(cudaStream_t stream, const device_basis& old_basis, const device_basis& new_basis,
             const position_view<std::int32_t>& ids, const heads_view<float>& cache, const std::int32_t* block_table,
             index_t tokens, index_t row_stride, const heads_view<float>& grad_q, const heads_view<float>& q,
             std::span<double> grad_inv_freq, std::span<double> workspace) {
    const device_angles<std::int32_t> angles(new_basis, ids);
    // [upgrading_cuda_backward]
    rotate_backward<half_split>(on(stream), angles,
                                rotation_gradients{.inv_freq = grad_inv_freq, .workspace = workspace},
                                grad_through(grad_q, q, grad_q));
    // [/upgrading_cuda_backward]
    // [upgrading_cuda_rebase]
    const device_angles<std::int32_t> to(new_basis, ids), from(old_basis, ids);  // each of its own device_words
    rebase<half_split>(on(stream), to - from, in_place(in_blocks(cache, block_table, 1, tokens, row_stride)));
    // [/upgrading_cuda_rebase]
}
