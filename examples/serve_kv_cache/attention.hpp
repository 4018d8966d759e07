// SPDX-License-Identifier: MIT
// Attention of one token's queries to the cached keys of its sequence; reads K once, then V.
#pragma once

#include <cmath>

#include "lanes.hpp"
#include "sequence.hpp"

/// out = softmax(q k^T / sqrt(head_dim)) v over the first `length` tokens; neighbouring query heads share a cached one.
///
/// @param q, out  [heads, head_dim], heads a multiple of the cache's; q rotated by keys.basis()
/// @throws cordage::error  if a block's keys were rotated by another basis, which would make scores meaningless
template <cordage::element T>
void attend(const sequence<T>& keys, cordage::index_t length, const float* q, cordage::index_t heads, float* out) {
    using cordage::index_t;
    paged_cache<T>& cache = keys.cache();
    const index_t head_dim = cache.shape().head_dim, group = heads / cache.shape().heads;
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    const std::uint64_t tag = keys.basis().fingerprint();
    const auto count = static_cast<std::size_t>(heads);
    std::vector<float> scores(static_cast<std::size_t>(length) * count);  // [length, heads]
    std::vector<float> largest(count, -INFINITY), sums(count, 0.0f);
    for (index_t token = 0; token < length; ++token) {
        const std::int32_t block = keys.block(token);
        if (cache.tag(block) != tag) {
            throw cordage::error(cordage::message("attend: block ", block, " was rotated by basis ", cache.tag(block),
                                                  ", must be by that of the query, ", tag));
        }
        float* const row = scores.data() + token * heads;
        const T* key = cache.key(block, keys.slot(token));
        for (index_t head = 0; head < heads; key += head_dim) {
            for (const index_t end = head + group; head < end; ++head) {
                row[head] = scale * dot(q + head * head_dim, key, head_dim);
                largest[static_cast<std::size_t>(head)] = std::max(largest[static_cast<std::size_t>(head)], row[head]);
            }
        }
    }
    std::fill(out, out + heads * head_dim, 0.0f);
    for (index_t token = 0; token < length; ++token) {
        const float* const row = scores.data() + token * heads;
        const T* value = cache.value(keys.block(token), keys.slot(token));
        for (index_t head = 0; head < heads; value += head_dim) {
            for (const index_t end = head + group; head < end; ++head) {
                const float weight = std::exp(row[head] - largest[static_cast<std::size_t>(head)]);
                sums[static_cast<std::size_t>(head)] += weight;
                add_scaled(weight, value, out + head * head_dim, head_dim);
            }
        }
    }
    for (index_t i = 0; i < heads * head_dim; ++i) out[i] /= sums[static_cast<std::size_t>(i / head_dim)];
}
