/* SPDX-License-Identifier: MIT
 * What the edits of put_in.py call: declarations that ggml and llama.cpp compile, as C++17. */
#pragma once

struct ggml_context;
struct ggml_tensor;

/* Slice ith of nth of a GGML_OP_ROPE node: src[0], turned by positions src[1] and frequency factors src[2], into dst.
 * What does not fit ends the program with one sentence. */
void cordage_llama_rope(ggml_tensor* dst, int ith, int nth) noexcept;

/* Keys of a cache to other positions: the node that llama_kv_cache::build_rope_shift returns.
 *   keys       [lanes, heads, cells], a view of a layer's keys from their first rotated lane
 *   shift      I32 [cells], new position - old position
 *   transform  the Hadamard matrix before a quantised cache, or null
 *   factors    frequency factors, or null
 *   sections   pairs of each position of M-RoPE */
struct cordage_llama_rule {
    int n_dims, mode, n_ctx_orig;
    float freq_base, freq_scale, ext_factor, beta_fast, beta_slow;
    int sections[4];
};
ggml_tensor* cordage_llama_shift(ggml_context* ctx, ggml_tensor* keys, ggml_tensor* shift, const ggml_tensor* transform,
                                 const ggml_tensor* factors, const cordage_llama_rule& rule) noexcept;
