// SPDX-License-Identifier: MIT
// What a config.json says layer by layer (per_layer_config, layer_types, lists of one number a layer); serves config/.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/config/keys.hpp"

namespace cordage::hf::config_detail {

/// The most layers of which a config may say something each, and the most layer types; models have up to 5.
inline constexpr std::size_t most_layers = std::size_t{1} << 14;
inline constexpr std::size_t most_layer_types = 64;

/// Each layer's type and what it overrides of the config's top level, as far as it changes a rotation.
class per_layer {
 public:
    per_layer(const json_object& config, doubtful_settings& doubts) : config_(config) {
        if (const auto* types = layer_types()) {
            for (const auto& type : *types) {
                if (!type.is_string()) config.refuse("layer_types", type, "a list of texts");
                layer_at(layers_.size(), "layer_types").type = type.get<std::string>();
            }
        }
        if (!layers_.empty()) {  // the list may go on, for further heads
            const auto count = static_cast<std::size_t>(config.count("num_hidden_layers").value_or(most_layers));
            layers_.resize(std::min(layers_.size(), count));
        }
        read_list("layer_rope_theta", "rope_theta", doubts);
        read_list("rope_theta", "rope_theta", doubts);
        read_list("partial_rotary_factors", "partial_rotary_factor", doubts);
        if (const auto* entries = config.find("per_layer_config")) read_entries(*entries, doubts);
        if (const auto* other = config.find("attention_other_setting")) read_setting(*other);
        for (layer& each : layers_) {
            const auto theta = each.overrides.find("rope_theta");
            each.turns = theta == each.overrides.end() || *theta != 0.0;
            if (!each.turns) each.overrides.erase("rope_theta");
        }
    }

    /// Whether some layers have a base of 0, which is to say that they do not turn.
    bool has_layers_at_rest() const { return !std::ranges::all_of(layers_, &layer::turns); }

    /// Whether layers that turn override different things.
    bool differ() const {
        const auto first = std::ranges::find(layers_, true, &layer::turns);
        return !std::all_of(first, layers_.end(),
                            [&](const layer& each) { return !each.turns || each.overrides == first->overrides; });
    }

    /// The types of the layers that turn, each once.
    std::vector<std::string_view> types() const {
        std::vector<std::string_view> found;
        for (const layer& each : layers_) {
            if (!each.turns || is_in(found, each.type)) continue;
            found.push_back(each.type);
            if (found.size() > most_layer_types) {
                fail<value_error>({config_.where(), ": layer_types must have at most ", most_layer_types, " types"});
            }
        }
        return found;
    }

    bool turns(std::string_view type) const {
        const auto of_type = [&](const layer& each) { return each.type == type; };
        return std::ranges::none_of(layers_, of_type) ||
               std::ranges::any_of(layers_, [&](const layer& each) { return of_type(each) && each.turns; });
    }

