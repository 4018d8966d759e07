// SPDX-License-Identifier: MIT
// Log-n scaling of attention scores; stage attention.
#pragma once

#include <algorithm>
#include <cmath>

#include "cordage/core/error.hpp"

namespace cordage {

namespace attention_detail {

inline double log_ratio(const char* who, double seq_len, double train_length) {
    validate_number({who, ": seq_len"}, seq_len, seq_len >= 1.0, {">= 1"});
    validate_number({who, ": train_length"}, train_length, train_length > 1.0, {"> 1"});
    return std::log(seq_len) / std::log(train_length);
}

}  // namespace attention_detail

/// max{1, log_train_length(seq_len)}, the factor on attention scores (CLEX, appendix A.3).
inline double log_scaling(double seq_len, double train_length) {
    return std::max(1.0, attention_detail::log_ratio("log_scaling", seq_len, train_length));
}

/// log_train_length(seq_len) without the max, as CLEX's released code multiplies queries (with train_length =
/// max_position_embeddings): below train_length it shrinks the scores.
inline double unclamped_log_scaling(double seq_len, double train_length) {
    return attention_detail::log_ratio("unclamped_log_scaling", seq_len, train_length);
}

}  // namespace cordage
