// SPDX-License-Identifier: MIT
// The rotation of a model from the metadata of a GGUF file, as llama.cpp reads it; serves checkpoint/read_model.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/models/checkpoint/gguf.hpp"
#include "cordage/models/checkpoint/gguf_architectures.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/positions/sections.hpp"

namespace cordage::hf {
namespace gguf_detail {

class reader {
 public:
    reader(const gguf_file& file, const read_options& options, model_ropes& out)
        : file_(file), options_(options), out_(out) {
        const auto found = file.texts().find("general.architecture");
        if (found == file.texts().end()) refuse({"general.architecture must be given"});
        architecture_ = found->second;
        if (architecture_ != printable(architecture_)) {
            refuse(
                {"general.architecture ", in_quotes(architecture_), " must be a short name of printable characters"});
        }
        out.model_type = architecture_;
        is_scaled_ = architecture_ != "deepseek2-ocr";  // which rotates whole heads without scaling
        const bool has_alibi = architecture_ == "baichuan" && number("block_count") != 32.0;  // that is the 7B
        if (has_alibi || names_it(unrotated, architecture_)) {
            refuse({"architecture ", in_quotes(architecture_),
                    " has no rotary embedding; only models that rotate q and k can be read"});
        }
        if (names_it(with_own_rules, architecture_)) {
            refuse({"architecture ", in_quotes(architecture_), " has rules of its own, which are not supported"});
        }
        kind_ = entry_of(architectures, architecture_);
        if (kind_ == nullptr) {
            doubt({"architecture ", in_quotes(architecture_),
                   " must be a known one: which lanes form a pair, and which layers are rotated, are in its code"});
        }
        check_keys();
        max_length_ = number("context_length").value_or(0.0);
        validate_number({file_.who(), ": ", key("context_length")}, max_length_, max_length_ >= 0.0, {">= 0"});
        out.max_length = max_length_;
    }

    void read() {
        const auto* const own = entry_of(layers_of, architecture_);
        const auto count = index("block_count");
        if (count.value_or(0) > most_layers) refuse({"block_count ", *count, " must be at most ", most_layers});
        const bool has_window = architecture_ == "exaone4" ? count == 64  // the 32B
                                                           : number("attention.sliding_window").value_or(0.0) > 0.0;
        const bool differ = own != nullptr && (has_window || !own->needs_window);
        if (!differ && own == nullptr) {
            for (const char* name : {"rope.freq_base_swa", "rope.dimension_count_swa", "attention.key_length_swa"}) {
                if (number(name)) doubt({key(name), " must be left out: not read for ", in_quotes(architecture_)});
            }
        }
        const auto layers = static_cast<std::size_t>(count.value_or(0));
        trunk_ = layers - std::min(layers, some_layers("nextn_predict_layers"));
        if (!differ) {
            const bool is_off =
                names_it(rotated_if_finetuned, architecture_) && number("rope.scaling.finetuned") == 0.0;
            out_.ropes.push_back(rule("", false, !is_off));
            const bool has_indexer = add_indexer();
            for (std::size_t i = 0; i < layers; ++i) {
                add_layer({"", 0, has_indexer && chooses_keys(i) ? std::optional<std::size_t>(1) : std::nullopt}, i);
            }
            return;
        }
        if (!count) refuse({key("block_count"), " must be given"});
        const std::vector<double> slides = sliding_layers(*own, layers);
        const std::size_t dense = some_layers("leading_dense_block_count");
        const bool is_by_index = own->rotated == different_layers::three_of_four;
        const bool rotates_all = own->rotated == different_layers::all ||
                                 (architecture_ == "llama4" && number("attention.sliding_window") == 0.0);
        for (std::size_t i = 0; i < layers; ++i) {
            const bool is_sliding = slides[i] != 0.0;
            const bool is_forced = architecture_ == "cohere2moe" && (i < dense || i >= trunk_);
            const bool rotates =
                rotates_all || is_forced || (is_by_index ? (own->full_is_first ? i : i + 1) % 4 != 0 : is_sliding);
            const char* const type = !is_by_index ? (is_sliding ? "sliding_attention" : "full_attention")
                                     : rotates    ? "rope"
                                                  : "no_rope";
            const bool has_other_base = is_by_index && rotates && !is_sliding && number("rope.freq_base_swa");
            const char* const name = is_forced && !is_sliding ? "dense_full_attention"  // of Cohere 2 MoE
                                     : has_other_base         ? "full_attention"
                                                              : type;
            auto found = std::ranges::find(out_.ropes, name, &layer_rope::layer_type);
            if (found == out_.ropes.end()) {
                out_.ropes.push_back(rule(name, is_sliding, rotates));
                found = out_.ropes.end() - 1;
            }
            add_layer({type, static_cast<std::size_t>(found - out_.ropes.begin()), {}}, i);
        }
    }