    /// What all layers of this type that turn (or all that do not) override, and how many they are; of all types if
    /// there is none of this name.
    /// @throws value_error  if they override different things
    std::pair<nlohmann::json, std::size_t> overrides_of(std::string_view type, bool turning) const {
        const bool by_type =
            std::ranges::any_of(layers_, [&](const layer& each) { return each.type == type && each.turns == turning; });
        const layer* first = nullptr;
        std::size_t count = 0;
        for (const layer& each : layers_) {
            if (each.turns != turning || (by_type && each.type != type)) continue;
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
        bool turns = true;
    };

    const nlohmann::json* layer_types() const {
        for (const char* key : {"layer_types", "layers_block_type"}) {
            const auto* types = config_.find(key);
            if (types != nullptr && !types->is_array()) config_.refuse(key, *types, "a list of texts");
            if (types != nullptr) return types;
        }
        return nullptr;
    }

    layer& layer_at(std::size_t index, std::string_view key) {
        if (index >= most_layers) {
            fail<value_error>({config_.where(), ": ", key, " must be of at most ", most_layers, " layers"});
        }
        if (index >= layers_.size()) layers_.resize(index + 1);
        return layers_[index];
    }

    /// A list of one number a layer; a number there is of all layers.
    void read_list(const char* key, const char* overridden, doubtful_settings& doubts) {
        const auto* list = config_.find(key);
        if (list == nullptr || !list->is_array()) return;
        const std::vector<double> numbers = *config_.numbers(key);
        if (numbers.size() < layers_.size()) {
            fail<value_error>({config_.where(), ": ", key, " of ", numbers.size(), " numbers must be of ",
                               layers_.size(), ", one a layer"});
        }
        const std::size_t count = layers_.empty() ? numbers.size() : layers_.size();
        for (std::size_t i = 0; i < count; ++i) {
            nlohmann::json& value = layer_at(i, key).overrides[overridden];
            if (value.is_null()) value = numbers[i];
            if (value != numbers[i]) {
                doubts.add(message(config_.where(), ": ", key, " ", numbers[i], " of layer ", i, " must equal ",
                                   json_object::shown(value), ", said of it elsewhere"));
            }
        }
    }

    /// Step 3.5: what the layers of one type have.
    void read_setting(const nlohmann::json& entry) {
        const json_object setting(entry, "attention_other_setting");
        const std::string type = setting.text("attention_type").value_or("sliding_attention");
        layer nobody;
        override_by(nobody, entry);
        if (!nobody.overrides.empty() && std::ranges::find(layers_, type, &layer::type) == layers_.end()) {
            fail<value_error>(
                {config_.where(), ": layer_types must have the type ", in_quotes(type), " of ", setting.where()});
        }
        for (layer& each : layers_) {
            if (each.type == type) override_by(each, entry);
        }
    }

    void read_entries(const nlohmann::json& entries, doubtful_settings& doubts) {
        const json_object all(entries, "per_layer_config");
        if (layers_.empty() && !entries.empty() && config_.has("num_hidden_layers")) {
            layer_at(static_cast<std::size_t>(*config_.count("num_hidden_layers")) - 1, "num_hidden_layers");
        }
        const std::size_t known = layers_.size();
        std::vector<bool> seen(most_layers);
        for (const auto& [name, entry] : entries.items()) {
            std::size_t index = 0;
            const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), index);
            if (problem != std::errc{} || end != name.data() + name.size() || (known > 0 && index >= known)) {
                fail<value_error>({all.where(), ": key ", in_quotes(name), " must be the number of a layer"});
            }
            layer& one = layer_at(index, all.where());
            if (seen[index]) fail<value_error>({all.where(), ": layer ", index, " must occur once"});
            seen[index] = true;
            const json_object own(entry, all.where() + "." + name);
            for (const char* key : {"rope_parameters", "rope_scaling"}) {
                if (own.has(key)) doubts.add(message(own.where(), ": ", key, " must be given by layer type instead"));
            }
            override_by(one, entry);
        }
    }

    /// Takes over the keys that change a rotation and differ from the config's own.
    void override_by(layer& one, const nlohmann::json& entry) {
        for (const std::string_view key : layer_keys) {
            const auto found = entry.find(std::string(key));
            if (found == entry.end() || found->is_null()) continue;
            const auto* own = config_.find(key);
            if (own == nullptr || *own != *found) one.overrides[std::string(key)] = *found;
        }
    }

    [[noreturn]] void refuse(const layer& a, const layer& b) const {
        const auto index_of = [&](const layer& each) { return &each - layers_.data(); };
        const auto value = [](const layer& each, const std::string& key) {
            return each.overrides.contains(key) ? json_object::shown(each.overrides[key]) : std::string("nothing");
        };
        std::string key;
        for (const std::string_view each : layer_keys) {
            const std::string name(each);
            if (value(a, name) != value(b, name)) key = name;
        }
        fail<value_error>({config_.where(), ": ", key, " of layers ", index_of(a), " and ", index_of(b), ", ",
                           value(a, key), " and ", value(b, key), " of their own, must be equal, or layer_types tell ",
                           "them apart"});
    }

    json_object config_;
    std::vector<layer> layers_;
};

}  // namespace cordage::hf::config_detail
