// SPDX-License-Identifier: MIT
// libcordage_peer.so: the cache path for the comparison, on the memory of torch's tensors: RMSNorm of q and k, the
// rotation, k and v into the slots of a cache, in one call.
#include <cmath>
#include <type_traits>
#include <vector>

#include "cordage/core/threads.hpp"
#include "cordage/kernels.hpp"
#include "peer_abi.hpp"

namespace {

using namespace cordage;

enum stored_dtype : std::int32_t { stored_fp32 = 0, stored_fp16 = 1, stored_bf16 = 2, stored_int8 = 3, stored_fp8 = 4 };

}  // namespace

extern "C" {

/// q [tokens, heads, head_dim], k and v [tokens, kv_heads, head_dim], caches [blocks, block_size, kv_heads, head_dim]
/// with scales [blocks, block_size, kv_heads]; all dense. The driver (cache_path.py) declares the same struct.
struct cache_case {
    rope_case of;
    std::int64_t blocks, block_size;
    std::int32_t stored;           ///< stored_dtype
    const std::int64_t* slots;     ///< [tokens]
    const float *q_norm, *k_norm;  ///< [head_dim]
    const void *q, *k, *v;
    void *q_out, *keys, *values;
    float *key_scales, *value_scales;  ///< of int8 and fp8
};

}  // extern "C"

namespace {

template <class T, class C, class Format>
void run(const cache_case& c, std::int64_t repeats, const Format& keys_format, const Format& values_format) {
    const rope_case& of = c.of;
    std::vector<double> inv_freq;
    for (index_t lane = 0; lane < of.head_dim; lane += 2) {
        inv_freq.push_back(
            std::pow(double{of.theta_base}, -static_cast<double>(lane) / static_cast<double>(of.head_dim)));
    }
    const basis b(std::move(inv_freq));
    const position_view<std::int64_t> position_ids(of.positions, 1, of.tokens, 0);
    const auto dense = [&]<class E>(E* data, index_t heads) {
        return token_major(data, {1, of.tokens, heads, of.head_dim});
    };
    const auto in_cache = [&](void* data, const Format& format) {
        const heads_shape shape{c.blocks, c.block_size, of.kv_heads, of.head_dim};
        return in_slots(token_major(static_cast<C*>(data), shape, format), c.slots, 1, of.tokens);
    };
    const threads where{of.threads};
    while (repeats-- > 0) {
        rotate_forward<half_split>(
            where, exact_angles(b, position_ids),
            from_to(dense(static_cast<const T*>(c.q), of.heads), dense(static_cast<T*>(c.q_out), of.heads))
                .normalized(rms_norm<>{.weight = c.q_norm}),
            from_to(dense(static_cast<const T*>(c.k), of.kv_heads), in_cache(c.keys, keys_format))
                .normalized(rms_norm<>{.weight = c.k_norm}),
            from_to(dense(static_cast<const T*>(c.v), of.kv_heads), in_cache(c.values, values_format)).unrotated());
    }
}

template <class T, class C>
void run_bytes(const cache_case& c, std::int64_t repeats) {
    const auto format = [&](float* scales) {
        return scaled_bytes<C>{.scales = {scales, c.block_size * c.of.kv_heads, c.of.kv_heads, 1}};
    };
    run<T, C>(c, repeats, format(c.key_scales), format(c.value_scales));
}

template <class T>
bool run_from(const cache_case& c, std::int64_t repeats) {
    const auto store = [&]<class C>(C) { run<T, C>(c, repeats, element_traits<C>{}, element_traits<C>{}); };
    switch (c.stored) {
        case stored_fp32:
            if constexpr (std::is_same_v<T, float>) return store(T{}), true;
            return false;
        case stored_bf16:
            return store(bfloat16{}), true;
        case stored_int8:
            return run_bytes<T, std::int8_t>(c, repeats), true;
        case stored_fp8:
            return run_bytes<T, fp8_e4m3>(c, repeats), true;
        default:
            return false;
    }
}

}  // namespace

/// Runs the case `repeats` times, from the same inputs. Returns 0, or 1 if it is not supported.
extern "C" std::int32_t cordage_cache_path(const cache_case* c, std::int64_t repeats) {
    try {
        const bool is_done = c->of.dtype == rope_fp32   ? run_from<float>(*c, repeats)
                             : c->of.dtype == rope_bf16 ? run_from<bfloat16>(*c, repeats)
                                                        : false;
        return is_done ? 0 : 1;
    } catch (...) {  // no exception may cross a C interface
        return 1;
    }
}