 private:
    static constexpr index_t most_layers = 4096;
    static constexpr double unknown_length = 0x1p53;

    [[noreturn]] void refuse(std::initializer_list<message_part> why) const {
        fail<value_error>({file_.who(), ": ", joined(why)});
    }
    void doubt(std::initializer_list<message_part> why) const {
        if (!options_.lenient || out_.warnings.size() >= json_detail::most_warnings) refuse(why);
        out_.warnings.push_back(file_.who() + ": " + joined(why));
    }
    std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }
    std::optional<double> number(std::string_view name) const { return file_.number(key(name)); }
    std::optional<index_t> index(std::string_view name) const { return file_.count(key(name)); }
    const std::vector<double>* entries(std::string_view name) const { return file_.entries(key(name)); }
    // The number for a layer, of a list or one number for all.
    std::optional<double> entry(std::string_view name, std::size_t layer) const {
        const auto* const all = entries(name);
        const std::size_t at = all != nullptr && all->size() == 1 ? 0 : layer;
        return all != nullptr && at < all->size() ? std::optional((*all)[at]) : std::nullopt;
    }
    // A number of layers, 0 if it is not given.
    std::size_t some_layers(std::string_view name) const {
        return number(name).value_or(0.0) == 0.0 ? 0 : static_cast<std::size_t>(*index(name));
    }

    void check_keys() const {
        const std::string prefix = architecture_ + ".rope.";
        const auto check = [&](const std::string& name) {
            if (!name.starts_with(prefix)) return;
            const std::string_view own = std::string_view(name).substr(prefix.size());
            if (!json_detail::is_in(rope_keys, own)) {
                doubt({"key ", in_quotes(name), " must be a known key", json_detail::nearest_known(own, rope_keys)});
            }
        };
        for (const auto& [name, values] : file_.numbers()) check(name);
        for (const auto& [name, value] : file_.texts()) check(name);
        // As llama.cpp, which has the defaults for every architecture but those that read these keys.
        const std::pair<const char*, double> defaults[] = {{"rope.scaling.yarn_ext_factor", 1.0},
                                                           {"rope.scaling.yarn_attn_factor", 1.0}};
        for (const auto& [name, value] : defaults) not_read_unless(name, value);
        if (names_it(without_sliding_base, architecture_)) {
            not_read_unless("rope.freq_base_swa", number("rope.freq_base").value_or(1e4));
        }
        if (architecture_ != "mistral3") {
            not_read_unless("rope.scaling.yarn_beta_fast", 32.0);
            not_read_unless("rope.scaling.yarn_beta_slow", 1.0);
        }
        if (!names_it(reads_log_multiplier, architecture_)) not_read_unless("rope.scaling.yarn_log_multiplier", 0.0);
        if (architecture_ != "hunyuan_vl") not_read_unless("rope.scaling.alpha", 0.0);
        if (is_scaled_) return;
        for (const char* name : {"rope.scaling.factor", "rope.scale_linear", "rope.scaling.attn_factor"}) {
            not_read_unless(name, 1.0);
        }
        not_read_unless("rope.freq_base", 1e4);
    }
    void not_read_unless(const char* name, double value) const {
        const auto given = number(name);
        if (given && *given != value) {
            doubt({key(name), " ", *given, " must be ", value, ": llama.cpp does not read it for ",
                   in_quotes(architecture_)});
        }
    }

    // For each layer 1 if it slides; those that predict further tokens do not, unless a list says so.
    std::vector<double> sliding_layers(const different_layers& own, std::size_t count) const {
        const auto* const found = entries("attention.sliding_window_pattern");
        const bool is_list = found != nullptr && found->size() > 1;
        if (is_list || (own.period == 0 && count > 0)) {
            if (!is_list || found->size() < trunk_) {
                refuse(
                    {key("attention.sliding_window_pattern"), " must have an entry for each of ", trunk_, " layers"});
            }
            std::vector<double> slides = *found;
            slides.resize(count);
            return slides;
        }
        const double given = number("attention.sliding_window_pattern").value_or(static_cast<double>(own.period));
        const auto period =
            given > 0.0 ? static_cast<std::size_t>(std::min(given, 4096.0)) : std::size_t{0};  // not NaN
        std::vector<double> slides(count, 0.0);
        for (std::size_t i = 0; i < trunk_; ++i) {
            const bool is_sliding = period == 0 || (own.full_is_first ? i % period != 0 : i % period + 1 < period);
            slides[i] = is_sliding ? 1.0 : 0.0;
        }
        return slides;
    }

