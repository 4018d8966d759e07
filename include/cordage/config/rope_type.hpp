// SPDX-License-Identifier: MIT
// One rope dictionary of a config.json (its type and keys) as policy and schedule; serves config/read.hpp.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "cordage/config/keys.hpp"
#include "cordage/config/model_ropes.hpp"
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

namespace config_detail {

/// A rope dictionary and what of the model its rule depends on.
struct rule_source {
    const json_object& dict;
    const json_object& config;  ///< the model's, where some of CLEX's keys stand
    double share;               ///< partial_rotary_factor, for the type that reads it as a share of pairs
    double max_length;          ///< max_position_embeddings
    bool has_original_length;   ///< given by a key of its own, not taken from max_position_embeddings
    doubtful_settings& doubts;

    /// Complains of keys beside those that the rule reads.
    void expect(const layer_rope& rope, std::initializer_list<std::string_view> used) const {
        check_keys(dict, rope.rope_type, used, doubts);
    }
};

/// For words, not for numbers: four decimals.
inline double rounded(double x) { return std::round(x * 1e4) / 1e4; }

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
    from.expect(rope, {});
    rope.policy_words = "none, alpha = 1: the basis the model was trained with";
}

inline void linear_rule(const rule_source& from, layer_rope& rope) {
    from.expect(rope, {"factor", "original_max_position_embeddings"});
    rope.policy = linear{};
    rope.schedule = fixed{required_factor(from, rope.rope_type)};
    rope.policy_words = "linear (position interpolation), alpha = 1/t";
}

inline void ntk_rule(const rule_source& from, layer_rope& rope) {
    from.expect(rope, {"factor"});
    rope.policy = ntk_aware{};
    rope.schedule = fixed{required_factor(from, rope.rope_type)};
    rope.policy_words = "NTK-aware, alpha_i = t^(-2i/(d-2))";
}

inline void codellama_rule(const rule_source& from, layer_rope& rope) {
    from.expect(rope, {"base_multiplier"});
    const double by = from.dict.required("base_multiplier", "rope type 'codellama'");
    rope.policy = base_change{positive(from.dict, "base_multiplier", by)};
    rope.policy_words = message("base change, theta_base times ", by, " at every t");
}

/// Hugging Face's formula; with Hunyuan's "alpha" the base is changed once and for all, by alpha^(d/(d-2)).
inline void dynamic_rule(const rule_source& from, layer_rope& rope) {
    rope.policy = ntk_aware{};
    if (const auto alpha = from.dict.number("alpha")) {
        from.expect(rope, {"alpha", "factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"});
        rope.schedule = fixed{at_least(from.dict, "alpha", *alpha, 1.0)};
        rope.policy_words = "NTK-aware with t = alpha, once and for all: alpha_i = t^(-2i/(d-2))";
        return;
    }
    from.expect(rope, {"factor"});
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
    from.expect(rope, {"factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow",
                       "mscale", "mscale_all_dim", "truncate", "attn_factor", "extrapolation_factor", "finetuned"});
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
    from.expect(rope, {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"});
    const char* by = "rope type 'llama3'";
    if (!from.has_original_length) {
        fail<value_error>({from.dict.where(), ": original_max_position_embeddings must be given for ", by});
    }
    const llama3 policy{from.dict.required("low_freq_factor", by), from.dict.required("high_freq_factor", by)};
    at_least(from.dict, "low_freq_factor", policy.rotations_low, 0.0);
    if (!(policy.rotations_high >= policy.rotations_low)) {
        fail<value_error>({from.dict.where(), ": high_freq_factor ", policy.rotations_high,
                           " must be >= low_freq_factor ", policy.rotations_low});
    }
    rope.policy = policy;
    rope.schedule = fixed{required_factor(from, rope.rope_type)};
    const bool is_step = policy.rotations_high == policy.rotations_low;
    rope.policy_words =
        message("Llama 3: pairs turning ", is_step ? "at least " : "over ", policy.rotations_high,
                " times in the original length kept, ",
                is_step ? std::string("all others divided by t")
                        : message("under ", policy.rotations_low, " times divided by t, linear between"));
}

inline void longrope_rule(const rule_source& from, layer_rope& rope) {
    from.expect(rope, {"short_factor", "long_factor", "factor", "attention_factor", "original_max_position_embeddings",
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

inline void proportional_rule(const rule_source& from, layer_rope& rope) {
    from.expect(rope, {"factor"});
    const proportional policy{from.share};
    validate(policy, rope.config);
    rope.policy = policy;
    rope.schedule = fixed{at_least(from.dict, "factor", from.dict.number("factor").value_or(1.0), 1.0)};
    rope.policy_words = message("proportional (p-RoPE): the fastest ", policy.turning_pairs(rope.config),
                                " pairs turn, divided by t; the others do not turn");
}

inline void clex_rule(const rule_source& from, layer_rope& rope) {
    from.expect(rope, {"max_factor", "param_factor", "time_dt", "act", "log_scale", "factor"});
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
    settings.log_scale = dict.flag("log_scale").value_or(from.config.flag("log_scale").value_or(false));
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

/// The rope types that are understood, by every name in use.
inline constexpr std::pair<std::string_view, void (*)(const rule_source&, layer_rope&)> rules[] = {
    {"default", no_scaling},       {"linear", linear_rule},
    {"dynamic", dynamic_rule},     {"ntk", ntk_rule},
    {"codellama", codellama_rule}, {"yarn", yarn_rule},
    {"llama3", llama3_rule},       {"dynamic-yarn", yarn_rule},
    {"longrope", longrope_rule},   {"proportional", proportional_rule},
    {"clex", clex_rule},           {"mrope", no_scaling},
    {"su", longrope_rule}};

/// Their other spellings -> one name each; an unknown one as it is.
inline std::string canonical_type(std::string type) {
    if (type.empty() || type == "none" || type == "mrope") return "default";
    if (type == "su") return "longrope";
    if (type == "dynamic_yarn") return "dynamic-yarn";
    if (type == "deepseek_yarn") return "yarn";
    return type;
}

/// The rope type of a dictionary, by its one name.
inline std::string type_of(const json_object& dict, doubtful_settings& doubts) {
    const auto new_name = dict.text("rope_type"), old_name = dict.text("type");
    std::string type = canonical_type(new_name ? *new_name : old_name.value_or("default"));
    if (new_name && old_name && type != canonical_type(*old_name)) {
        doubts.add(
            message(dict.where(), ": type ", in_quotes(*old_name), " must equal rope_type ", in_quotes(*new_name)));
    }
    // Phi-3 configs of the first months say "yarn" where they mean their tables.
    return type == "yarn" && dict.has("short_factor") ? "longrope" : type;
}

/// Fills policy, schedule and words of a rope whose type, config and original length are known.
inline void apply_rule(const rule_source& from, layer_rope& rope) {
    const auto rule = std::ranges::find(rules, rope.rope_type, [](const auto& known) { return known.first; });
    if (rule == std::end(rules)) {
        std::string_view names[std::size(rules)];
        std::ranges::transform(rules, names, [](const auto& known) { return known.first; });
        fail<value_error>({from.dict.where(), ": rope_type ", in_quotes(rope.rope_type), " must be a known one",
                           nearest_known(rope.rope_type, names)});
    }
    rope.attention_words = "1";
    rule->second(from, rope);
    validate(rope.policy, rope.config);
    rope.schedule.validate();
    if (rope.schedule_words.empty()) {
        rope.schedule_words = message("t = ", rope.schedule.ratio(rope.config, 1.0), " at every length");
    }
}

}  // namespace config_detail
}  // namespace cordage::hf
