// SPDX-License-Identifier: MIT
// Settings for single layers in config.json (per_layer_config, layer_types, lists with a number for each layer).
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/models/config/layer_types.hpp"

namespace cordage::hf::config_detail {

using namespace json_detail;

/// Top-level keys that may differ between layers; all of them change a rotation.
inline const std::vector<std::string>& layer_keys() {
    static const std::vector<std::string> keys = words(
        "attention_head_dim head_dim hidden_size kv_channels max_position_embeddings num_attention_heads "
        "original_max_position_embeddings partial_rotary_factor qk_nope_head_dim qk_rope_head_dim rope_theta "
        "rotary_dim");
    return keys;
}

/// Each layer's type and the top-level keys that it overrides, if they change a rotation.
class per_layer {
 public:
    per_layer(const json_object& config, const family& known)
        : config_(config), counts_back_(known.layer_cycle.starts_with('<')) {
        for (std::string& type : layer_types_of(config, known))
            layer_at(layers_.size(), "layer_types").type = std::move(type);
        read_list("layer_rope_theta", "rope_theta");
        read_list("rope_theta", "rope_theta");
        read_list("partial_rotary_factors", "partial_rotary_factor");
        read_entries();
        read_setting();
        for (layer& each : layers_) {
            const auto theta = each.overrides.find("rope_theta");
            each.rotates = theta == each.overrides.end() || *theta != 0.0;
            if (!each.rotates) each.overrides.erase("rope_theta");
        }
        const std::size_t layers = layer_count(config).value_or(0);
        if (layers_.empty() && layers > 0) layer_at(layers - 1, "num_hidden_layers");
    }

    /// The number of layers; 0 if the config does not tell it.
    std::size_t size() const { return layers_.size(); }
    const std::string& type(std::size_t i) const { return layers_[i].type; }

    /// Which layers are not rotated, [size()]: those with theta_base 0, those with a 0 in no_rope_layers, or every n-th
    /// (Llama 4, SmolLM3), which may be specified only in the model's code. nullopt if all of them are rotated.
    /// @param by_default  without these keys every fourth layer is not rotated
    std::optional<std::vector<bool>> unrotated_layers(bool by_default) const {
        const bool is_by_base = !std::ranges::all_of(layers_, &layer::rotates);
        const auto* const bases = config_.find("layer_rope_theta");
        const bool has_bases = bases != nullptr && bases->is_array();
        const auto rotates = config_.numbers("no_rope_layers");
        const bool is_list = rotates && !rotates->empty();
        const auto given = config_.count("no_rope_layer_interval");
        if ((is_by_base || has_bases) && (is_list || given)) {
            config_.doubt({is_list ? "no_rope_layers" : "no_rope_layer_interval",
                           " must be left out: layer_rope_theta has a base for each layer, 0 where none is rotated"});
        }
        if (!is_by_base && has_bases) return std::nullopt;
        const bool are_some = is_list ? std::ranges::find(*rotates, 0.0) != rotates->end() : given || by_default;
        if (!is_by_base && !are_some) return std::nullopt;
        if (is_list && rotates->size() < layers_.size()) {
            config_.refuse({"no_rope_layers has ", rotates->size(), " numbers, must have ", layers_.size(),
                            ", one for each layer"});
        }
        const auto interval = static_cast<std::size_t>(given.value_or(4));
        std::vector<bool> stays(layers_.size());
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            const std::size_t place = counts_back_ ? layers_.size() - 1 - i : i + 1;
            stays[i] = is_by_base ? !layers_[i].rotates : is_list ? (*rotates)[i] == 0.0 : place % interval == 0;
        }
        return stays;
    }

    /// Whether rotated layers have different overrides.
    bool differ() const {
        const auto first = std::ranges::find(layers_, true, &layer::rotates);
        return std::any_of(first, layers_.end(),
                           [&](const layer& each) { return each.rotates && each.overrides != first->overrides; });
    }

    /// The types of rotated layers, each once.
    std::vector<std::string_view> types() const {
        std::vector<std::string_view> found;
        for (const layer& each : layers_) {
            if (!each.rotates || is_in(found, each.type)) continue;
            found.push_back(each.type);
            if (found.size() > most_layer_types) {
                config_.refuse({"layer_types must have at most ", most_layer_types, " types"});
            }
        }
        return found;
    }

    /// Whether a layer of this type is rotated, or there is no such layer.
    bool rotates(std::string_view type) const {
        return std::ranges::find(layers_, type, &layer::type) == layers_.end() || has(type, true);
    }

    /// The overrides shared by all layers of this type that are rotated (or are not), and the number of these layers;
    /// of all types if there is none of this name.
    /// @throws value_error  if their overrides differ
    std::pair<nlohmann::json, std::size_t> overrides_of(std::string_view type, bool rotated) const {
        const bool by_type = has(type, rotated);
        const layer* first = nullptr;
        std::size_t count = 0;
        for (const layer& each : layers_) {
            if (each.rotates != rotated || (by_type && each.type != type)) continue;
            if (first == nullptr) first = &each;
            if (each.overrides != first->overrides) refuse(*first, each);
            ++count;
        }
        return {first == nullptr ? nlohmann::json::object() : first->overrides, count};
    }