    // The rule of the indexers, beside that of all layers; false if there are none.
    bool add_indexer() {
        const auto* const kind = entry_of(indexers_of, architecture_);
        const auto head = index("attention.indexer.key_length");
        if (head && kind == nullptr) {
            doubt({key("attention.indexer.key_length"), " must be left out: the indexer's rotation is not known for ",
                   in_quotes(architecture_)});
        }
        if (!head || kind == nullptr) return false;
        layer_rope& all = out_.ropes.front();
        layer_rope rope = all;
        all.layer_type = model_ropes::layers_alike;
        rope.layer_type = "indexer";
        rope.layout = kind->layout;
        rope.first_lane = kind->are_last ? *head - rope.config.rotary_dim : 0;
        if (!kind->are_last) rope.config.head_dim = *head;
        if (rope.config.rotary_dim > *head) {
            refuse({key("attention.indexer.key_length"), " ", *head, " must be at least rope.dimension_count ",
                    rope.config.rotary_dim});
        }
        out_.ropes.push_back(std::move(rope));
        return true;
    }
    // Whether a layer has an indexer of its own; GLM 5.2's, without a list, have one in four.
    bool chooses_keys(std::size_t i) const {
        if (const auto type = entry("attention.indexer.types", i)) return *type != 0.0;
        if (architecture_ == "minimax-m3") return i >= some_layers("leading_dense_block_count");
        if (architecture_ == "qwen4exp") return entry("attention.compress_ratios", i).value_or(0.0) > 0.0;
        return architecture_ != "glm-dsa" || max_length_ < 1048576.0 || i < 2 || i % 4 == 2;
    }
    // A layer; without a rule if it has no keys (recurrent layers).
    void add_layer(model_layer layer, std::size_t i) const {
        if (is_recurrent(i) || entry("attention.head_count_kv", i) == 0.0) {
            layer.rule.reset();
            layer.indexer.reset();
        }
        out_.layers.push_back(std::move(layer));
    }
    bool is_recurrent(std::size_t i) const {
        const auto* const own = entry_of(recurrent_of, architecture_);
        if (own == nullptr) return false;
        if (const auto given = entry("attention.recurrent_layers", i)) return *given != 0.0;
        if (entries("attention.recurrent_layers") != nullptr) {
            refuse({key("attention.recurrent_layers"), " must have an entry for each layer, and has none for ", i});
        }
        const auto interval = static_cast<std::size_t>(index("full_attention_interval").value_or(own->interval));
        return i < trunk_ && (i + 1) % interval != 0;
    }

    // n_rot lanes of a head, and where they begin.
    void set_lanes(bool is_sliding, layer_rope& rope) const {
        const auto heads = index("attention.head_count"), width = index("embedding_length");
        auto head = index("attention.key_length");
        if (!head && heads && width) head = *width / *heads;
        if (names_it(latent, architecture_)) {
            if (const auto whole = index("attention.key_length_mla")) head = whole;
        }
        if (is_sliding && index("attention.key_length_swa")) head = index("attention.key_length_swa");
        if (!head || *head < 2) {
            refuse({key("attention.key_length"), ", or embedding_length and attention.head_count, must be given"});
        }
        auto lanes = is_scaled_ ? index("rope.dimension_count") : head;
        if (is_sliding && index("rope.dimension_count_swa")) lanes = index("rope.dimension_count_swa");
        rope.config.rotary_dim = lanes.value_or(*head);
        rope.config.head_dim = *head;
        if (names_it(latent, architecture_) && rope.config.rotary_dim < *head) {
            rope.first_lane = *head - rope.config.rotary_dim;
            rope.config.head_dim = rope.config.rotary_dim;
        }
    }

