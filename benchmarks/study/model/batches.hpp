// SPDX-License-Identifier: MIT
// Windows as tensors, with the rows whose targets are scored.
#pragma once

#include <ATen/ATen.h>

#include <span>
#include <vector>

#include "model/recipes.hpp"
#include "text/windows.hpp"

namespace demo {

/// Windows of one length. Rows number the tokens of all windows: the row of token i predicts tokens[i + 1] of its
/// window.
struct batch {
    at::Tensor inputs;   ///< [windows, tokens] int64
    at::Tensor rows;     ///< [scored] int64, in order
    at::Tensor targets;  ///< [scored] int64
};

/// @param is_scored  is_scored(window, i): whether the prediction of tokens[i] is scored; not called for i = 0
template <class IsScored>
batch batch_of(std::span<const window> windows, const IsScored& is_scored) {
    std::vector<std::int64_t> inputs, rows, targets;
    for (const window& w : windows) {
        const auto first = static_cast<std::int64_t>(inputs.size());
        inputs.insert(inputs.end(), w.tokens.begin(), w.tokens.end() - 1);
        for (index_t i = 1; i <= w.length(); ++i) {
            if (!is_scored(w, i)) continue;
            rows.push_back(first + i - 1);
            targets.push_back(w.tokens[static_cast<std::size_t>(i)]);
        }
    }
    return {at::tensor(inputs, at::kLong).view({std::ssize(windows), -1}), at::tensor(rows, at::kLong),
            at::tensor(targets, at::kLong)};
}

/// Whether the token can be predicted from the preceding ones.
inline bool is_guessable(const window& w, index_t i) {
    return w.kinds[static_cast<std::size_t>(i)] != token_kind::random;
}

/// Whether the prediction of tokens[i] is scored.
inline bool is_scored(scored_tokens which, const window& w, index_t i) {
    const token_kind kind = w.kinds[static_cast<std::size_t>(i)];
    return which == scored_tokens::all ? is_guessable(w, i) : kind == token_kind::copied || kind == token_kind::value;
}

}  // namespace demo
