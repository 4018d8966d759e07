// SPDX-License-Identifier: MIT
// Reading the weights, and the forward pass.
#include "smollm2/llama.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cordage/host/aten/autograd.hpp"
#include "model/products.hpp"
#include "smollm2/gguf.hpp"

namespace demo {
namespace {

constexpr index_t queries_at_once = 64;  // of which all scores of a head are in memory

at::Tensor normalised(const at::Tensor& x, const at::Tensor& gain, double epsilon) {
    return x * at::rsqrt(at::square(x).mean(-1, true) + epsilon) * gain;
}

// The rows of q and k are stored for pairs (2i, 2i + 1).
at::Tensor rotated(const at::Tensor& x, const at::Tensor& position_ids, const rotation& by) {
    return cordage::aten::rotate<cordage::interleaved>(x.unsqueeze(0), position_ids, by.inv_freq, by.attention_factor)
        .squeeze(0);
}

}  // namespace

llama::llama(const std::filesystem::path& path, bool in_bfloat16) : in_bfloat16_(in_bfloat16) {
    const cordage::gguf_file file(path);
    config_ = config_of(file);
    epsilon_ = config_.epsilon;
    const auto read = [&](const std::string& name, const std::vector<index_t>& shape) {
        std::vector<float> numbers = values(file, name + ".weight", shape);
        return at::from_blob(numbers.data(), shape, at::kFloat).clone();
    };
    const auto factor = [&](const at::Tensor& x) { return in_bfloat16_ ? x.to(at::kBFloat16) : x; };
    const index_t width = config_.width, hidden = config_.hidden, kv_width = config_.kv_heads * config_.rope.head_dim;
    embedding_ = read("token_embd", {config_.vocabulary, width});
    head_ = factor(embedding_);  // of this family; a file with its own would have output.weight
    gain_ = read("output_norm", {width});
    for (index_t i = 0; i < config_.layers; ++i) {
        const std::string in = "blk." + std::to_string(i) + ".";
        const at::Tensor q = read(in + "attn_q", {width, width}), k = read(in + "attn_k", {kv_width, width}),
                         v = read(in + "attn_v", {kv_width, width});
        const at::Tensor gate = read(in + "ffn_gate", {hidden, width}), up = read(in + "ffn_up", {hidden, width});
        layers_.push_back({read(in + "attn_norm", {width}), factor(at::cat({q, k, v})),
                           factor(read(in + "attn_output", {width, width})), read(in + "ffn_norm", {width}),
                           factor(at::cat({gate, up})), factor(read(in + "ffn_down", {width, hidden}))});
    }
}

// softmax(q k^T / sqrt(head_dim) + causal mask) v of the last tokens of k and v, by blocks of queries: those of the
// heads that share a key are rows of one product, [queries * heads of a key, keys].
at::Tensor llama::attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const {
    const index_t tokens = q.size(0), past = k.size(0) - tokens, shared = config_.heads / config_.kv_heads;
    const index_t head_dim = config_.rope.head_dim;
    const auto type = in_bfloat16_ ? at::kBFloat16 : at::kFloat;
    const at::Tensor scaled = (q / std::sqrt(static_cast<double>(head_dim))).to(type), keys = k.to(type),
                     values = v.to(type);
    const index_t block = at::GradMode::is_enabled() ? tokens : queries_at_once;
    const at::Tensor later =
        at::full({std::min(block, tokens), std::min(block, tokens)}, -std::numeric_limits<float>::infinity()).triu(1);
    std::vector<at::Tensor> heads;
    for (index_t head = 0; head < config_.kv_heads; ++head) {
        const at::Tensor own = scaled.slice(1, head * shared, (head + 1) * shared);
        const at::Tensor head_keys = keys.select(1, head).contiguous(),
                         head_values = values.select(1, head).contiguous();
        std::vector<at::Tensor> parts;
        for (index_t first = 0; first < tokens; first += block) {
            const index_t count = std::min(block, tokens - first), end = past + first + count;
            const at::Tensor rows = own.slice(0, first, first + count).reshape({count * shared, head_dim});
            const at::Tensor scores = at::mm(rows, head_keys.slice(0, 0, end).t()).to(at::kFloat);
            scores.view({count, shared, end})
                .slice(2, end - count)
                .add_(later.slice(0, 0, count).slice(1, 0, count).unsqueeze(1));
            const at::Tensor weights = at::softmax(scores, -1).to(type);
            parts.push_back(at::mm(weights, head_values.slice(0, 0, end)).view({count, shared * head_dim}));
        }
        heads.push_back(at::cat(parts));
    }
    return at::cat(heads, 1);
}

at::Tensor llama::hidden(const at::Tensor& tokens, const at::Tensor& position_ids, const rotation& by,
                         const kv_cache& past, kv_cache* keep) const {
    const index_t heads = config_.heads, kv_heads = config_.kv_heads;
    const bool has_past = !past.keys.empty();
    const at::Tensor all_ids = has_past ? at::cat({past.position_ids, position_ids}) : position_ids;
    if (keep != nullptr) *keep = {{}, {}, all_ids};
    at::Tensor x = at::embedding(embedding_, tokens);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const layer& l = layers_[i];
        const auto qkv = linear(normalised(x, l.attention_gain, epsilon_), l.qkv, in_bfloat16_)
                             .view({tokens.size(0), -1, config_.rope.head_dim})
                             .split_with_sizes({heads, kv_heads, kv_heads}, 1);
        const at::Tensor keys = has_past ? at::cat({past.keys[i], qkv[1]}) : qkv[1];
        const at::Tensor values = has_past ? at::cat({past.values[i], qkv[2]}) : qkv[2];
        if (keep != nullptr) {
            keep->keys.push_back(keys);
            keep->values.push_back(values);
        }
        const at::Tensor read = attention(rotated(qkv[0], position_ids, by), rotated(keys, all_ids, by), values);
        x = x + linear(read, l.attention_out, in_bfloat16_);
        const at::Tensor gate_up = linear(normalised(x, l.mlp_gain, epsilon_), l.gate_up, in_bfloat16_);
        x = x + linear(swiglu(gate_up), l.down, in_bfloat16_);
    }
    return normalised(x, gain_, epsilon_);
}

at::Tensor llama::logits(const at::Tensor& hidden) const { return linear(hidden, head_, in_bfloat16_); }

token_losses llama::losses(const at::Tensor& hidden, const at::Tensor& targets) const {
    constexpr index_t rows = 64;  // of 49152 logits: more do not stay in the cache
    std::vector<at::Tensor> nats, firsts;
    for (index_t first = 0; first < targets.size(0); first += rows) {
        const at::Tensor some = logits(hidden.slice(0, first, first + rows)),
                         wanted = targets.slice(0, first, first + rows);
        nats.push_back(at::cross_entropy_loss(some, wanted, {}, at::Reduction::None));
        firsts.push_back(some.detach().argmax(-1) == wanted);
    }
    return {at::cat(nats), at::cat(firsts)};
}

}  // namespace demo
