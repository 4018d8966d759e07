// SPDX-License-Identifier: MIT
// The type of each layer of a model, from every key of config.json for it or from the model's code; serves config/.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/models/config/family.hpp"
#include "cordage/models/config/json.hpp"

namespace cordage::hf::config_detail {

using namespace json_detail;

/// Upper bounds on layers with their own settings and on layer types; models have up to 5 types.
inline constexpr std::size_t most_layers = std::size_t{1} << 14;
inline constexpr std::size_t most_layer_types = 64;

/// The layer types of family::layer_cycle, and of config keys with a number for each layer.
inline constexpr std::pair<char, std::string_view> layer_letters[] = {{'F', "full_attention"},
                                                                      {'s', "sliding_attention"},
                                                                      {'l', "linear_attention"},
                                                                      {'v', "conv"},
                                                                      {'i', "indexed_attention"},
                                                                      {'C', "compressed_sparse_attention"},
                                                                      {'H', "heavily_compressed_attention"},
                                                                      {'m', "minimax_m3_sparse"}};
inline std::string_view type_of_letter(char letter) {
    return std::ranges::find(layer_letters, letter, &std::pair<char, std::string_view>::first)->second;
}

/// Layer types without q and k to rotate: convolutions, state spaces, linear attention.
inline constexpr std::string_view types_without_rotation[] = {
    "conv", "gated_deltanet", "kda", "linear_attention", "mamba", "mamba2", "mlp", "moe", "recurrent", "ssm"};

/// The present name of a layer type.
inline std::string_view canonical_layer_type(std::string_view type) {
    if (type == "attention") return "full_attention";
    return type == "deepseek_sparse_attention" || type == "qwen_sparse_attention" ? "indexed_attention" : type;
}

/// num_hidden_layers by its names; nullopt if not given, or more than most_layers.
inline std::optional<std::size_t> layer_count(const json_object& config) {
    for (const char* key : {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}) {
        const auto count = config.has(key) ? config.count(key) : std::nullopt;
        if (count && *count > static_cast<index_t>(most_layers)) return std::nullopt;
        if (count) return static_cast<std::size_t>(*count);
    }
    return std::nullopt;
}

/// The letter of each layer by "first^cycle$last" (family::layer_cycle).
/// @param length  of the cycle, whose letter that occurs once keeps its place; 0: as written
inline std::string letters_of_cycle(std::string_view pattern, std::size_t layers, std::size_t length) {
    const bool is_from_end = pattern.starts_with('<');
    if (is_from_end) pattern.remove_prefix(1);
    const std::size_t first_end = pattern.find('^'), last = pattern.find('$');
    const std::string_view first = first_end == pattern.npos ? "" : pattern.substr(0, first_end);
    std::string cycle(pattern.substr(first.empty() ? 0 : first_end + 1));
    if (last != pattern.npos) cycle.resize(cycle.find('$'));
    if (length > 0) {
        const bool is_first = std::ranges::count(cycle, cycle.front()) == 1;
        const char other = is_first ? cycle.back() : cycle.front();
        const char special = is_first ? cycle.front() : cycle.back();
        cycle.assign(length, other);
        (is_first ? cycle.front() : cycle.back()) = special;
    }
    std::string letters(first.substr(0, layers));
    while (letters.size() < layers) letters += cycle[letters.size() % cycle.size()];
    if (is_from_end) std::ranges::reverse(letters);
    if (last != pattern.npos && layers > 0) letters.back() = pattern[last + 1];
    return letters;
}

/// Types of layers by a list of numbers, one for each layer: `letters[number]`; empty if the key is not given.
inline std::string letters_of_list(const json_object& config, const char* key, std::string_view letters) {
    std::string found;
    for (const double number : config.numbers(key).value_or(std::vector<double>{})) {
        if (!(number >= 0.0 && number < static_cast<double>(letters.size())) || number != std::floor(number)) {
            config.refuse({key, " entry ", number, " must be an integer in 0 ... ", letters.size() - 1});
        }
        found += letters[static_cast<std::size_t>(number)];
    }
    return found;
}

/// Types of layers by a list of the layers that have full attention; empty if the key is not given.
inline std::string letters_of_indices(const json_object& config, const char* key, std::size_t layers, char other) {
    const auto chosen = config.numbers(key);
    if (!chosen) return "";
    std::string letters(layers, other);
    for (const double layer : *chosen) {
        if (layer >= 0.0 && layer < static_cast<double>(layers) && layer == std::floor(layer)) {
            letters[static_cast<std::size_t>(layer)] = 'F';
        }
    }
    return letters;
}

/// The letter of each layer, by the keys that a known family's code reads; empty if they are not known.
inline std::string layer_letters_of(const json_object& config, const family& known) {
    if (known.layout == pair_layout::unknown) return "";
    const std::size_t layers = layer_count(config).value_or(0);
    for (const auto& [key, letters] : {std::pair{"hybrid_layer_pattern", "Fs"}, {"attn_type_list", "lF"}}) {
        if (std::string found = letters_of_list(config, key, letters); !found.empty()) return found;
    }
    if (const auto ratios = config.numbers("compress_ratios")) {
        std::string found;
        for (const double ratio : *ratios) {
            if (ratio != 0.0 && ratio != 4.0 && ratio != 128.0) {
                config.refuse({"compress_ratios entry ", ratio, " must be 0, 4 or 128"});
            }
            found += ratio == 0.0 ? 's' : ratio == 4.0 ? 'C' : 'H';
        }
        return found;
    }
    if (const auto windows = config.numbers("attention_windows")) {
        std::string found;
        for (const double window : *windows) found += window == 0.0 ? 'F' : 's';
        return found;
    }
    const json_object sparse = config.part("sparse_attention_config");
    if (auto found = letters_of_list(sparse, "sparse_attention_freq", "Fm"); !found.empty()) return found;
    for (const auto& [key, other] : {std::pair{"full_attn_idxs", 'v'}, {"attn_layer_indices", 'l'}}) {
        if (auto found = letters_of_indices(config, key, layers, other); !found.empty()) return found;
    }
    if (known.layer_cycle.empty()) return "";
    std::size_t length = 0;
    const auto* const given = known.cycle_key.empty() ? nullptr : config.find(known.cycle_key);
    if (given != nullptr && given->is_string()) {  // "LLLG", local and global
        std::string letters, text = given->get<std::string>();
        if (text.empty() || text.find_first_not_of("LG") != text.npos) {
            config.refuse(known.cycle_key, *given, "a number, or letters L and G");
        }
        for (char& letter : text) letter = letter == 'L' ? 's' : 'F';
        return letters_of_cycle(text, layers, 0);
    }
    if (given != nullptr) length = static_cast<std::size_t>(*config.count(known.cycle_key));
    return letters_of_cycle(known.layer_cycle, layers, std::min(length, most_layers));
}

/// The type of each layer; empty if they are not known.
inline std::vector<std::string> layer_types_of(const json_object& config, const family& known) {
    std::vector<std::string> types;
    const auto layers = layer_count(config);
    constexpr std::array keys{"layer_types",     "layers_block_type", "hybrid_layer_pattern", "attn_type_list",
                              "compress_ratios", "attention_windows", "sparse_attention_freq"};
    const auto* const key = *std::find_if(keys.begin(), keys.end() - 1, [&](auto each) { return config.has(each); });
    const auto* const list = config.find(key);
    if (list != nullptr && std::string_view(key).starts_with("layer")) {
        if (!list->is_array()) config.refuse(key, *list, "a list of strings");
        for (const auto& type : *list) {
            if (!type.is_string()) config.refuse(key, type, "a list of strings");
            if (types.size() >= most_layers) {
                config.refuse({key, " must have at most ", most_layers, " layers"});
            }
            types.push_back(type.get<std::string>());
        }
        const auto is_block = [&, i = std::size_t{0}](const auto& type) mutable {
            return (type == "mlp") == (i++ % 2 == 1);
        };
        // Dory: attention and mlp alternate, two blocks a layer
        if (known.does_read("mlp blocks") && types.size() > 1 && std::ranges::all_of(types, is_block)) {
            std::erase(types, "mlp");
            return types;
        }
    } else {
        for (const char letter : layer_letters_of(config, known)) {
            if (types.size() >= most_layers) break;
            types.emplace_back(type_of_letter(letter));
        }
    }
    if (layers && !types.empty() && types.size() < *layers) {
        config.doubt({key, " has ", types.size(), " entries, must have ", *layers, ", one for each layer"});
        return {};
    }
    if (layers && types.size() > *layers) types.resize(*layers);  // more entries are for additional prediction heads
    return types;
}

}  // namespace cordage::hf::config_detail
