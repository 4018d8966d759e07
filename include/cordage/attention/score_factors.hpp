// SPDX-License-Identifier: MIT
// Factors on scores and queries that grow with length or position; stage attention.
#pragma once

#include <algorithm>
#include <cmath>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage {

namespace attention_detail {

inline double log_ratio(const char* who, double seq_len, double train_length) {
    validate_number({who, ": seq_len"}, seq_len, seq_len >= 1.0, {">= 1"});
    validate_number({who, ": train_length"}, train_length, train_length > 1.0, {"> 1"});
    return std::log(seq_len) / std::log(train_length);
}

}  // namespace attention_detail

/// max{1, log_train_length(seq_len)}, the factor on attention scores (CLEX, appendix A.3).
/// @throws value_error  unless seq_len >= 1 and train_length > 1
inline double log_scaling(double seq_len, double train_length) {
    return std::max(1.0, attention_detail::log_ratio("log_scaling", seq_len, train_length));
}

/// log_train_length(seq_len) without the max, the factor on queries in CLEX's released code (train_length =
/// max_position_embeddings). Below 1 for seq_len < train_length. Throws as log_scaling.
inline double unclamped_log_scaling(double seq_len, double train_length) {
    return attention_detail::log_ratio("unclamped_log_scaling", seq_len, train_length);
}

/// 1 + beta ln(1 + floor((position + counted_from) / block_length)): 1 in the first block of the sequence, constant
/// within each block. counted_from is the number of the first position, 1 in llama4_temperature, 0 in
/// ministral3_temperature.
struct query_temperature {
    double block_length;  ///< positions of a block
    double beta = 0.1;
    double counted_from = 0.0;

    /// The factor on a query at position >= 0.
    /// @throws value_error  for a field or position that is out of range
    double at(double position) const {
        validate();
        validate_number({"query_temperature: position"}, position, position >= 0.0, {">= 0"});
        return factor(position);
    }

    /// The same, unchecked.
    double factor(double position) const noexcept {
        return 1.0 + beta * std::log1p(std::floor((position + counted_from) / block_length));
    }

    void validate() const {
        validate_positive({"query_temperature: block_length"}, block_length);
        validate_finite({"query_temperature: beta"}, beta);
        validate_number({"query_temperature: counted_from"}, counted_from, counted_from >= 0.0, {">= 0"});
    }
};

/// The temperature of Llama 4, on its layers without rotation only: 1 + attn_scale ln(1 + floor((position + 1) /
/// floor_scale)) (transformers 5.24, Llama4TextAttention; floor_scale and attn_scale are keys of config.json, with
/// these defaults).
inline query_temperature llama4_temperature(double floor_scale = 8192.0, double attn_scale = 0.1) {
    return {floor_scale, attn_scale, 1.0};
}

/// The temperature of Ministral 3, on every layer after rotation: 1 + beta ln(1 + floor(position / original_length))
/// (transformers 5.24, ministral3; llama_4_scaling_beta and original_max_position_embeddings of rope_parameters).
inline query_temperature ministral3_temperature(double original_length, double beta = 0.1) {
    return {original_length, beta, 0.0};
}

/// (0.1 mscale_all_dim ln t + 1)^2, the factor on every score under YaRN in DeepSeek-V2 and later, including lanes that
/// are not rotated (transformers 5.24, DeepseekV3Attention.scaling); 1 if mscale_all_dim is 0 or t <= 1.
///
/// Applied in addition to YaRN's factor on cos and sin, which is (0.1 mscale ln t + 1) / (0.1 mscale_all_dim ln t + 1)
/// in these models, 1 for DeepSeek's equal values.
///
/// @param t  the "factor" of rope_scaling, > 0
/// @throws value_error  unless t > 0 and mscale_all_dim >= 0
inline double deepseek_score_factor(double t, double mscale_all_dim) {
    validate_positive({"deepseek_score_factor: t"}, t);
    validate_number({"deepseek_score_factor: mscale_all_dim"}, mscale_all_dim, mscale_all_dim >= 0.0, {">= 0"});
    const double magnitude = t > 1.0 ? 0.1 * mscale_all_dim * std::log(t) + 1.0 : 1.0;
    return magnitude * magnitude;
}

/// The factor on q . k before the softmax: qk_head_dim^(-1/2) deepseek_score_factor(t, mscale_all_dim).
///
/// @param qk_head_dim  lanes of q, rotated and not: 64 + 128 in DeepSeek-V3
/// @throws value_error  as deepseek_score_factor; unless qk_head_dim >= 1
inline double deepseek_softmax_scale(index_t qk_head_dim, double t, double mscale_all_dim) {
    if (qk_head_dim < 1) {
        fail<value_error>({"deepseek_softmax_scale: qk_head_dim ", qk_head_dim, " must be >= 1"});
    }
    return deepseek_score_factor(t, mscale_all_dim) / std::sqrt(static_cast<double>(qk_head_dim));
}

}  // namespace cordage
