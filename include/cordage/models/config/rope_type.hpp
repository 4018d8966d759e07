// SPDX-License-Identifier: MIT
// Converts a rope dictionary of a config.json to a policy and a schedule; serves config/read.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/models/config/family.hpp"
#include "cordage/models/config/json.hpp"
#include "cordage/models/config/model_ropes.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/yarn.hpp"

namespace cordage::hf {

/// The released CLEX layer with zero weights: NTK-aware scaling by 2t - 1.
struct clex_drift {
    double log_alpha(const rope_config& c, index_t pair, double t) const {
        return ntk_aware{}.log_alpha(c, pair, 2.0 * t - 1.0);
    }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const {
        return 2.0 * ntk_aware{}.log_alpha_rate(c, pair, 2.0 * t - 1.0);
    }
};
static_assert(scaling_policy<clex_drift>);

/// Type "ntk" of the authors of gte, and of vLLM: the base times t, and all frequencies over t^(2/d).
struct divided_ntk {
    double log_alpha(const rope_config& c, index_t pair, double t) const { return rate(c, pair) * std::log(t); }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const { return rate(c, pair) / t; }

 private:
    static double rate(const rope_config& c, index_t pair) {
        return -2.0 * static_cast<double>(pair + 1) / static_cast<double>(c.rotary_dim);
    }
};
static_assert(scaling_policy<divided_ntk>);

namespace config_detail {

using namespace json_detail;

/// A rope dictionary, the model parameters on which its rule depends, and the rule to be completed: its type, config
/// and original length are already set.
struct rule_source {
    const json_object& dict;
    const json_object& config;  ///< the model's config, which has some of CLEX's keys
    double share;               ///< partial_rotary_factor, for the type that uses it as a share of pairs
    double max_length;          ///< max_position_embeddings; 0 if not given
    bool has_original_length;   ///< has its own key, not taken from max_position_embeddings
    const family& known;        ///< of the model
    layer_rope& rope;

    void set(any_policy policy, any_schedule schedule, std::string policy_words) const {
        rope.policy = std::move(policy);
        rope.schedule = std::move(schedule);
        rope.policy_words = std::move(policy_words);
    }
    std::string by() const { return "rope type '" + rope.rope_type + "'"; }
    double required(std::string_view key) const { return dict.required(key, by()); }
    double factor() const { return dict.at_least(1.0, "factor", required("factor")); }
    double longest() const {
        if (max_length == 0.0) config.refuse({"max_position_embeddings must be given for ", by()});
        return max_length;
    }
    /// original_length is max_position_embeddings if not given.
    void need_original_length() const {
        if (!has_original_length) longest();
    }

