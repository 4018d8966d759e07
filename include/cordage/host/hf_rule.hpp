// SPDX-License-Identifier: MIT
// One rope dictionary of a config.json (its type and keys) as policy and schedule; serves host/hf_config.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cordage/host/hf_rope.hpp"
#include "cordage/host/json_object.hpp"
#include "cordage/host/strict_json.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/schedule/schedules.hpp"

namespace cordage::hf {

/// What the released CLEX layer does where it has learned nothing: NTK-aware scaling by 2t - 1.
struct clex_drift {
    double log_alpha(const rope_config& c, index_t pair, double t) const {
        return ntk_aware{}.log_alpha(c, pair, 2.0 * t - 1.0);
    }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const {
        return 2.0 * ntk_aware{}.log_alpha_rate(c, pair, 2.0 * t - 1.0);
    }
};
static_assert(scaling_policy<clex_drift>);

/// A rope dictionary and what of the model its rule depends on.
struct rule_source {
    const json_object& dict;
    double max_length;         ///< max_position_embeddings
    bool has_original_length;  ///< given by a key of its own, not taken from max_position_embeddings
    complaints& doubts;
};

namespace rule_detail {

using keys = std::initializer_list<std::string_view>;

/// Keys that may stand beside every rope type; they are read in hf_config.hpp.
inline constexpr std::string_view common_keys[] = {"type",
                                                   "rope_type",
                                                   "rope_theta",
                                                   "mrope_section",
                                                   "mrope_interleaved",
                                                   "partial_rotary_factor",
                                                   "llama_4_scaling_beta",
                                                   "max_position_embeddings"};

/// Every key that some rope type knows.
inline constexpr std::string_view known_keys[] = {"act",
                                                  "alpha",
                                                  "attention_factor",
                                                  "attn_factor",
                                                  "base_multiplier",
                                                  "beta_fast",
                                                  "beta_slow",
                                                  "extrapolation_factor",
                                                  "factor",
                                                  "finetuned",
                                                  "high_freq_factor",
                                                  "llama_4_scaling_beta",
                                                  "log_scale",
                                                  "long_factor",
                                                  "long_mscale",
                                                  "low_freq_factor",
                                                  "max_factor",
                                                  "max_position_embeddings",
                                                  "mrope_interleaved",
                                                  "mrope_section",
                                                  "mscale",
                                                  "mscale_all_dim",
                                                  "original_max_position_embeddings",
                                                  "param_factor",
                                                  "partial_rotary_factor",
                                                  "rope_theta",
                                                  "rope_type",
                                                  "short_factor",
                                                  "short_mscale",
                                                  "time_dt",
                                                  "truncate",
                                                  "type"};

/// Complains of keys that nobody knows, and of those that this rope type does not look at.
inline void check_keys(const rule_source& from, const std::string& type, keys used) {
    const auto contains = [](const auto& list, const std::string& key) {
        return std::find(std::begin(list), std::end(list), key) != std::end(list);
    };
    for (const auto& [key, entry] : from.dict.json().items()) {
        if (contains(common_keys, key) || contains(used, key)) continue;
        if (!contains(known_keys, key)) {
            from.doubts.add(message(from.dict.where(), ": key ", in_quotes(key), " must be a known one",
                                    nearest_known(key, known_keys)));
        } else if (!entry.is_null()) {
            from.doubts.add(
                message(from.dict.where(), ": key '", key, "' must be left out: rope type '", type, "' ignores it"));
        }
    }
}

/// For words, not for numbers: four decimals.
inline double rounded(double x) { return std::round(x * 1e4) / 1e4; }

/// A number that must be at least `least`; hostile ones are named.
inline double at_least(const json_object& dict, std::string_view key, double value, double least) {
    if (!(value >= least)) fail<value_error>({dict.where(), ": ", key, " ", value, " must be >= ", least});
    return value;
}
inline double positive(const json_object& dict, std::string_view key, double value) {
    if (!(value > 0.0)) fail<value_error>({dict.where(), ": ", key, " ", value, " must be > 0"});
    return value;
}

/// "factor", which this rope type cannot do without.
inline double required_factor(const rule_source& from, const std::string& type) {
    return at_least(from.dict, "factor", from.dict.required("factor", "rope type '" + type + "'"), 1.0);
}

/// "factor", or the ratio of the two lengths where it is not given.
inline double factor_or_ratio(const rule_source& from, double original_length) {
    if (const auto factor = from.dict.number("factor")) return at_least(from.dict, "factor", *factor, 1.0);
    if (from.max_length < original_length) {
        fail<value_error>({from.dict.where(), ": max_position_embeddings ", from.max_length, " must be >= ",
                           "original_max_position_embeddings ", original_length, ", or factor be given"});
    }
    return from.max_length / original_length;
}

inline void no_scaling(const rule_source& from, layer_rope& rope) {
    check_keys(from, rope.rope_type, {});
    rope.policy_words = "none, alpha = 1: the basis the model was trained with";
}

inline void linear_rule(const rule_source& from, layer_rope& rope) {
    check_keys(from, rope.rope_type, {"factor", "original_max_position_embeddings"});
    rope.policy = linear{};
    rope.schedule = fixed{required_factor(from, rope.rope_type)};
    rope.policy_words = "linear (position interpolation), alpha = 1/t";
}

inline void ntk_rule(const rule_source& from, layer_rope& rope) {
    check_keys(from, rope.rope_type, {"factor"});
    rope.policy = ntk_aware{};
    rope.schedule = fixed{required_factor(from, rope.rope_type)};
    rope.policy_words = "NTK-aware, alpha_i = t^(-2i/(d-2))";
}

inline void codellama_rule(const rule_source& from, layer_rope& rope) {
    check_keys(from, rope.rope_type, {"base_multiplier"});
    const double by = from.dict.required("base_multiplier", "rope type 'codellama'");
    rope.policy = base_change{positive(from.dict, "base_multiplier", by)};
    rope.policy_words = message("base change, theta_base times ", by, " at every t");
}

/// Hugging Face's formula; with Hunyuan's "alpha" the base is changed once and for all, by alpha^(d/(d-2)).
inline void dynamic_rule(const rule_source& from, layer_rope& rope) {
    rope.policy = ntk_aware{};
    if (const auto alpha = from.dict.number("alpha")) {
        check_keys(from, rope.rope_type, {"alpha", "factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"});
        rope.schedule = fixed{at_least(from.dict, "alpha", *alpha, 1.0)};
        rope.policy_words = "NTK-aware with t = alpha, once and for all: alpha_i = t^(-2i/(d-2))";
        return;
    }
    check_keys(from, rope.rope_type, {"factor"});
    rope.config.original_length = from.max_length;
    const double factor = required_factor(from, rope.rope_type);
    rope.schedule = dynamic{factor};
    rope.policy_words = "NTK-aware, alpha_i = t^(-2i/(d-2))";
    rope.schedule_words = message("dynamic: t = ", factor, " max(1, L / ", from.max_length, ") - ", factor - 1.0);
}

inline yarn yarn_settings(const rule_source& from) {
    const json_object& dict = from.dict;
    yarn policy;
    policy.beta_fast = dict.number("beta_fast").value_or(policy.beta_fast);
    policy.beta_slow = dict.number("beta_slow").value_or(policy.beta_slow);
    policy.truncate = dict.flag("truncate").value_or(true);
    policy.mscale = dict.number("mscale").value_or(0.0);
    policy.mscale_all_dim = dict.number("mscale_all_dim").value_or(0.0);
    if (const auto given = dict.number("attention_factor")) {
        policy.given_attention_factor = positive(dict, "attention_factor", *given);
    }
    for (const char* key : {"attn_factor", "extrapolation_factor"}) {  // factors of the authors' code, which are 1
        if (dict.number(key).value_or(1.0) != 1.0) {
            from.doubts.add(message(dict.where(), ": ", key, " ", *dict.number(key),
                                    " must be 1; for a factor on cos and sin say attention_factor"));
        }
    }
    return policy;
}

inline void yarn_rule(const rule_source& from, layer_rope& rope) {
    check_keys(from, rope.rope_type,
               {"factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale",
                "mscale_all_dim", "truncate", "attn_factor", "extrapolation_factor", "finetuned"});
    const yarn policy = yarn_settings(from);
    validate(policy, rope.config);
    const bool is_dynamic = rope.rope_type == "dynamic-yarn";
    rope.policy = policy;
    if (is_dynamic) {
        rope.schedule = continuous{};
        rope.schedule_words = message("continuous: t = max(1, L / ", rope.config.original_length, ")");
    } else {
        rope.schedule = fixed{factor_or_ratio(from, rope.config.original_length)};
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

inline void llama3_rule(const rule_source& from, layer_rope& rope) {
    check_keys(from, rope.rope_type,
               {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"});
    const char* by = "rope type 'llama3'";
    if (!from.has_original_length) {
        fail<value_error>({from.dict.where(), ": original_max_position_embeddings must be given for ", by});
    }
    const llama3 policy{from.dict.required("low_freq_factor", by), from.dict.required("high_freq_factor", by)};
    at_least(from.dict, "low_freq_factor", policy.rotations_low, 0.0);
    if (!(policy.rotations_high > policy.rotations_low)) {
        fail<value_error>({from.dict.where(), ": high_freq_factor ", policy.rotations_high,
                           " must be > low_freq_factor ", policy.rotations_low});
    }
    rope.policy = policy;
    rope.schedule = fixed{required_factor(from, rope.rope_type)};
    rope.policy_words = message("Llama 3: pairs turning over ", policy.rotations_high, " times in the original length ",
                                "kept, under ", policy.rotations_low, " times divided by t, linear between");
}

inline void longrope_rule(const rule_source& from, layer_rope& rope) {
    check_keys(from, rope.rope_type,
               {"short_factor", "long_factor", "factor", "attention_factor", "original_max_position_embeddings",
                "short_mscale", "long_mscale"});
    const json_object& dict = from.dict;
    const auto short_factor = dict.numbers("short_factor"), long_factor = dict.numbers("long_factor");
    for (const char* key : {"short_factor", "long_factor"}) {
        if (!dict.has(key)) fail<value_error>({dict.where(), ": ", key, " must be given for rope type 'longrope'"});
    }
    const double original = rope.config.original_length, ratio = from.max_length / original;
    const double factor = positive(dict, "factor", dict.number("factor").value_or(ratio));
    const auto short_mscale = dict.number("short_mscale"), long_mscale = dict.number("long_mscale");
    if (short_mscale != long_mscale) {
        from.doubts.add(message(dict.where(), ": short_mscale must equal long_mscale; one factor serves both regimes"));
    }
    const auto given = dict.number("attention_factor") ? dict.number("attention_factor") : long_mscale;
    const double attention = given.value_or(longrope_attention_factor(factor, original));
    rope.policy = longrope{*short_factor, *long_factor, attention};
    rope.policy_words = message("LongRoPE, 1/short_factor up to ", original, " tokens, 1/long_factor beyond");
    rope.attention_words = message(rounded(attention), " in both regimes, ",
                                   given ? "given" : message("sqrt(1 + ln ", factor, " / ln ", original, ")"));
    if (factor > 1.0) {
        rope.schedule = two_regimes{factor};
        rope.schedule_words = message("two regimes: t = 1 up to ", original, " tokens, ", factor, " beyond");
    } else {  // nothing beyond the original length is promised, and yet it has factors for it
        rope.schedule = continuous{};
        rope.schedule_words = message("continuous: t = max(1, L / ", original, "); any t > 1 has the long factors");
    }
}

inline void proportional_rule(const rule_source& from, layer_rope& rope, double share) {
    check_keys(from, rope.rope_type, {"factor"});
    const proportional policy{share};
    validate(policy, rope.config);
    rope.policy = policy;
    rope.schedule = fixed{at_least(from.dict, "factor", from.dict.number("factor").value_or(1.0), 1.0)};
    rope.policy_words = message("proportional (p-RoPE): the fastest ", policy.turning_pairs(rope.config),
                                " pairs turn, divided by t; the others do not turn");
}

inline void clex_rule(const rule_source& from, const json_object& config, layer_rope& rope) {
    check_keys(from, rope.rope_type, {"max_factor", "param_factor", "time_dt", "act", "log_scale", "factor"});
    const json_object& dict = from.dict;
    clex_settings settings;
    settings.max_factor = static_cast<double>(dict.count("max_factor").value_or(16));
    settings.param_factor = positive(dict, "param_factor", dict.number("param_factor").value_or(1.0));
    settings.time_dt = positive(dict, "time_dt", dict.number("time_dt").value_or(settings.time_dt));
    if (!(settings.states(rope.config.pairs()) <= most_clex_states)) {
        fail<value_error>({dict.where(), ": time_dt ", settings.time_dt, " must be large enough that steps to ",
                           "max_factor ", settings.max_factor, " times pairs ", rope.config.pairs(), " are at most ",
                           most_clex_states});
    }
    settings.act = dict.text("act").value_or(settings.act);
    settings.log_scale = dict.flag("log_scale").value_or(config.flag("log_scale").value_or(false));
    if (settings.act != "tanh" && settings.act != "silu") {
        fail<value_error>({dict.where(), ": act ", in_quotes(settings.act), " must be 'tanh' or 'silu'"});
    }
    rope.config.original_length = from.max_length;
    rope.policy = clex_drift{};
    rope.schedule = rounded_up{settings.max_factor};
    rope.policy_words = message("CLEX as released, hidden width ", settings.param_factor, " d, ", settings.act,
                                ", steps of ", settings.time_dt, "; without its weights NTK-aware scaling by 2t - 1");
    rope.schedule_words = message("t = ceil(L / ", from.max_length, "), at most ", settings.max_factor);
    if (settings.log_scale) rope.attention_words = "1; scores are multiplied by ln L / ln " + message(from.max_length);
    rope.clex = settings;
}

}  // namespace rule_detail

/// Rope types as configs name them -> one name each; an unknown one as it is.
inline std::string canonical_type(std::string type) {
    if (type.empty() || type == "none" || type == "mrope") return "default";
    if (type == "su") return "longrope";
    if (type == "dynamic_yarn") return "dynamic-yarn";
    if (type == "deepseek_yarn") return "yarn";
    return type;
}

/// The spellings of rope_type that are understood.
inline constexpr std::string_view rope_types[] = {
    "default",      "linear",   "dynamic",      "ntk",  "codellama", "yarn", "llama3",
    "dynamic-yarn", "longrope", "proportional", "clex", "mrope",     "su"};

/// Fills policy, schedule and words of a rope whose type, config and original length are known.
/// @param config  the model's dictionary, where some of CLEX's keys stand
/// @param share   partial_rotary_factor, for the type that reads it as a share of pairs
inline void apply_rule(const rule_source& from, const json_object& config, double share, layer_rope& rope) {
    using namespace rule_detail;
    const std::string& type = rope.rope_type;
    rope.attention_words = "1";
    if (type == "default")
        no_scaling(from, rope);
    else if (type == "linear")
        linear_rule(from, rope);
    else if (type == "dynamic")
        dynamic_rule(from, rope);
    else if (type == "ntk")
        ntk_rule(from, rope);
    else if (type == "codellama")
        codellama_rule(from, rope);
    else if (type == "yarn" || type == "dynamic-yarn")
        yarn_rule(from, rope);
    else if (type == "llama3")
        llama3_rule(from, rope);
    else if (type == "longrope")
        longrope_rule(from, rope);
    else if (type == "proportional")
        proportional_rule(from, rope, share);
    else if (type == "clex")
        clex_rule(from, config, rope);
    else {
        fail<value_error>({from.dict.where(), ": rope_type ", in_quotes(type), " must be a known one",
                           nearest_known(type, rope_types)});
    }
    validate(rope.policy, rope.config);
    rope.schedule.validate();
    if (rope.schedule_words.empty()) {
        rope.schedule_words = message("t = ", rope.schedule.ratio(rope.config, 1.0), " at every length");
    }
}

}  // namespace cordage::hf
