// SPDX-License-Identifier: MIT
// The code for a device in docs/upgrading.md; compiled by tests/cuda_compile, and not run.
#include <cordage/cuda.cuh>

using namespace cordage;

void upgrade(cudaStream_t stream, const device_basis& b, const position_view<std::int32_t>& old_ids,
             const position_view<std::int32_t>& new_ids, const heads_view<float>& cache, const std::int32_t* old_slots,
             const std::int32_t* new_slots, index_t tokens) {
    // [upgrading_cuda_move]
    rebase<half_split>(
        on(stream), exact_angles(b, new_ids) - exact_angles(b, old_ids),
        from_to(in_slots(cache, old_slots, 1, tokens), in_slots(cache, new_slots, 1, tokens)).to_free_slots());
    // [/upgrading_cuda_move]
}
