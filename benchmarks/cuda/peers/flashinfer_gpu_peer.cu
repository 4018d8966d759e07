// SPDX-License-Identifier: MIT
// libflashinfer_gpu_peer.so: the kernels of FlashInfer's header, launched as its apply_rope_pos_ids_inplace and
// apply_rope_with_cos_sin_cache_inplace launch them. Compiled with the include folder of its wheel.
#include <cuda_fp8.h>

#include <array>
#include <flashinfer/page.cuh>
#include <flashinfer/pos_enc.cuh>
#include <numeric>
#include <stdexcept>
#include <vector>

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

// Rotation of q and k in rows of qkv, and a store of q, k and v in e4m3, launched as its
// rope_quantize_fp8_append_paged_kv_cache launches it.
template <bool Interleaved>
class fp8_cache : flashinfer_case {
 public:
    explicit fp8_cache(const gpu_rope_case& c) : flashinfer_case(c) {
        if (c.dtype != gpu_rope_bf16) throw std::invalid_argument("qkv must be bf16");
        std::vector<std::int32_t> numbers(
            static_cast<std::size_t>(pages() + 2 + c.tokens));  // the rest: row 0 of each token
        std::iota(numbers.begin(), numbers.begin() + pages(), 0);
        numbers[static_cast<std::size_t>(pages()) + 1] =
            static_cast<std::int32_t>(pages());  // first page of a row: 0, pages
        const std::size_t bytes = numbers.size() * sizeof(numbers[0]);
        if (cudaMalloc(&numbers_, bytes) != cudaSuccess ||
            cudaMemcpy(numbers_, numbers.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
            throw std::runtime_error("no memory");
        }
    }
    fp8_cache(const fp8_cache&) = delete;
    ~fp8_cache() { cudaFree(numbers_); }
    int run(void* qkv, void* fp8, cudaStream_t stream) const {
        const gpu_rope_case& c = case_;
        const std::size_t head = stride(1), row = stride(c.heads + 2 * c.kv_heads);
        auto* const q = static_cast<__nv_bfloat16*>(qkv);
        auto* const k = q + stride(c.heads);
        auto* const v = k + stride(c.kv_heads);
        auto* const q_to = static_cast<__nv_fp8_e4m3*>(fp8);
        auto* const keys = q_to + static_cast<std::size_t>(c.tokens) * stride(c.heads);
        auto* const values = keys + static_cast<std::size_t>(pages() * page) * stride(c.kv_heads);
        std::int32_t* const indptr = numbers_ + pages();
        flashinfer::paged_kv_t<__nv_fp8_e4m3, std::int32_t> cache(narrow(c.kv_heads), page, narrow(c.head_dim), 1,
                                                                  flashinfer::QKVLayout::kNHD, keys, values, numbers_,
                                                                  indptr, nullptr);
        auto* const ids = const_cast<std::int32_t*>(c.positions);  // also the place of a token in the cache
        return flashinfer::RopeQuantizeAppendPagedKVCache<__nv_bfloat16, std::int32_t, std::int32_t, __nv_fp8_e4m3>(
            q, k, q, k, v, q_to, q_to, cache, indptr + 2, ids, const_cast<float*>(c.cos_sin), ids, narrow(c.tokens),
            narrow(c.heads), narrow(c.kv_heads), narrow(c.head_dim), 0, row, head, row, head, stride(c.heads), head,
            stride(c.heads), head, row, head, row, head, row, head, 1.0f, 1.0f, Interleaved, false, stream);
    }

 private:
    static constexpr std::uint32_t page = 16;
    std::int64_t pages() const { return (case_.tokens + page - 1) / page; }
    std::int32_t* numbers_ = nullptr;
};

constexpr std::array fp8_cache_entries{
    gpu_peers::gpu_entry<fp8_cache<false>>("flashinfer fused", gpu_rope_half_split),
    gpu_peers::gpu_entry<fp8_cache<true>>("flashinfer fused", gpu_rope_interleaved),
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
extern "C" std::int32_t gpu_fp8_cache_peers(const gpu_rope_peer** first) {
    *first = fp8_cache_entries.data();
    return static_cast<std::int32_t>(fp8_cache_entries.size());
}