    /// "factor", or the ratio of the two lengths if not given.
    double factor_or_ratio() const {
        if (dict.has("factor")) return factor();
        if (!has_original_length) dict.refuse({"factor or original_max_position_embeddings must be given for ", by()});
        const double original = rope.config.original_length;
        if (longest() < original) {
            dict.refuse({"max_position_embeddings ", max_length, " must be >= original_max_position_embeddings ",
                         original, ", or factor must be given"});
        }
        return max_length / original;
    }
};

inline void no_scaling(const rule_source& from) {
    from.rope.policy_words = "none, alpha = 1: the basis the model was trained with";
}

inline void linear_rule(const rule_source& from) {
    from.set(linear{}, fixed{from.factor()}, "linear (position interpolation), alpha = 1/t");
}

inline void ntk_rule(const rule_source& from) {
    if (from.known.does_read("ntk")) {
        from.set(divided_ntk{}, fixed{from.factor()}, "NTK of gte's authors, alpha_i = t^(-2(i+1)/d)");
        return;
    }
    from.set(ntk_aware{}, fixed{from.factor()},
             "NTK-aware, alpha_i = t^(-2i/(d-2)); gte's authors and vLLM give this name to t^(-2(i+1)/d)");
}

inline void codellama_rule(const rule_source& from) {
    const double by = from.dict.positive("base_multiplier", from.required("base_multiplier"));
    from.set(base_change{by}, fixed{}, message("base change, theta_base times ", by, " at every t"));
}

/// The formula of transformers.
inline void dynamic_rule(const rule_source& from) {
    const double factor = from.factor();
    from.rope.config.original_length = from.longest();
    from.set(ntk_aware{}, dynamic{factor}, "NTK-aware, alpha_i = t^(-2i/(d-2))");
    from.rope.schedule_words = message("dynamic: t = ", factor, " max(1, L / ", from.max_length, ") - ", factor - 1.0);
}

/// Hunyuan's "alpha" changes the base by alpha^(d/(d-2)), at every length.
inline void alpha_rule(const rule_source& from) {
    from.set(ntk_aware{}, fixed{from.dict.at_least(1.0, "alpha", from.required("alpha"))},
             "NTK-aware with t = alpha at every length: alpha_i = t^(-2i/(d-2))");
}

inline yarn yarn_settings(const json_object& dict) {
    yarn policy;
    policy.beta_fast = dict.number("beta_fast").value_or(policy.beta_fast);
    policy.beta_slow = dict.number("beta_slow").value_or(policy.beta_slow);
    if (dict.has_null("truncate")) {
        dict.doubt({"truncate null must be true or false: transformers reads null as false"});
    }
    policy.truncate = dict.flag("truncate").value_or(true);
    policy.mscale = dict.number("mscale").value_or(0.0);
    policy.mscale_all_dim = dict.number("mscale_all_dim").value_or(0.0);
    if (const auto given = dict.number("attention_factor")) {
        policy.given_attention_factor = dict.positive("attention_factor", *given);
    }
    if (const double factor = dict.number("extrapolation_factor").value_or(1.0); factor != 1.0) {
        dict.doubt(
            {"extrapolation_factor ", factor, " must be 1 or left out: only the code of YaRN's authors reads it"});
    }
    if (!dict.flag("apply_yarn_scaling").value_or(true)) {  // vLLM's
        if (policy.given_attention_factor.value_or(1.0) != 1.0) {
            dict.doubt({"apply_yarn_scaling false must be true or left out, or attention_factor ",
                        *policy.given_attention_factor, " must be 1"});
        }
        policy.given_attention_factor = 1.0;
    }
    return policy;
}

inline void yarn_rule(const rule_source& from) {
    layer_rope& rope = from.rope;
    from.need_original_length();
    const yarn policy = yarn_settings(from.dict);
    validate(policy, rope.config);
    rope.policy = policy;
    if (rope.rope_type == "dynamic-yarn") {
        rope.schedule = continuous{};
        rope.schedule_words = message("continuous: t = max(1, L / ", rope.config.original_length, ")");
    } else {
        rope.schedule = fixed{from.factor_or_ratio()};
    }
    if (const double more = from.dict.number("attn_factor").value_or(1.0); more != 1.0) {
        const double factor = attention_factor(rope.policy, rope.config, rope.schedule.ratio(rope.config, 1.0));
        from.dict.doubt({"attn_factor ", more, " must be 1 or left out, and the factor on cos and sin be given as ",
                         "attention_factor: ", factor, " in transformers and vLLM 0.33, which ignore attn_factor, or ",
                         more * factor, " in the code of YaRN's authors and earlier vLLM, which multiply by it"});
    }
    const yarn_ramp ramp = policy.ramp(rope.config);
    rope.policy_words = message("YaRN, pairs up to ", ramp.low, " kept, from ", ramp.high,
                                " on divided by t, linear between (beta_fast ", policy.beta_fast, ", beta_slow ",
                                policy.beta_slow, policy.truncate ? "" : ", not truncated", ")");
    if (policy.given_attention_factor) {
        rope.attention_words = message(*policy.given_attention_factor, ", given as attention_factor");
    } else if (policy.mscale != 0.0 && policy.mscale_all_dim != 0.0) {
        rope.attention_words =
            message("(0.1 ", policy.mscale, " ln t + 1) / (0.1 ", policy.mscale_all_dim, " ln t + 1), from mscale");
    } else {
        rope.attention_words = "0.1 ln t + 1";
    }
}

inline void llama3_rule(const rule_source& from) {
    if (!from.has_original_length) from.dict.refuse({"original_max_position_embeddings must be given for ", from.by()});
    const double low = from.required("low_freq_factor"), high = from.required("high_freq_factor");
    from.dict.at_least(0.0, "low_freq_factor", low);
    if (!(high >= low)) from.dict.refuse({"high_freq_factor ", high, " must be >= low_freq_factor ", low});
    from.set(llama3{low, high}, fixed{from.factor()},
             message("Llama 3: pairs rotating ", high == low ? "at least " : "over ", high,
                     " times in the original length kept, ",
                     high == low ? "all others divided by t"
                                 : message("under ", low, " times divided by t, linear between")));
}

/// The schedule of LongRoPE's short and long factors for lengths up to `factor` times the original one.
inline void set_regimes(layer_rope& rope, double factor) {
    const double original = rope.config.original_length;
    if (factor > 1.0) {
        rope.schedule = two_regimes{factor};
        rope.schedule_words = message("two regimes: t = 1 up to ", original, " tokens, ", factor, " beyond");
    } else {  // the longest length is the original one, although there are long factors
        rope.schedule = continuous{};
        rope.schedule_words = message("continuous: t = max(1, L / ", original, "); any t > 1 has the long factors");
    }
}

inline void longrope_rule(const rule_source& from) {
    const json_object& dict = from.dict;
    const auto short_factor = dict.numbers("short_factor"), long_factor = dict.numbers("long_factor");
    if (!short_factor || !long_factor) {
        dict.refuse({short_factor ? "long_factor" : "short_factor", " must be given for ", from.by()});
    }
    const double original = from.rope.config.original_length;
    const auto said = dict.number("factor");
    const double factor = dict.positive("factor", said ? *said : from.longest() / original);
    from.need_original_length();
    const auto short_mscale = dict.number("short_mscale"), long_mscale = dict.number("long_mscale");
    if (short_mscale != long_mscale) {
        dict.doubt({"short_mscale must equal long_mscale; one factor serves both regimes"});
    }
    const auto given = dict.number("attention_factor") ? dict.number("attention_factor") : long_mscale;
    const double attention = given.value_or(longrope_attention_factor(factor, original));
    layer_rope& rope = from.rope;
    rope.policy = longrope{*short_factor, *long_factor, attention};
    rope.policy_words = message("LongRoPE, 1/short_factor up to ", original, " tokens, 1/long_factor beyond");
    rope.attention_words = message(std::round(attention * 1e4) / 1e4, " in both regimes, ",
                                   given ? "given" : message("sqrt(1 + ln ", factor, " / ln ", original, ")"));
    set_regimes(rope, factor);
}

inline void proportional_rule(const rule_source& from) {
    const proportional policy{from.share};
    validate(policy, from.rope.config);
    from.set(policy, fixed{from.dict.at_least(1.0, "factor", from.dict.number("factor").value_or(1.0))},
             message("proportional (p-RoPE): the fastest ", policy.rotated_pairs(from.rope.config),
                     " pairs are rotated, divided by t; the others are not"));
}

inline void clex_rule(const rule_source& from) {
    const json_object& dict = from.dict;
    layer_rope& rope = from.rope;
    clex_settings settings;
    settings.max_factor = static_cast<double>(dict.count("max_factor").value_or(16));
    settings.param_factor = dict.positive("param_factor", dict.number("param_factor").value_or(settings.param_factor));
    settings.time_dt = dict.positive("time_dt", dict.number("time_dt").value_or(settings.time_dt));
    settings.check_states(dict.where(), rope.config.pairs());
    settings.act = dict.text("act").value_or(settings.act);
    settings.log_scale = dict.flag("log_scale").value_or(from.config.flag("log_scale").value_or(false));
    if (settings.act != "tanh" && settings.act != "silu") {
        dict.refuse({"act ", in_quotes(settings.act), " must be 'tanh' or 'silu'"});
    }
    rope.config.original_length = from.longest();
    from.set(clex_drift{}, rounded_up{settings.max_factor},
             message("CLEX as released, hidden width ", settings.param_factor, " d, ", settings.act, ", steps of ",
                     settings.time_dt, "; without its weights NTK-aware scaling by 2t - 1"));
    rope.schedule_words = message("t = ceil(L / ", from.max_length, "), at most ", settings.max_factor);
    if (settings.log_scale) rope.attention_words = message("1; scores are multiplied by ln L / ln ", from.max_length);
    rope.clex = settings;
    rope.needs_weights = true;
}

/// A rope type: its name, the keys that it reads besides common_keys, and its rule.
struct known_type {
    std::string_view name;
    const char* keys;
    void (*rule)(const rule_source&);
    bool needs_alpha = false;  ///< distinguishes it from a later entry of this name
};
inline constexpr const char* common_keys =
    "llama_4_scaling_beta max_position_embeddings mrope_interleaved mrope_section partial_rotary_factor rope_theta "
    "rope_type type";
inline constexpr const char* yarn_keys =
    "factor original_max_position_embeddings attention_factor beta_fast beta_slow mscale mscale_all_dim truncate "
    "apply_yarn_scaling attn_factor extrapolation_factor finetuned";
// clang-format off
inline constexpr known_type known_types[] = {
    {"default", "", no_scaling},
    {"linear", "factor original_max_position_embeddings", linear_rule},
    {"dynamic", "alpha factor beta_fast beta_slow mscale mscale_all_dim xdrope_section", alpha_rule, true},
    {"dynamic", "factor", dynamic_rule},
    {"ntk", "factor", ntk_rule},
    {"codellama", "base_multiplier", codellama_rule},
    {"yarn", yarn_keys, yarn_rule},
    {"llama3", "factor low_freq_factor high_freq_factor original_max_position_embeddings", llama3_rule},
    {"dynamic-yarn", yarn_keys, yarn_rule},
    {"longrope", "short_factor long_factor factor attention_factor original_max_position_embeddings short_mscale "
                 "long_mscale", longrope_rule},
    {"proportional", "factor", proportional_rule},
    {"clex", "max_factor param_factor time_dt act log_scale factor", clex_rule}};
// clang-format on

/// The canonical name of a rope type with several names; unknown ones unchanged.
inline std::string canonical_type(const std::string& type) {
    if (type.empty() || type == "none" || type == "mrope") return "default";
    if (type == "su") return "longrope";
    if (type == "xdrope") return "dynamic";  // HunYuan-VL
    if (type == "dynamic_yarn") return "dynamic-yarn";
    return type == "deepseek_yarn" || type == "telechat3-yarn" ? "yarn" : type;
}

/// The canonical rope type of a dictionary.
inline std::string type_of(const json_object& dict) {
    const auto new_name = dict.text("rope_type"), old_name = dict.text("type");
    std::string type = canonical_type(new_name ? *new_name : old_name.value_or("default"));
    if (new_name && old_name && type != canonical_type(*old_name)) {
        dict.doubt({"type ", in_quotes(*old_name), " must equal rope_type ", in_quotes(*new_name)});
    }
    // Early Phi-3 configs say "yarn" for LongRoPE's tables.
    return type == "yarn" && dict.has("short_factor") ? "longrope" : type;
}

/// Whether some rope type reads this key of a dictionary.
inline bool is_key_of_dictionary(std::string_view key) {
    return is_in(words(common_keys), key) ||
           std::ranges::any_of(known_types, [&](const known_type& type) { return is_in(words(type.keys), key); });
}

/// Whether the rule of a rope type reads a key of its dictionary; true for unknown keys, which are reported.
inline bool reads_key(const std::string& rope_type, std::string_view key) {
    if (is_in(words(common_keys), key)) return key != "max_position_embeddings";
    const auto reads = [&](const known_type& type) { return type.name == rope_type && is_in(words(type.keys), key); };
    return !is_key_of_dictionary(key) || std::ranges::any_of(known_types, reads);
}

/// Reports unknown keys of a rope dictionary, then known ones that this rope type ignores, since the unknown one may be
/// a misspelt rope_type.
inline void check_keys(const json_object& dict, const known_type& type, double max_length) {
    const std::vector<std::string> common = words(common_keys), used = words(type.keys);
    std::set<std::string> known(common.begin(), common.end());
    for (const known_type& each : known_types) {
        for (const std::string& key : words(each.keys)) known.insert(key);
    }
    for (const auto& [key, entry] : dict.json().items()) {
        if (!known.contains(key))
            dict.doubt({"key ", in_quotes(key), " must be a known key", nearest_known(key, known)});
    }
    for (const auto& [key, entry] : dict.json().items()) {
        if (is_in(common, key) || is_in(used, key)) continue;
        if (known.contains(key) && !entry.is_null() &&
            !(key == "original_max_position_embeddings" && entry == max_length)) {
            dict.doubt({"key '", key, "' must be left out: rope type '", type.name, "' ignores it"});
        }
    }
}

/// Sets policy, schedule and texts of a rope whose type, config and original length are set.
inline void apply_rule(const rule_source& from) {
    layer_rope& rope = from.rope;
    const auto* const type = std::ranges::find_if(known_types, [&](const known_type& each) {
        return each.name == rope.rope_type &&
               (!each.needs_alpha || (from.known.does_read("alpha") && from.dict.has("alpha")));
    });
    if (type == std::end(known_types)) {
        std::vector<std::string_view> names{"mrope", "su"};
        std::string all = "mrope, su";
        for (const known_type& each : known_types) {
            if (!is_in(names, each.name)) names.push_back(each.name), all += message(", ", each.name);
        }
        from.dict.refuse(
            {"rope_type ", in_quotes(rope.rope_type), " must be one of ", all, nearest_known(rope.rope_type, names)});
    }
    check_keys(from.dict, *type, from.max_length);
    rope.attention_words = "1";
    type->rule(from);
    validate(rope.policy, rope.config);
    rope.schedule.validate();
    if (rope.schedule_words.empty()) {
        rope.schedule_words = message("t = ", rope.schedule.ratio(rope.config, 1.0), " at every length");
    }
}

}  // namespace config_detail
}  // namespace cordage::hf
