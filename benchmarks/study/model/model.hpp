// SPDX-License-Identifier: MIT
// A small Llama-style decoder in libtorch, whose rotations are cordage's.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "model/functions.hpp"
#include "settings.hpp"

namespace demo {

/// Embedding, then layers of (RMSNorm, causal attention with norms of q and k and RoPE, RMSNorm, SwiGLU), RMSNorm, and
/// the embedding again as the head. No biases. Weights are float32; products with them are in bfloat16 where the
/// processor has instructions for it.
class decoder {
 public:
    /// The weights of `values`, in the order of parameters(); the tensors are shared, not copied.
    decoder(const model_sizes& sizes, std::vector<at::Tensor> values);

    /// Logits [rows, vocabulary], float32, of inputs [windows, tokens] int64, at these rows of [windows * tokens].
    /// @param rotations  one for all layers, or one for each
    at::Tensor logits(const at::Tensor& inputs, std::span<const rotary> rotations, const at::Tensor& rows) const;

    /// Rows of a weight that Muon orthogonalises as one matrix.
    struct matrix {
        std::size_t parameter;
        index_t first_row, rows;
    };
    std::vector<matrix> matrices() const;

    const model_sizes& sizes() const { return sizes_; }
    const std::vector<at::Tensor>& parameters() const { return parameters_; }

 private:
    struct layer {
        at::Tensor attention_gain, qkv, q_gain, k_gain, attention_out;  // [width], [3 width, width], [head_dim] ...
        at::Tensor mlp_gain, gate_up, down;                             // [width], [2 hidden, width], [width, hidden]
    };
    at::Tensor attended(const layer& l, const at::Tensor& x, index_t windows, const rotary& rotation) const;

    model_sizes sizes_;
    std::vector<at::Tensor> parameters_;
    at::Tensor embedding_, final_gain_;  // [vocabulary, width], [width]
    std::vector<layer> layers_;
    bool in_bfloat16_;
};

using shared_decoder = std::shared_ptr<const decoder>;

/// Random weights: standard deviation 1/sqrt(width of the input), smaller where a layer adds to the residual.
decoder new_decoder(const settings& s);
void save(const decoder& model, const std::filesystem::path& file);
shared_decoder load_decoder(const settings& s, const std::filesystem::path& file);

}  // namespace demo
