// SPDX-License-Identifier: MIT
// libflashinfer_gpu_peer.so: the kernels of FlashInfer's header, launched as its apply_rope_pos_ids_inplace and
// apply_rope_with_cos_sin_cache_inplace launch them. Compiled with the include folder of its wheel.
#include <array>
#include <flashinfer/pos_enc.cuh>
#include <stdexcept>

#include "gpu_entry.cuh"

namespace {

class flashinfer_case {
 public:
    explicit flashinfer_case(const gpu_rope_case& c) : case_(c) {
        if (c.dtype == gpu_rope_fp32) throw std::invalid_argument("its Python interface takes 16-bit tensors only");
    }

 protected:
    std::uint32_t narrow(std::int64_t n) const { return static_cast<std::uint32_t>(n); }
    std::size_t stride(std::int64_t heads) const { return static_cast<std::size_t>(heads * case_.head_dim); }
    gpu_rope_case case_;
};

template <bool Interleaved>
struct angles_in_the_kernel : flashinfer_case {
    using flashinfer_case::flashinfer_case;
    int run(void* q, void* k, cudaStream_t stream) const {
        return gpu_peers::with_elements(case_.dtype, q, k, [&](auto* q_data, auto* k_data) {
            const std::size_t head = stride(1), q_token = stride(case_.heads), k_token = stride(case_.kv_heads);
            return flashinfer::BatchQKApplyRotaryPosIds(
                q_data, k_data, q_data, k_data, const_cast<std::int32_t*>(case_.positions), narrow(case_.tokens),
                narrow(case_.heads), narrow(case_.kv_heads), narrow(case_.head_dim), narrow(case_.head_dim), q_token,
                head, k_token, head, q_token, head, k_token, head, Interleaved, 1.0f, case_.theta_base, stream);
        });
    }
};
template <bool Interleaved>
struct angles_in_a_table : flashinfer_case {
    using flashinfer_case::flashinfer_case;
    int run(void* q, void* k, cudaStream_t stream) const {
        return gpu_peers::with_elements(case_.dtype, q, k, [&](auto* q_data, auto* k_data) {
            const std::size_t head = stride(1), q_token = stride(case_.heads), k_token = stride(case_.kv_heads);
            return flashinfer::BatchQKApplyRotaryPosIdsCosSinCache(
                q_data, k_data, q_data, k_data, const_cast<float*>(case_.cos_sin),
                const_cast<std::int32_t*>(case_.positions), narrow(case_.tokens), narrow(case_.heads),
                narrow(case_.kv_heads), narrow(case_.head_dim), narrow(case_.head_dim), q_token, head, k_token, head,
                q_token, head, k_token, head, Interleaved, stream);
        });
    }
};

constexpr std::array entries{
    gpu_peers::gpu_entry<angles_in_the_kernel<false>>("flashinfer", gpu_rope_half_split),
    gpu_peers::gpu_entry<angles_in_the_kernel<true>>("flashinfer", gpu_rope_interleaved),
    gpu_peers::gpu_entry<angles_in_a_table<false>>("flashinfer table", gpu_rope_half_split),
    gpu_peers::gpu_entry<angles_in_a_table<true>>("flashinfer table", gpu_rope_interleaved),
};

}  // namespace

extern "C" std::int32_t gpu_rope_peers(const gpu_rope_peer** first) {
    *first = entries.data();
    return static_cast<std::int32_t>(entries.size());
}
