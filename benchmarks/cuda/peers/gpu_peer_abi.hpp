// SPDX-License-Identifier: MIT
// The C interface between the comparison on a device and a shared library that rotates q and k there. The driver
// (gpu_libraries.py) declares the same structs.
#pragma once

#include <cstdint>

extern "C" {

enum gpu_rope_dtype : std::int32_t { gpu_rope_fp32 = 0, gpu_rope_fp16 = 1, gpu_rope_bf16 = 2 };
enum gpu_rope_style : std::int32_t { gpu_rope_half_split = 0, gpu_rope_interleaved = 1 };

/// The tensors to rotate: q [tokens, heads, head_dim] and k [tokens, kv_heads, head_dim], dense, at positions 0 to
/// tokens - 1. Pointers are to device memory that outlives the peer's setup.
struct gpu_rope_case {
    std::int64_t tokens, heads, kv_heads, head_dim;
    std::int32_t dtype;  ///< gpu_rope_dtype
    float theta_base;
    const std::int32_t* positions;  ///< [tokens]
    const float* cos_sin;           ///< [tokens, head_dim]: cos of the pairs, then sin of them
};

/// One implementation.
struct gpu_rope_peer {
    const char* name;
    std::int32_t style;                                               ///< gpu_rope_style
    void* (*setup)(const gpu_rope_case*);                             ///< nullptr if the case is not supported
    std::int32_t (*run)(void*, void* q, void* k, void* cuda_stream);  ///< enqueues, in place; 0, or an error code
    void (*release)(void*);
};

/// Writes the address of the library's implementations to *first; returns their number. The library owns them.
std::int32_t gpu_rope_peers(const gpu_rope_peer** first);

/// As above for rotations from one tensor qkv [tokens, heads + 2 kv_heads, head_dim], in bf16, to other tensors:
///
///   gpu_norm_peers        run(self, qkv, nullptr, stream): RMSNorm with weights of 1 and epsilon 1e-6, then the
///                         rotation, of q and k where they lie
///   gpu_fp8_cache_peers   run(self, qkv, fp8, stream): q and k rotated, and v, in e4m3 by a scale of 1 to q [tokens,
///                         heads, head_dim], then k and v [tokens rounded up to 16, kv_heads, head_dim] each
std::int32_t gpu_norm_peers(const gpu_rope_peer** first);
std::int32_t gpu_fp8_cache_peers(const gpu_rope_peer** first);

}  // extern "C"
