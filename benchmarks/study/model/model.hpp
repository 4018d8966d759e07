// SPDX-License-Identifier: MIT
// A small Llama-style decoder in libtorch, whose rotations are cordage's.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "model/batches.hpp"
#include "model/rotary.hpp"
#include "settings.hpp"

namespace demo {

/// Embedding, then layers of (RMSNorm, causal attention with RoPE, RMSNorm, SwiGLU), RMSNorm, and the embedding again
/// as the head. No biases.
class decoder {
 public:
    /// Random weights: standard deviation 1/sqrt(width of the input), smaller where a layer adds to the residual.
    decoder(const model_sizes& sizes, generator& draw);

    /// The weights of `values`, in the order of parameters(); the tensors are shared, not copied.
    decoder(const model_sizes& sizes, std::vector<at::Tensor> values);

    /// Logits [windows * tokens, vocabulary] of inputs [windows, tokens] int64.
    at::Tensor logits(const at::Tensor& inputs, const rotary& turn) const;

    const model_sizes& sizes() const { return sizes_; }
    const std::vector<at::Tensor>& parameters() const { return parameters_; }

    /// Numbers of their own, equal to these.
    decoder copy() const;

    /// The same numbers with gradients of their own, if any are wanted.
    decoder twin(bool wants_gradients) const;

 private:
    struct layer {
        at::Tensor attention_gain, qkv, attention_out;  // [width], [3 width, width], [width, width]
        at::Tensor mlp_gain, gate_up, down;             // [width], [2 hidden, width], [width, hidden]
    };
    at::Tensor attend(const layer& l, const at::Tensor& x, index_t windows, const rotary& turn) const;

    model_sizes sizes_;
    std::vector<at::Tensor> parameters_;
    at::Tensor embedding_, final_gain_;  // [vocabulary, width], [width]
    std::vector<layer> layers_;
};

}  // namespace demo
