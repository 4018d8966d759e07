/* SPDX-License-Identifier: MIT
 * What the edits of put_in.py call: declarations that ggml and llama.cpp compile, as C and C++17. */
#pragma once

#include <stdbool.h>

struct ggml_context;
struct ggml_tensor;

#ifdef __cplusplus
extern "C" {
#endif

/* Slice ith of nth of a GGML_OP_ROPE node: src[0], rotated by positions src[1] and frequency factors src[2], into dst.
 * What does not fit ends the program with one sentence. */
void cordage_llama_rope(struct ggml_tensor* dst, int ith, int nth);

/* The same straight into the rows of a cache, in place of three nodes that follow each other and that nothing else
 * reads: rope, a view of it whose rows are its tokens, and set_rows. Returns false, with nothing done, in every slice,
 * where they are not such: another type of cache than F32, F16, BF16, Q8_0 and Q4_0, or lanes in front that stay. */
bool cordage_llama_rope_into_rows(const struct ggml_tensor* rope, const struct ggml_tensor* view,
                                  const struct ggml_tensor* set_rows, int ith, int nth);

#ifdef __cplusplus
}

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
#endif
