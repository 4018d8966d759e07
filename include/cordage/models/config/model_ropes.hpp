// SPDX-License-Identifier: MIT
// The rotation described by a model's config.json, as plain values and as text; serves config/read.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "cordage/attention/score_factors.hpp"
#include "cordage/core/config.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/schedule/schedules.hpp"

namespace cordage::hf {

/// The pair layout, if known for the model's family (rotate: half_split, interleaved).
enum class pair_layout { unknown, half_split, interleaved };

/// The layout as text.
inline const char* name_of(pair_layout layout) {
    return layout == pair_layout::half_split    ? "half_split"
           : layout == pair_layout::interleaved ? "interleaved"
                                                : "layout unknown";
}

/// CLEX's own keys, with the released code's defaults. The learned weights are in the checkpoint, not in the config.
struct clex_settings {
    double max_factor = 16.0;   ///< the largest t
    double param_factor = 1.0;  ///< hidden width / rotary_dim
    double time_dt = 0.01;      ///< step of the solver
    std::string act = "tanh";   ///< or "silu"
    bool log_scale = false;     ///< log scaling of the scores

    /// Upper bound on states: steps times pairs, summed over the layers of a model. A state takes 5 doubles, and a
    /// step 2 more: 0.7 to 1 GB in total. A released layer has 100 000 states.
    static constexpr double most_states = 0x1p24;

    /// @throws value_error  if this many layers have more than most_states; `who` begins the message
    void check_states(std::string_view who, index_t pairs, index_t layers = 1) const {
        const double states = (max_factor - 1.0) / time_dt * static_cast<double>(pairs) * static_cast<double>(layers);
        if (states <= most_states) return;
        fail<value_error>({who, ": time_dt ", time_dt, " must be large enough that steps to max_factor ", max_factor,
                           " times pairs ", pairs, layers == 1 ? "" : message(" times layers ", layers),
                           " are at most ", most_states});
    }
};

/// The rule of one layer type, with its three parts also as text.
struct layer_rope {
    std::string layer_type;  ///< as in the config; empty if all layers are alike
    std::string rope_type;   ///< "yarn", "llama3", ...; "none" without rotation
    rope_config config;
    any_policy policy = unscaled{};
    any_schedule schedule = fixed{};  ///< sequence length -> t; a "factor" is fixed{factor}
    pair_layout layout = pair_layout::unknown;
    index_t first_lane = 0;                        ///< first rotated lane in a head of the model
    std::vector<std::uint8_t> axis_of_pair;        ///< M-RoPE: the axis (time, row, column) that rotates each pair, for
                                                   ///< axis_angles; empty for positions of one axis
    bool is_inverse = false;                       ///< rotates by the negative angle: use rotate_inverse
    std::optional<query_temperature> temperature;  ///< multiplies q, rotated or not (Llama 4, Ministral 3)
    bool needs_weights = false;          ///< `policy` lacks what CLEX or LeRoPE has in the weights: hf::with_weights
    bool has_head_temperatures = false;  ///< the weights have head_temperatures for queries, rotated or not
    std::optional<clex_settings> clex;   ///< for rope type "clex"; while needs_weights, `policy` is its drift
    std::string policy_words, schedule_words, attention_words;
    std::string override_words;  ///< values that these layers override; empty if none

    bool rotates() const { return rope_type != "none"; }
};

/// One layer of a model. Its rules are indices into model_ropes::ropes.
struct model_layer {
    std::string type;                 ///< as in the config, or by the code of the model_type; empty: layers are alike
    std::optional<std::size_t> rule;  ///< of q and k, maybe of rope_type "none"; nullopt: no attention, or without q, k
    std::optional<std::size_t> indexer;  ///< of the heads that choose the keys of sparse attention; nullopt: none
};

/// A whole config.
struct model_ropes {
    std::string model_type;           ///< empty if not given
    double max_length = 0.0;          ///< max_position_embeddings; 0 if not given
    std::vector<layer_rope> ropes;    ///< at least one
    std::vector<model_layer> layers;  ///< in order; empty if the config does not tell which layer has which rule
    std::vector<std::string> warnings;

    /// The rule of a layer type, as named in the config or among the rules; the only one if all layers are alike.
    /// @throws value_error naming the model's layer types
    const layer_rope& of(const std::string& layer_type) const {
        const bool is_before_indexer =
            ropes[0].layer_type == layers_alike && ropes.size() == 2 && ropes[1].layer_type == "indexer";
        const bool are_alike = ropes[0].layer_type.empty() || is_before_indexer;
        std::string names;
        for (const layer_rope& rope : ropes) {
            if (rope.layer_type == layer_type) return rope;
            names += (names.empty() ? "" : ", ") + printable(rope.layer_type);
        }
        const auto layer = std::ranges::find(layers, layer_type, &model_layer::type);
        if (layer != layers.end() && layer->rule) return ropes[*layer->rule];
        if (are_alike) return ropes[0];
        fail<value_error>({"model_ropes: layer_type ", in_quotes(layer_type), " must be one of ", names});
    }

