// SPDX-License-Identifier: MIT
// llama.cpp's K-shift by cordage: put_in.py makes llama_kv_cache::build_rope_shift call this.
#include <ggml-backend.h>
#include <ggml.h>

#include <exception>

#include "cordage/host/ggml/key_shift.hpp"
#include "kept.hpp"
#include "rope.h"

namespace {

namespace gg = cordage::ggml;

// A shift by d changes the first three positions of M-RoPE by d; the fourth is 0 for every token. One shift per cell
// therefore suffices, and pairs of the fourth position do not change.
gg::rotation shifted_rotation(const gg::rope_arguments& a, std::span<const float> factors) {
    if (!gg::has_axes(a.mode)) return gg::rotation(a, factors);
    const cordage::basis all = gg::make_basis(a, factors);
    std::vector<double> inv_freq(all.inv_freq().begin(), all.inv_freq().end());
    const std::vector<std::uint8_t> axes = gg::axes_of_pairs(a);
    for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
        if (axes[pair] == 3) inv_freq[pair] = 0.0;
    }
    return {cordage::basis(std::move(inv_freq), all.attention_factor()), gg::neox};
}

// The transform is over whole heads; llama.cpp's view ends after the rotated lanes.
ggml_tensor* whole_heads(ggml_context* ctx, ggml_tensor* keys, std::int64_t hadamard_size) {
    const std::int64_t head_dim =
        static_cast<std::int64_t>(keys->nb[1] / ggml_type_size(keys->type)) * ggml_blck_size(keys->type);
    if (keys->ne[0] % hadamard_size == 0 || keys->view_offs % keys->nb[1] != 0) return keys;
    return ggml_view_3d(ctx, keys->view_src, head_dim, keys->ne[1], keys->ne[2], keys->nb[1], keys->nb[2],
                        keys->view_offs);
}

}  // namespace

ggml_tensor* cordage_llama_shift(ggml_context* ctx, ggml_tensor* keys, ggml_tensor* shift, const ggml_tensor* transform,
                                 const ggml_tensor* factor_tensor, const cordage_llama_rule& rule) noexcept try {
    static cordage_llama::kept<gg::key_shift> shifts;
    if (!ggml_backend_buffer_is_host(keys->view_src->buffer)) {
        cordage::fail<cordage::value_error>({"keys must be in this process's memory: set offload_kqv to false"});
    }
    gg::rope_arguments a{.n_dims = rule.n_dims,
                         .mode = rule.mode,
                         .n_ctx_orig = rule.n_ctx_orig,
                         .freq_base = rule.freq_base,
                         .freq_scale = rule.freq_scale,
                         .ext_factor = rule.ext_factor,
                         .beta_fast = rule.beta_fast,
                         .beta_slow = rule.beta_slow};
    std::copy_n(rule.sections, 4, a.sections.begin());
    const std::span<const float> factors = cordage_llama::factors(factor_tensor, a);
    const std::int64_t hadamard_size = transform != nullptr && ggml_is_quantized(keys->type) ? transform->ne[0] : 0;
    if (hadamard_size != 0) keys = whole_heads(ctx, keys, hadamard_size);
    gg::key_shift& operation = shifts.of(a, factors, hadamard_size,
                                         [&] { return gg::key_shift(shifted_rotation(a, factors), hadamard_size); });
    ggml_tensor* const node =
        ggml_custom_inplace(ctx, keys, &shift, 1, gg::shift_keys<ggml_tensor>, GGML_N_TASKS_MAX, &operation);
    operation.check(*node);
    return node;
} catch (const std::exception& e) {
    GGML_ABORT("cordage, K-shift of '%s': %s; the cache's type is set by --cache-type-k or type_k", keys->name,
               e.what());
}
