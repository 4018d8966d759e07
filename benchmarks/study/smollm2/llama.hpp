// SPDX-License-Identifier: MIT
// A Llama decoder from a GGUF file, weights frozen, whose rotations are cordage's; serves the demo on a real model.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <string>
#include <vector>

#include "smollm2/llama_config.hpp"

namespace demo {

/// How positions rotate q and k; differentiable where the tensors require gradients.
struct rotation {
    at::Tensor inv_freq;          ///< [rotary_dim/2] float64, radians per position
    at::Tensor attention_factor;  ///< [] float64, on cos and sin
};

/// Keys before their rotation, and values, of earlier tokens.
struct kv_cache {
    std::vector<at::Tensor> keys, values;  ///< of each layer [tokens, kv_heads, head_dim]
    at::Tensor position_ids;               ///< [tokens] int64
};

/// Losses in nats of tokens, and whether each is the most probable one.
struct token_losses {
    at::Tensor nats, is_first;  ///< [tokens] float32; bool
};

class llama {
 public:
    /// @param in_bfloat16  whether products are in bfloat16
    /// @throws std::runtime_error  if the file cannot be read or is no such model
    llama(const std::filesystem::path& file, bool in_bfloat16);

    const llama_config& config() const { return config_; }

    /// Hidden states [tokens, width] of tokens [tokens] int64 behind those of `past`, which is empty at first. They are
    /// normalised, so that losses() takes them. With gradients enabled the scores of all tokens are kept; without,
    /// memory grows with tokens, not their square.
    /// @param keep  if not null, receives keys and values of past and these tokens; may not be `past`
    at::Tensor hidden(const at::Tensor& tokens, const at::Tensor& position_ids, const rotation& by,
                      const kv_cache& past = {}, kv_cache* keep = nullptr) const;

    /// Logits [rows, vocabulary] float32 of hidden states [rows, width].
    at::Tensor logits(const at::Tensor& hidden) const;
    /// Of `targets` [rows] int64, each predicted by its hidden state.
    token_losses losses(const at::Tensor& hidden, const at::Tensor& targets) const;

 private:
    struct layer {
        at::Tensor attention_gain, qkv, attention_out, mlp_gain, gate_up, down;
    };
    at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;

    llama_config config_;
    double epsilon_;
    bool in_bfloat16_;
    at::Tensor embedding_, head_, gain_;
    std::vector<layer> layers_;
};

}  // namespace demo
