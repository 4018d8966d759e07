// SPDX-License-Identifier: MIT
// Tensors moved between views and dense arrays [batch, tokens, heads, head_dim].
#pragma once

#include <algorithm>
#include <vector>

#include "rotate/naive_rotation.hpp"

namespace cordage_test {

/// Calls f(batch, token, head) for every head of a tensor.
template <class F>
void for_each_head(const heads_shape& shape, const F& f) {
    for (index_t b = 0; b < shape.batch; ++b) {
        for (index_t t = 0; t < shape.tokens; ++t) {
            for (index_t h = 0; h < shape.heads; ++h) f(b, t, h);
        }
    }
}

template <class T>
void scatter(const std::vector<T>& dense, const cordage::heads_view<T>& to) {
    const auto from = cordage::token_major(dense.data(), to.shape);
    for_each_head(to.shape, [&](index_t b, index_t t, index_t h) {
        std::copy_n(from.head(b, t, h), to.shape.head_dim, to.head(b, t, h));
    });
}

template <class T>
std::vector<T> gather(const cordage::heads_view<T>& from) {
    std::vector<T> dense(static_cast<std::size_t>(count(from.shape)));
    const auto to = cordage::token_major(dense.data(), from.shape);
    for_each_head(from.shape, [&](index_t b, index_t t, index_t h) {
        std::copy_n(from.head(b, t, h), from.shape.head_dim, to.head(b, t, h));
    });
    return dense;
}

}  // namespace cordage_test