    /// The rule of layer 0, 1, ...; of rope_type "none" if the layer does not rotate q and k.
    /// @throws value_error  if there is no such layer, or the config does not tell which rule it has
    const layer_rope& at(index_t layer) const {
        const model_layer* const found = find_layer(layer);
        if (found == nullptr) return ropes[0];
        return found->rule ? ropes[*found->rule] : unrotated_layer();
    }

    /// The second rotation of a layer, that of the indexer of its sparse attention; nullptr if there is none. An
    /// indexer has heads, lanes and a pair layout of its own. Throws as at().
    const layer_rope* indexer_at(index_t layer) const {
        const model_layer* const found = find_layer(layer);
        return found == nullptr || !found->indexer ? nullptr : &ropes[*found->indexer];
    }

    /// layer_type of the rule of all layers beside an indexer's.
    static constexpr const char* layers_alike = "attention";

    /// The rule of a layer without rotation.
    static const layer_rope& unrotated_layer() {
        static const layer_rope none = [] {
            layer_rope rope;
            rope.rope_type = "none";
            rope.policy = proportional{0.0};
            rope.policy_words = "no rotation: the layer has no attention, or one that does not rotate";
            return rope;
        }();
        return none;
    }

 private:
    // nullptr if all layers have the only rule, and their number is not known
    const model_layer* find_layer(index_t layer) const {
        if (layer >= 0 && layer < std::ssize(layers)) return &layers[static_cast<std::size_t>(layer)];
        if (!layers.empty() || layer < 0) {
            fail<value_error>({"model_ropes: layer ", layer, " must be ",
                               layers.empty() ? ">= 0" : message("in 0 ... ", std::ssize(layers) - 1)});
        }
        if (ropes.size() == 1 && ropes[0].layer_type.empty()) return nullptr;
        fail<value_error>({"model_ropes: layer ", layer, ": num_hidden_layers and layer_types must be given in the ",
                           "config, because layers have different rules; or use of(layer_type)"});
    }
};

/// The rule as a few lines of text.
inline std::string describe(const layer_rope& rope) {
    const rope_config& c = rope.config;
    std::string axes;
    const int last_axis = rope.axis_of_pair.empty() ? -1 : *std::ranges::max_element(rope.axis_of_pair);
    for (int axis = 0; axis <= last_axis; ++axis) {
        axes += message(axes.empty() ? "" : ", ", std::ranges::count(rope.axis_of_pair, axis));
    }
    std::string text =
        message(rope.layer_type.empty() ? "all layers" : "layers: " + printable(rope.layer_type), " (", rope.rope_type,
                ")\n  rotation: ", c.rotary_dim, " of ", c.head_dim, " lanes, ", c.pairs(), " pairs, ",
                name_of(rope.layout), ", theta_base ", c.theta_base, ", original length ", c.original_length);
    if (rope.is_inverse) text += "; by the negative angle (rotate_inverse)";
    if (rope.first_lane > 0) text += message("; they begin at lane ", rope.first_lane, " of the model's head");
    if (!rope.override_words.empty()) text += "\n  overridden: " + rope.override_words;
    text += "\n  policy: " + rope.policy_words + "\n  schedule: " + rope.schedule_words +
            "\n  attention factor: " + rope.attention_words;
    if (!axes.empty()) {
        text += message("\n  axes: ", axes, " pairs each, ",
                        std::ranges::is_sorted(rope.axis_of_pair) ? "in blocks" : "interleaved");
    }
    if (rope.temperature) {
        const auto& [block_length, beta, counted_from] = *rope.temperature;
        text += message("\n  query temperature: 1 + ", beta, " ln(1 + floor(",
                        counted_from > 0.0 ? message("(position + ", counted_from, ")") : "position", " / ",
                        block_length, "))");
    }
    if (rope.needs_weights && !rope.clex) {
        text += "\n  learned: frequencies times exp(alpha), a tensor of the weights, not loaded";
    }
    if (rope.has_head_temperatures) {
        text += "\n  query temperature: scale ln(position + 1) + bias for each head, from the weights";
    }
    return text + "\n";
}

/// The rotation that a model's config describes as text, each layer type in turn.
inline std::string describe(const model_ropes& model) {
    std::string text = message("model type ", model.model_type.empty() ? "not given" : printable(model.model_type));
    text += model.max_length > 0.0 ? message(", up to ", model.max_length, " positions\n") : ", of any length\n";
    for (const layer_rope& rope : model.ropes) text += describe(rope);
    for (const std::string& warning : model.warnings) text += "warning: " + warning + "\n";
    return text;
}

}  // namespace cordage::hf
