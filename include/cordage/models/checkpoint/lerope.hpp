// SPDX-License-Identifier: MIT
// The tensors of LeRoPE in a checkpoint: offsets of the basis and temperatures of heads (nlohmann-json).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/models/checkpoint/checkpoint.hpp"
#include "cordage/models/head_temperatures.hpp"
#include "cordage/scaling/lerope.hpp"

namespace cordage {

/// The names of all tensors with offsets of LeRoPE: "lerope.alpha" as released, "...rotary_emb.alpha" as saved by
/// transformers. A model has one.
inline std::vector<std::string> lerope_tensors(const checkpoint& from) {
    std::vector<std::string> found;
    for (const std::string& name : from.names()) {
        if (name == "lerope.alpha" || name.ends_with("rotary_emb.alpha")) found.push_back(name);
    }
    return found;
}

namespace lerope_detail {

/// A tensor [size] of finite numbers.
inline std::vector<double> vector_of(const checkpoint& from, const std::string& name, index_t size) {
    safetensors_numbers found = from.numbers(name);
    if (found.shape.size() != 1 || found.shape[0] != static_cast<std::uint64_t>(size)) {
        std::string shape;
        for (const std::uint64_t axis : found.shape) shape += message(shape.empty() ? "" : ", ", axis);
        fail<shape_error>({"lerope: tensor ", in_quotes(name), " [", shape, "] must have shape [", size, "]"});
    }
    for (std::size_t i = 0; i < found.data.size(); ++i) {
        validate_finite({"lerope: tensor ", in_quotes(name), "[", i, "]"}, found.data[i]);
    }
    return std::move(found.data);
}

}  // namespace lerope_detail

/// The offsets of a checkpoint's LeRoPE.
/// @param pairs  rotary_dim/2 of the config
/// @throws value_error or shape_error  as checkpoint, and naming the tensor: missing, more than one, of another shape,
///                                     or with a number that is not finite or beyond lerope<>::largest_offset
inline std::vector<double> load_lerope(const checkpoint& from, index_t pairs) {
    const std::vector<std::string> names = lerope_tensors(from);
    if (names.size() != 1) {
        fail<value_error>({"lerope: the checkpoint must have one tensor 'lerope.alpha' or '...rotary_emb.alpha', not ",
                           names.size(),
                           names.empty() ? "" : message(", ", in_quotes(names[0]), " and ", in_quotes(names[1]))});
    }
    std::vector<double> offsets = lerope_detail::vector_of(from, names[0], pairs);
    lerope<>::check_offsets(message("lerope: tensor ", in_quotes(names[0])), offsets);
    return offsets;
}

/// The temperatures of a layer's heads: "...layers.N.self_attn.softmax_scaling.scale" and ".bias" as saved by
/// transformers, "layers.N.attention.ssmax_scaling.s" and ".b" as released; with `of_indexer` those of its indexer.
/// @throws value_error or shape_error  as checkpoint, and naming the tensor: missing, more than one (in a checkpoint of
///                                     several models), of another shape, or not finite
inline head_temperatures load_head_temperatures(const checkpoint& from, index_t layer, index_t heads,
                                                bool of_indexer = false) {
    const std::string at = message("layers.", layer, "."), part = of_indexer ? "indexer." : "";
    const std::pair<std::string, std::string> spellings[] = {
        {at + "self_attn." + part + "softmax_scaling.scale", at + "self_attn." + part + "softmax_scaling.bias"},
        {at + "attention." + part + "ssmax_scaling.s", at + "attention." + part + "ssmax_scaling.b"}};
    std::string scale_name, bias_name;
    for (const std::string& name : from.names()) {
        for (const auto& [scale, bias] : spellings) {
            if (!name.ends_with(scale)) continue;
            if (!scale_name.empty()) {
                fail<value_error>({"lerope: the checkpoint must have one tensor '...", scale, "', not ",
                                   in_quotes(scale_name), " and ", in_quotes(name)});
            }
            scale_name = name;
            bias_name = name.substr(0, name.size() - scale.size()) + bias;
        }
    }
    if (scale_name.empty()) {
        fail<value_error>(
            {"lerope: the checkpoint must have a tensor '...", spellings[0].first, "' or '", spellings[1].first, "'"});
    }
    return {lerope_detail::vector_of(from, scale_name, heads), lerope_detail::vector_of(from, bias_name, heads)};
}

}  // namespace cordage