    void set_axes(layer_rope& rope) const {
        const auto* const found = entries("rope.dimension_sections");
        if (found == nullptr) return;
        std::vector<index_t> sections;
        index_t sum = 0;
        for (const double each : *found) {
            if (!(each >= 0.0 && each <= 0x1p20) || each != std::floor(each)) {
                refuse({key("rope.dimension_sections"), " entry ", each, " must be an integer in 0 ... 2^20"});
            }
            sections.push_back(static_cast<index_t>(each));
            sum += sections.back();
        }
        while (!sections.empty() && sections.back() == 0) sections.pop_back();
        const bool has_axes = sections.size() > 1 && sections[0] > 0 && sections[1] > 0;
        if (sections.empty() || (names_it(may_have_sections, architecture_) && !has_axes)) return;
        if (kind_ == nullptr || kind_->sections == rotated_architectures::text) {
            doubt({key("rope.dimension_sections"), " must be left out: not read for ", in_quotes(architecture_)});
            return;
        }
        if (sum != rope.config.pairs()) {
            refuse({key("rope.dimension_sections"), " must sum to rope.dimension_count / 2 = ", rope.config.pairs()});
        }
        try {
            // Pairs of no section are rotated by the first position, as in the models' code; ggml takes the fourth.
            rope.axis_of_pair = kind_->sections == rotated_architectures::in_turn ? interleaved_axes(sections)
                                                                                  : contiguous_axes(sections);
        } catch (const value_error& why) {
            refuse({key("rope.dimension_sections"), ": ", why.what()});
        }
        rope.layout = pair_layout::half_split;  // as all of ggml's M-RoPE
    }

    // The numbers that divide frequencies, one for each pair; empty if there is no such tensor.
    std::vector<double> factors(const char* name, const layer_rope& rope) const {
        if (!file_.tensors().contains(name)) return {};
        const auto& shape = file_.tensor(name).shape;
        if (shape.size() != 1 || shape[0] != rope.config.pairs()) {
            refuse({"tensor ", in_quotes(name), " must have ", rope.config.pairs(), " numbers"});
        }
        return file_.values(name);
    }

    layer_rope rule(const std::string& layer_type, bool is_sliding, bool rotates) const {
        const auto* const own = entry_of(layers_of, architecture_);
        layer_rope rope;
        rope.layer_type = layer_type;
        rope.layout = kind_ == nullptr ? pair_layout::unknown : kind_->layout;
        rope.rope_type = rotates ? "default" : "none";
        set_lanes(is_sliding, rope);
        const double base = number("rope.freq_base").value_or(1e4);
        const double sliding_base = own != nullptr && own->sliding_base > 0.0 ? own->sliding_base : base;
        const bool reads_base = is_sliding && !names_it(without_sliding_base, architecture_);
        rope.config.theta_base = reads_base ? number("rope.freq_base_swa").value_or(sliding_base) : base;
        if (const double alpha = number("rope.scaling.alpha").value_or(0.0);
            alpha > 0.0 && architecture_ == "hunyuan_vl") {
            const auto d = static_cast<double>(rope.config.rotary_dim);
            rope.config.theta_base *= std::pow(alpha, d / (d - 2.0));
        }
        const double context = max_length_ > 0.0 ? max_length_ : unknown_length;
        const double original = number("rope.scaling.original_context_length").value_or(0.0);
        rope.config.original_length = original == 0.0 ? context : original;
        cordage::validate(rope.config);
        rope.policy_words = "none, alpha = 1: the basis the model was trained with";
        rope.schedule_words = "t = 1 at every length";
        rope.attention_words = "1";
        set_temperature(rotates, rope);
        if (!rotates) {
            rope.policy = proportional{0.0};
            rope.policy_words = "no rotation (NoPE)";
            return rope;
        }
        set_axes(rope);
        if (is_scaled_ && (!is_sliding || own == nullptr || own->sliding_is_scaled)) set_scaling(rope);
        validate(rope.policy, rope.config);
        return rope;
    }

    // Of queries: Llama 4's on the layers that are not rotated, Ministral 3's by its key.
    void set_temperature(bool rotates, layer_rope& rope) const {
        if (architecture_ == "llama4" && !rotates) rope.temperature = llama4_temperature();
        const double beta = number("attention.temperature_scale").value_or(0.0);
        const bool is_latent = architecture_ == "deepseek2" || architecture_ == "mistral4";
        if (beta == 0.0 || (!is_latent && architecture_ != "mistral3")) return;
        const auto length = is_latent ? number("attention.temperature_length") : std::nullopt;
        rope.temperature = query_temperature{length.value_or(rope.config.original_length), beta};
        rope.temperature->validate();
    }

