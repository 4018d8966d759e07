// SPDX-License-Identifier: MIT
// libsglang_gpu_peer.so: the kernel that SGLang compiles at run time, called as by its apply_rope_inplace, with tensors
// made here. Compiled with the include folders of its wheel and of apache-tvm-ffi.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <array>
#define JIT_HEAD_DIM 128  // what its Python code defines; only the kernel is taken
#define JIT_INTERLEAVE 0
#define JIT_YARN 0
#include <elementwise/fused_qknorm_rope.cuh>
#include <elementwise/rope.cuh>
#include <stdexcept>
#include <vector>

#include "gpu_entry.cuh"

namespace {

constexpr std::int64_t head_dim = 128;

// A dense tensor of device 0.
template <std::size_t Axes>
struct dense {
    std::array<std::int64_t, Axes> shape, strides{};
    DLTensor tensor;

    dense(const void* data, DLDataType type, const std::array<std::int64_t, Axes>& sizes)
        : shape(sizes), tensor{const_cast<void*>(data), {kDLCUDA, 0}, Axes, type, shape.data(), strides.data(), 0} {
        std::int64_t inside = 1;
        for (std::size_t i = Axes; i-- > 0; inside *= shape[i]) strides[i] = inside;
    }
    dense(const dense&) = delete;
    tvm::ffi::TensorView view() const { return tvm::ffi::TensorView(&tensor); }
};

template <bool HalfSplit>
class rotation {
 public:
    explicit rotation(const gpu_rope_case& c) : case_(c) {
        if (c.head_dim != head_dim) throw std::invalid_argument("compiled for one head_dim");
        int device = 0, major = 0;
        if (cudaGetDevice(&device) != cudaSuccess ||
            cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) {
            throw std::runtime_error("no device");
        }
        overlaps_ = major >= 9;  // as in its is_arch_support_pdl
    }
    int run(void* q, void* k, cudaStream_t stream) const {
        if (TVMFFIEnvSetStream(kDLCUDA, 0, stream, nullptr) != 0) return -1;
        return gpu_peers::with_elements(case_.dtype, q, k, [&](auto* q_data, auto* k_data) {
            using element = std::remove_pointer_t<decltype(q_data)>;
            overlaps_ ? rotate<element, true>(q_data, k_data) : rotate<element, false>(q_data, k_data);
            return 0;
        });
    }

 private:
    template <class T, bool Overlaps>
    void rotate(T* q, T* k) const {
        constexpr auto code = std::is_same_v<T, __nv_bfloat16> ? kDLBfloat : kDLFloat;
        const DLDataType type{code, 8 * sizeof(T), 1}, floats{kDLFloat, 32, 1}, integers{kDLInt, 32, 1};
        const dense<3> q_tensor(q, type, {case_.tokens, case_.heads, head_dim});
        const dense<3> k_tensor(k, type, {case_.tokens, case_.kv_heads, head_dim});
        const dense<2> table(case_.cos_sin, floats, {case_.tokens, head_dim});
        const dense<1> ids(case_.positions, integers, {case_.tokens});
        sglang::FusedRopeKernel<HalfSplit, head_dim, Overlaps, T>::run(q_tensor.view(), k_tensor.view(), table.view(),
                                                                       ids.view());
    }
    gpu_rope_case case_;
    bool overlaps_ = false;
};

// RMSNorm and rotation of q and k in rows of qkv, launched as its fused_qk_norm_rope launches it.
template <bool HalfSplit>
class norm_and_rotation {
 public:
    explicit norm_and_rotation(const gpu_rope_case& c) : case_(c) {
        if (c.head_dim != head_dim || c.dtype != gpu_rope_bf16) throw std::invalid_argument("compiled for one case");
        const std::vector<__nv_bfloat16> ones(head_dim, __float2bfloat16(1.0f));
        if (cudaMalloc(&weights_, ones.size() * sizeof(ones[0])) != cudaSuccess ||
            cudaMemcpy(weights_, ones.data(), ones.size() * sizeof(ones[0]), cudaMemcpyHostToDevice) != cudaSuccess) {
            throw std::runtime_error("no memory");
        }
    }
    norm_and_rotation(const norm_and_rotation&) = delete;
    ~norm_and_rotation() { cudaFree(weights_); }
    int run(void* qkv, void*, cudaStream_t stream) const {
        constexpr int threads = 256, heads_of_block = threads / 32;
        const auto narrow = [](std::int64_t n) { return static_cast<int>(n); };
        const int all = narrow(case_.tokens * (case_.heads + case_.kv_heads));
        sglang::fusedQKNormRopeKernel<static_cast<int>(head_dim), !HalfSplit, false>
            <<<(all + heads_of_block - 1) / heads_of_block, threads, 0, stream>>>(
                static_cast<__nv_bfloat16*>(qkv), narrow(case_.heads), narrow(case_.kv_heads), narrow(case_.kv_heads),
                1e-6f, weights_, weights_, case_.theta_base, case_.positions, narrow(case_.tokens), 1.0f, 0.0f, 0.0f,
                1.0f, static_cast<int>(head_dim));
        return cudaGetLastError();
    }

 private:
    gpu_rope_case case_;
    __nv_bfloat16* weights_ = nullptr;
};

constexpr std::array norm_entries{
    gpu_peers::gpu_entry<norm_and_rotation<true>>("sglang fused", gpu_rope_half_split),
    gpu_peers::gpu_entry<norm_and_rotation<false>>("sglang fused", gpu_rope_interleaved),
};
constexpr std::array entries{
    gpu_peers::gpu_entry<rotation<true>>("sglang table", gpu_rope_half_split),
    gpu_peers::gpu_entry<rotation<false>>("sglang table", gpu_rope_interleaved),
};

}  // namespace

extern "C" std::int32_t gpu_rope_peers(const gpu_rope_peer** first) {
    *first = entries.data();
    return static_cast<std::int32_t>(entries.size());
}
extern "C" std::int32_t gpu_norm_peers(const gpu_rope_peer** first) {
    *first = norm_entries.data();
    return static_cast<std::int32_t>(norm_entries.size());
}
