// SPDX-License-Identifier: MIT
// Reads the weights of CLEX from checkpoints as released by its authors (nlohmann-json).
#pragma once

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cordage/clex/weights.hpp"
#include "cordage/models/checkpoint/checkpoint.hpp"

namespace cordage {

/// One CLEX layer of a checkpoint.
struct named_clex_weights {
    std::string prefix;            ///< the name of its matrices before "ode_up_proj" and "ode_down_proj"
    std::optional<index_t> layer;  ///< the number in the prefix; none if all layers share one
    clex_weights weights;          ///< for clex_released: both matrices transposed, since those of the file act on rows
};

namespace released_clex_detail {

inline constexpr std::string_view up_name = "ode_up_proj", down_name = "ode_down_proj", owner = "proj_func.";

/// The first part of a dotted name that is an integer: 3 of "model.layers.3.self_attn".
inline std::optional<index_t> layer_in(const std::string& name) {
    std::istringstream parts(name);
    for (std::string part; std::getline(parts, part, '.');) {
        if (const auto number = json_detail::number_in(part)) return *number;
    }
    return std::nullopt;
}

/// [columns, rows] of a matrix [rows, columns].
inline std::vector<double> transposed(const std::string& name, const safetensors_numbers& found, std::uint64_t rows,
                                      std::uint64_t columns) {
    if (found.shape.size() != 2 || found.shape[0] != rows || found.shape[1] != columns) {
        std::string shape;
        for (const std::uint64_t axis : found.shape) shape += message(shape.empty() ? "" : ", ", axis);
        fail<shape_error>(
            {"released_clex: ", in_quotes(name), " [", shape, "] must have shape [", rows, ", ", columns, "]"});
    }
    std::vector<double> out(found.data.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (!is_finite(found.data[i])) {
            fail<value_error>({"released_clex: ", in_quotes(name), "[", i / columns, ", ", i % columns, "] ",
                               found.data[i], " must be finite"});
        }
        out[i % columns * rows + i / columns] = found.data[i];
    }
    return out;
}

inline clex_weights weights_at(const checkpoint& from, const std::string& prefix) {
    const std::string up = prefix + std::string(up_name), down = prefix + std::string(down_name);
    for (const auto& [name, other] : {std::pair{up, down}, std::pair{down, up}}) {
        if (!from.has(name)) {
            fail<value_error>(
                {"released_clex: ", in_quotes(name), " must be in the checkpoint beside ", in_quotes(other)});
        }
    }
    const safetensors_numbers up_found = from.numbers(up);
    if (up_found.shape.size() != 2 || up_found.data.empty()) {
        fail<shape_error>({"released_clex: ", in_quotes(up), " must have shape [pairs, hidden], not empty"});
    }
    const std::uint64_t pairs = up_found.shape[0], hidden = up_found.shape[1];
    return {static_cast<index_t>(hidden), static_cast<index_t>(pairs), transposed(up, up_found, pairs, hidden),
            transposed(down, from.numbers(down), hidden, pairs)};
}

}  // namespace released_clex_detail

/// The names of all CLEX matrices in a checkpoint.
inline std::vector<std::string> released_clex_tensors(const checkpoint& from) {
    using namespace released_clex_detail;
    std::vector<std::string> found;
    for (const std::string& name : from.names()) {
        for (const std::string_view ending : {up_name, down_name}) {
            if (name.ends_with(std::string(owner) + std::string(ending))) found.push_back(name);
        }
    }
    return found;
}

/// The CLEX layers of a checkpoint, by number: matrices "...proj_func.ode_up_proj" [rotary_dim/2, hidden] and
/// "...proj_func.ode_down_proj" [hidden, rotary_dim/2], plain parameters without ".weight", in F32, F16, BF16 or F64.
///
///   const auto layers = load_released_clex("folder of the model");
///   const clex_released<> policy(config, layers[0].weights, released_options(max_factor, time_dt));
///
/// A model whose layers share one field gives one entry, without a number.
/// @throws value_error or shape_error  as checkpoint, and naming the matrix: missing, one without the other, of
///                                     another shape, or not finite
inline std::vector<named_clex_weights> load_released_clex(const checkpoint& from) {
    using namespace released_clex_detail;
    std::vector<named_clex_weights> layers;
    for (const std::string& name : released_clex_tensors(from)) {
        const bool is_up = name.ends_with(up_name);
        const std::string prefix = name.substr(0, name.size() - (is_up ? up_name : down_name).size());
        if (!is_up && from.has(prefix + std::string(up_name))) continue;  // found with its up matrix
        layers.push_back({prefix, layer_in(prefix), weights_at(from, prefix)});
    }
    if (layers.empty()) {
        fail<value_error>({"released_clex: the checkpoint must have tensors ending in 'proj_func.ode_up_proj'"});
    }
    std::ranges::sort(layers, {}, [](const auto& one) { return std::tie(one.layer, one.prefix); });
    return layers;
}
/// As above, for a .safetensors file, an index or a folder.
inline std::vector<named_clex_weights> load_released_clex(const std::filesystem::path& path) {
    return load_released_clex(checkpoint(path));
}

}  // namespace cordage