    // The policy of t = rope.scaling.factor, and the tensors of factors.
    void set_scaling(layer_rope& rope) const {
        const auto given = file_.texts().find(key("rope.scaling.type"));
        const std::string type = given == file_.texts().end() ? "linear" : given->second;
        constexpr std::string_view types[] = {"none", "linear", "yarn", "longrope"};
        if (!json_detail::is_in(types, type)) {
            refuse({key("rope.scaling.type"), " ", in_quotes(type), " must be none, linear, yarn or longrope"});
        }
        double t = number("rope.scaling.factor").value_or(number("rope.scale_linear").value_or(1.0));
        if (t == 0.0 || type == "none") t = 1.0;
        if (!(t >= 1.0)) refuse({key("rope.scaling.factor"), " ", t, " must be >= 1"});
        double attention = number("rope.scaling.attn_factor").value_or(1.0);
        rope.schedule = fixed{t};
        rope.schedule_words = message("t = ", t, " at every length");
        if (type == "yarn") {
            if (rope.config.original_length == unknown_length) {
                refuse({key("context_length"), " must be given for rope.scaling.type yarn"});
            }
            const double all = number("rope.scaling.yarn_log_multiplier").value_or(0.0) /
                               (architecture_.starts_with("deepseek") || architecture_ == "mistral4" ? 0.1 : 1.0);
            const bool has_ratio = names_it(reads_log_multiplier, architecture_) && all != 0.0;
            yarn policy;
            policy.beta_fast = number("rope.scaling.yarn_beta_fast").value_or(policy.beta_fast);
            policy.beta_slow = number("rope.scaling.yarn_beta_slow").value_or(policy.beta_slow);
            if (has_ratio) policy.mscale_all_dim = all, policy.mscale = architecture_ == "deepseek2" ? all : 1.0;
            validate(policy, rope.config);
            attention *= policy.attention_factor(rope.config, t);
            policy.given_attention_factor = attention;
            rope.rope_type = "yarn";
            rope.policy = policy;
            rope.policy_words = message("YaRN (beta_fast ", policy.beta_fast, ", beta_slow ", policy.beta_slow, ")");
        } else if (t > 1.0) {
            rope.rope_type = "linear";
            rope.policy = linear{};
            rope.policy_words = "linear (position interpolation), alpha = 1/t";
        }
        rope.attention_words = message(attention);
        set_factors(t, attention, rope);
    }

    // Frequencies are divided by rope_freqs, or by rope_factors_short and, beyond the original length, _long.
    void set_factors(double t, double attention, layer_rope& rope) const {
        const std::vector<double> all = factors("rope_freqs.weight", rope);
        std::vector<double> first = all.empty() ? factors("rope_factors_short.weight", rope) : all;
        std::vector<double> last = all.empty() ? factors("rope_factors_long.weight", rope) : all;
        if (first.empty() != last.empty()) refuse({"rope_factors_short and rope_factors_long must be given together"});
        if (first.empty() && (attention == 1.0 || rope.rope_type == "yarn")) return;
        if (first.empty()) first = last = std::vector<double>(static_cast<std::size_t>(rope.config.pairs()), 1.0);
        std::vector<double> own(first.size());
        log_alpha(rope.policy, rope.config, t, own);
        for (std::size_t i = 0; i < own.size(); ++i) first[i] *= std::exp(-own[i]), last[i] *= std::exp(-own[i]);
        const bool by_length = first != last;
        rope.policy_words += message(by_length     ? "; divided by rope_factors_short up to the original length, by "
                                                     "rope_factors_long beyond"
                                     : all.empty() ? ""
                                                   : "; divided by rope_freqs");
        rope.policy = longrope{std::move(first), std::move(last), attention};
        if (!by_length) return;
        rope.rope_type = "longrope";
        config_detail::set_regimes(rope, max_length_ / rope.config.original_length);
    }

    const gguf_file& file_;
    const read_options& options_;
    model_ropes& out_;
    std::string architecture_;
    const rotated_architectures* kind_ = nullptr;
    double max_length_ = 0.0;
    bool is_scaled_ = true;
    std::size_t trunk_ = 0;  // layers before those that predict further tokens
};

}  // namespace gguf_detail

/// The rotation of the model in a GGUF file: lanes, base, scaling, the tensors rope_freqs and rope_factors_..., pairs
/// and layers by its architecture. LLAMA-like architectures store q and k for interleaved pairs, whatever the pairs of
/// the model they were made from.
///
/// Follows llama.cpp of llama-cpp-python 0.3.36. Keys of a rotation that it does not read are errors, with
/// options.lenient warnings; so is an unknown architecture.
/// @throws value_error or shape_error  naming the key; as gguf_file for the bytes of a tensor
inline model_ropes read_gguf(const gguf_file& file, const read_options& options = {}) {
    model_ropes out;
    gguf_detail::reader(file, options, out).read();
    return out;
}

}  // namespace cordage::hf
