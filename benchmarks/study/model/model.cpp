// SPDX-License-Identifier: MIT
// The decoder's forward pass, its first weights, and its file.
#include "model/model.hpp"

#include <cmath>
#include <fstream>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>

#include "cordage/positions/sampler.hpp"

namespace demo {
namespace {

using tensors = std::vector<at::Tensor>;

constexpr std::size_t parameters_of_a_layer = 8;

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
        weights.push_back({{s.head_dim()}, 0.0});
        weights.push_back({{s.head_dim()}, 0.0});
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

}  // namespace

decoder::decoder(const model_sizes& sizes, tensors values) : sizes_(sizes), parameters_(std::move(values)) {
    auto next = parameters_.begin();
    embedding_ = *next++;
    for (index_t i = 0; i < sizes.layers; ++i, next += parameters_of_a_layer) {
        layers_.push_back({next[0], next[1], next[2], next[3], next[4], next[5], next[6], next[7]});
    }
    final_gain_ = *next;
    in_bfloat16_ = has_bfloat16_products();
}

std::vector<decoder::matrix> decoder::matrices() const {
    std::vector<matrix> all;
    const auto add = [&](std::size_t parameter, index_t parts) {
        const index_t rows = parameters_[parameter].size(0) / parts;
        for (index_t i = 0; i < parts; ++i) all.push_back({parameter, i * rows, rows});
    };
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        const std::size_t first = 1 + l * parameters_of_a_layer;
        add(first + 1, 3);  // q, k, v
        add(first + 4, 1);
        add(first + 6, 2);  // gate, up
        add(first + 7, 1);
    }
    return all;
}

at::Tensor decoder::attended(const layer& l, const at::Tensor& x, index_t windows, const rotary& rotation) const {
    const at::Tensor projected = linear(rms_norm(x, l.attention_gain), l.qkv, in_bfloat16_);
    const tensors qkv = projected.view({windows, -1, 3, sizes_.heads, sizes_.head_dim()}).unbind(2);
    const query_and_key rotated = normalized_and_rotated({qkv[0], qkv[1]}, {l.q_gain, l.k_gain}, rotation);
    const at::Tensor read = causal_attention(rotated.q, rotated.k, qkv[2], rotation).reshape({-1, sizes_.width});
    return x + linear(read, l.attention_out, in_bfloat16_);
}

at::Tensor decoder::logits(const at::Tensor& inputs, std::span<const rotary> rotations, const at::Tensor& rows) const {
    at::Tensor x = at::embedding(embedding_, inputs).view({-1, sizes_.width});
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const layer& l = layers_[i];
        x = attended(l, x, inputs.size(0), rotations[rotations.size() == 1 ? 0 : i]);
        x = x + linear(swiglu(linear(rms_norm(x, l.mlp_gain), l.gate_up, in_bfloat16_)), l.down, in_bfloat16_);
    }
    return linear(rms_norm(x.index_select(0, rows), final_gain_), embedding_, false);
}

decoder new_decoder(const settings& s) {
    generator draw = stream(s.seed, 1);
    return {s.model, random_values(s.model, draw)};
}

void save(const decoder& model, const std::filesystem::path& file) {
    std::filesystem::path part = file;
    part += ".part";
    std::ofstream out(part, std::ios::binary);
    for (const at::Tensor& parameter : model.parameters()) {
        out.write(static_cast<const char*>(parameter.data_ptr()), static_cast<std::streamsize>(parameter.nbytes()));
    }
    out.close();
    if (!out) throw std::runtime_error("demo: cannot write " + part.string());
    std::filesystem::rename(part, file);
}

shared_decoder load_decoder(const settings& s, const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    tensors values;
    for (const auto& [shape, deviation] : first_weights(s.model)) {
        values.push_back(at::empty(shape, at::kFloat));
        in.read(static_cast<char*>(values.back().data_ptr()), static_cast<std::streamsize>(values.back().nbytes()));
    }
    if (!in) throw std::runtime_error("demo: cannot read the model in " + file.string());
    return std::make_shared<const decoder>(s.model, std::move(values));
}

}  // namespace demo