 private:
    struct layer {
        std::string type;
        nlohmann::json overrides = nlohmann::json::object();
        bool rotates = true;
    };

    bool has(std::string_view type, bool rotated) const {
        return std::ranges::any_of(layers_, [&](const layer& l) { return l.type == type && l.rotates == rotated; });
    }

    layer& layer_at(std::size_t index, std::string_view key) {
        if (index >= most_layers) config_.refuse({key, " must have at most ", most_layers, " layers"});
        if (index >= layers_.size()) layers_.resize(index + 1);
        return layers_[index];
    }

    /// A list with one number for each layer; a single number is for all layers.
    void read_list(const char* key, const char* overridden) {
        const auto* list = config_.find(key);
        if (list == nullptr || !list->is_array()) return;
        const std::vector<double> numbers = *config_.numbers(key);
        if (numbers.size() < layers_.size()) {
            config_.refuse(
                {key, " has ", numbers.size(), " numbers, must have ", layers_.size(), ", one for each layer"});
        }
        const std::size_t count = layers_.empty() ? numbers.size() : layers_.size();
        for (std::size_t i = 0; i < count; ++i) {
            nlohmann::json& value = layer_at(i, key).overrides[overridden];
            if (value.is_null()) value = numbers[i];
            if (value != numbers[i]) {
                config_.doubt({key, " ", numbers[i], " of layer ", i, " must equal ", json_object::shown(value),
                               ", the value of this layer elsewhere in the config"});
            }
        }
    }

    /// {"5": {"head_dim": 512}, ...}
    void read_entries() {
        const auto* entries = config_.find("per_layer_config");
        if (entries == nullptr) return;
        const json_object all = config_.other(*entries, "per_layer_config");
        if (layers_.empty() && !entries->empty() && config_.has("num_hidden_layers")) {
            layer_at(static_cast<std::size_t>(*config_.count("num_hidden_layers")) - 1, "num_hidden_layers");
        }
        const std::size_t known = layers_.size();
        std::vector<bool> seen(most_layers);
        for (const auto& [name, entry] : entries->items()) {
            const auto index = number_in(name);
            if (!index || (known > 0 && *index >= known)) {
                all.refuse({"key ", in_quotes(name), " must be the index of a layer"});
            }
            layer& one = layer_at(*index, all.where());
            if (seen[*index]) all.refuse({"layer ", *index, " must occur once"});
            seen[*index] = true;
            const json_object own = all.other(entry, all.where() + "." + name);
            for (const char* key : {"rope_parameters", "rope_scaling"}) {
                if (own.has(key)) own.doubt({key, " must be given by layer type instead"});
            }
            override_by(own, one);
        }
    }

    /// Step 3.5: settings of the layers of one type.
    void read_setting() {
        const auto* found = config_.find("attention_other_setting");
        if (found == nullptr) return;
        const json_object setting = config_.other(*found, "attention_other_setting");
        const std::string type = setting.text("attention_type").value_or("sliding_attention");
        layer nobody;
        override_by(setting, nobody);
        if (!nobody.overrides.empty() && std::ranges::find(layers_, type, &layer::type) == layers_.end()) {
            config_.refuse({"layer_types must have the type ", in_quotes(type), " of ", setting.where()});
        }
        for (layer& each : layers_) {
            if (each.type == type) override_by(setting, each);
        }
    }

    /// Adds the keys that change a rotation and differ from the config's own.
    void override_by(const json_object& entry, layer& one) {
        for (const std::string& key : layer_keys()) {
            const auto *value = entry.find(key), *own = config_.find(key);
            if (value == nullptr || (own != nullptr && *own == *value)) continue;
            if (!value->is_number()) entry.refuse(key, *value, "a number");  // it is copied into every layer
            one.overrides[key] = *value;
        }
    }

    [[noreturn]] void refuse(const layer& a, const layer& b) const {
        const auto value = [](const layer& each, const std::string& key) {
            return each.overrides.contains(key) ? json_object::shown(each.overrides[key]) : "none";
        };
        std::string key;
        for (const std::string& each : layer_keys()) {
            if (value(a, each) != value(b, each)) key = each;
        }
        config_.refuse({key, " of layers ", &a - layers_.data(), " and ", &b - layers_.data(), ": overrides ",
                        value(a, key), " and ", value(b, key),
                        " must be equal, or the layers must have different layer_types"});
    }

    json_object config_;
    bool counts_back_;  // every n-th layer, counted from the last one
    std::vector<layer> layers_;
};

}  // namespace cordage::hf::config_detail
