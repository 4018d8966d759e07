// SPDX-License-Identifier: MIT
// A factor on queries that grows with their position, in steps; stage attention.
#pragma once

#include <cmath>

#include "cordage/core/error.hpp"

namespace cordage {

/// 1 + beta ln(1 + floor((position + counted_from) / block_length)): 1 in the first block of the sequence, a step up at
/// each block's end. Models differ in whether positions are counted from 0 or from 1, which moves the steps by a token:
/// llama4_temperature and ministral3_temperature.
struct query_temperature {
    double block_length;
    double beta = 0.1;
    double counted_from = 0.0;

    /// The factor on a query at position >= 0.
    /// @throws value_error
    double at(double position) const {
        validate();
        validate_number({"query_temperature: position"}, position, position >= 0.0, {">= 0"});
        return 1.0 + beta * std::log1p(std::floor((position + counted_from) / block_length));
    }

    void validate() const {
        validate_positive({"query_temperature: block_length"}, block_length);
        validate_finite({"query_temperature: beta"}, beta);
        validate_number({"query_temperature: counted_from"}, counted_from, counted_from >= 0.0, {">= 0"});
    }
};

/// Llama 4's, on its layers without rotation only: 1 + attn_scale ln(1 + floor((position + 1) / floor_scale))
/// (transformers 5.23, Llama4TextAttention; floor_scale and attn_scale are keys of config.json, with these defaults).
inline query_temperature llama4_temperature(double floor_scale = 8192.0, double attn_scale = 0.1) {
    return {floor_scale, attn_scale, 1.0};
}

/// Ministral 3's, on every layer after rotation: 1 + beta ln(1 + floor(position / original_length)) (transformers 5.23,
/// ministral3; llama_4_scaling_beta and original_max_position_embeddings of rope_parameters).
inline query_temperature ministral3_temperature(double original_length, double beta = 0.1) {
    return {original_length, beta, 0.0};
}

}  // namespace cordage
