// SPDX-License-Identifier: MIT
// The decoder's forward pass, its first weights, and its file.
#include "model/model.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

#include "model/learning.hpp"

namespace demo {
namespace {

using tensors = std::vector<at::Tensor>;

// Shapes in the order of decoder::parameters(), and the deviation of the first weights; 0 means all ones.
struct first_weight {
    std::vector<index_t> shape;
    double deviation;
};
std::vector<first_weight> first_weights(const model_sizes& s) {
    const auto fan_in = [](index_t width) { return 1.0 / std::sqrt(static_cast<double>(width)); };
    const double residual = 1.0 / std::sqrt(2.0 * static_cast<double>(s.layers));
    std::vector<first_weight> weights{{{s.vocabulary, s.width}, 0.5 * fan_in(s.width)}};
    for (index_t i = 0; i < s.layers; ++i) {
        weights.push_back({{s.width}, 0.0});
        weights.push_back({{3 * s.width, s.width}, fan_in(s.width)});
        weights.push_back({{s.width, s.width}, residual * fan_in(s.width)});
        weights.push_back({{s.width}, 0.0});
        weights.push_back({{2 * s.hidden, s.width}, fan_in(s.width)});
        weights.push_back({{s.width, s.hidden}, residual * fan_in(s.hidden)});
    }
    weights.push_back({{s.width}, 0.0});
    return weights;
}

// Normal numbers by Box and Muller.
at::Tensor normal(generator& draw, const std::vector<index_t>& shape, double deviation) {
    at::Tensor made = at::empty(shape, at::kFloat);
    float* data = made.data_ptr<float>();
    for (index_t i = 0; i < made.numel(); ++i) {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - cordage::draw_real(draw, 0.0, 1.0)));
        const double angle = cordage::draw_real(draw, 0.0, 2.0 * std::numbers::pi);
        data[i] = static_cast<float>(deviation * radius * std::cos(angle));
    }
    return made;
}

tensors random_values(const model_sizes& sizes, generator& draw) {
    tensors values;
    for (const auto& [shape, deviation] : first_weights(sizes)) {
        values.push_back(deviation > 0.0 ? normal(draw, shape, deviation) : at::ones(shape, at::kFloat));
    }
    return values;
}

// x / rms(x) * gain, row by row.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& gain) {
    return x * at::rsqrt(x.square().mean(-1, true) + 1e-5) * gain;
}

// silu(first half) * second half of each row.
at::Tensor swiglu(const at::Tensor& gate_up) {
    const tensors halves = gate_up.chunk(2, -1);
    return at::silu(halves[0]) * halves[1];
}

// softmax(factor q k^T / sqrt(head_dim) + bias + causal mask) v; all [windows, tokens, heads, head_dim]. By blocks of
// queries, as none of them sees the keys that come later.
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const rotary& turn) {
    constexpr index_t block = 128;
    const index_t tokens = q.size(1);
    const double scale = turn.score_factor / std::sqrt(static_cast<double>(q.size(3)));
    const at::Tensor queries = q.transpose(1, 2) * scale, keys = k.permute({0, 2, 3, 1}), values = v.transpose(1, 2);
    tensors parts;
    for (index_t first = 0; first < tokens; first += block) {
        const index_t end = std::min(tokens, first + block);
        const at::Tensor later =
            at::ones({end - first, end}, q.options().dtype(at::kBool).requires_grad(false)).triu(first + 1);
        at::Tensor scores = at::matmul(queries.slice(2, first, end), keys.slice(3, 0, end));
        if (turn.score_bias.defined()) scores = scores + turn.score_bias.slice(1, first, end).slice(2, 0, end);
        const at::Tensor weights = scores.masked_fill(later, -std::numeric_limits<double>::infinity()).softmax(-1);
        parts.push_back(at::matmul(weights, values.slice(2, 0, end)));
    }
    return at::cat(parts, 2).transpose(1, 2);
}

// x + y weight^T, in one pass over x.
at::Tensor add_linear(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight) {
    return at::addmm(x, y, weight.t());
}

}  // namespace

decoder::decoder(const model_sizes& sizes, generator& draw) : decoder(sizes, random_values(sizes, draw)) {}

decoder::decoder(const model_sizes& sizes, tensors values) : sizes_(sizes), parameters_(std::move(values)) {
    auto next = parameters_.begin();
    embedding_ = *next++;
    for (index_t i = 0; i < sizes.layers; ++i, next += 6) {
        layers_.push_back({next[0], next[1], next[2], next[3], next[4], next[5]});
    }
    final_gain_ = *next;
}

decoder decoder::copy() const {
    tensors values;
    for (const auto& parameter : parameters_) values.push_back(parameter.detach().clone());
    return {sizes_, std::move(values)};
}

decoder decoder::twin(bool wants_gradients) const {
    tensors values;
    for (const auto& parameter : parameters_) values.push_back(parameter.detach().requires_grad_(wants_gradients));
    return {sizes_, std::move(values)};
}

at::Tensor decoder::attend(const layer& l, const at::Tensor& x, index_t windows, const rotary& turn) const {
    const at::Tensor projected = at::matmul(rms_norm(x, l.attention_gain), l.qkv.t());
    const tensors qkv = projected.view({windows, -1, 3, sizes_.heads, sizes_.head_dim()}).unbind(2);
    return causal_attention(rotated(qkv[0], turn), rotated(qkv[1], turn), qkv[2], turn).reshape({-1, sizes_.width});
}

at::Tensor decoder::logits(const at::Tensor& inputs, const rotary& turn) const {
    at::Tensor x = at::embedding(embedding_, inputs).view({-1, sizes_.width});
    for (const layer& l : layers_) {
        x = add_linear(x, attend(l, x, inputs.size(0), turn), l.attention_out);
        const at::Tensor gate_up = at::matmul(rms_norm(x, l.mlp_gain), l.gate_up.t());
        x = add_linear(x, swiglu(gate_up), l.down);
    }
    return at::matmul(rms_norm(x, final_gain_), embedding_.t());
}

shared_decoder on_device(const decoder& model, const settings& s) {
    tensors values;
    for (const at::Tensor& parameter : model.parameters()) values.push_back(parameter.to(device_of(s)));
    return std::make_shared<const decoder>(s.model, std::move(values));
}

shared_decoder new_decoder(const settings& s) {
    generator draw = stream(s.seed, 1);
    return on_device(decoder(s.model, draw), s);
}

void save(const decoder& model, const std::filesystem::path& file) {
    std::ofstream out(file, std::ios::binary);
    for (const at::Tensor& on_its_device : model.parameters()) {
        const at::Tensor parameter = on_its_device.cpu();
        out.write(static_cast<const char*>(parameter.data_ptr()), static_cast<std::streamsize>(parameter.nbytes()));
    }
    if (!out.flush()) throw std::runtime_error("demo: cannot write " + file.string());
}

shared_decoder load_decoder(const settings& s, const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    tensors values;
    for (const auto& [shape, deviation] : first_weights(s.model)) {
        values.push_back(at::empty(shape, at::kFloat));
        in.read(static_cast<char*>(values.back().data_ptr()), static_cast<std::streamsize>(values.back().nbytes()));
    }
    if (!in) throw std::runtime_error("demo: cannot read the model in " + file.string());
    return on_device({s.model, std::move(values)}, s);
}

}  // namespace demo
