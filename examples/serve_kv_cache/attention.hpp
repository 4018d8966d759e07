// SPDX-License-Identifier: MIT
// Attention of one token's queries to the cached keys of its sequence; reads K once, then V.
#pragma once

#include <cmath>

#include "lanes.hpp"
#include "sequence.hpp"

// [queries_ahead]
/// Queries for the keys of one run of tokens that were stored at positions `ahead` of their present ones.
struct queries_of_run {
    cordage::index_t end;  ///< the token behind the run
    std::vector<float> q;  ///< [tokens, heads, head_dim]
};
/// Keys behind dropped tokens are not moved. Queries are, since a score depends on the difference of positions alone:
/// one rotation of q for each run of tokens that are equally far ahead.
///
/// @param q  of the newest tokens, [tokens, heads, head_dim], rotated at the positions of their own keys
template <cordage::element T>
std::vector<queries_of_run> queries_ahead(const sequence<T>& keys, const std::vector<float>& q, cordage::index_t tokens,
                                          cordage::index_t heads) {
    using cordage::index_t;
    const auto ahead = [&](index_t token) { return keys.stored_position(token) - static_cast<std::int32_t>(token); };
    const auto ids = [&](index_t run) {
        std::vector<std::int32_t> all(static_cast<std::size_t>(tokens));
        std::iota(all.begin(), all.end(), static_cast<std::int32_t>(keys.length() - tokens) + ahead(run));
        return all;
    };
    const std::vector<std::int32_t> own_ids = ids(keys.length() - 1);
    std::vector<queries_of_run> runs;
    for (index_t begin = 0, end; begin < keys.length(); begin = end) {
        for (end = begin + 1; end < keys.length() && ahead(end) == ahead(begin);) ++end;
        runs.push_back({end, q});
        const std::vector<std::int32_t> run_ids = ids(begin);
        if (run_ids == own_ids) continue;
        cordage::rebase<cordage::half_split>(
            cordage::exact_angles(keys.basis(), run_ids) - cordage::exact_angles(keys.basis(), own_ids),
            cordage::in_place(
                cordage::token_major(runs.back().q.data(), {1, tokens, heads, keys.cache().shape().head_dim})));
    }
    return runs;
}
// [/queries_ahead]

/// out = softmax(q k^T / sqrt(head_dim)) v over the first `length` tokens; neighbouring query heads share a cached one.
///
/// @param runs  queries rotated by keys.basis(), of which those at `query` are read; heads a multiple of the cache's
/// @param out   [heads, head_dim]
/// @throws cordage::error  if a block's keys were rotated by another basis, which would make scores meaningless
template <cordage::element T>
void attend(const sequence<T>& keys, cordage::index_t length, const std::vector<queries_of_run>& runs,
            cordage::index_t query, cordage::index_t heads, float* out) {
    using cordage::index_t;
    paged_cache<T>& cache = keys.cache();
    const index_t head_dim = cache.shape().head_dim, group = heads / cache.shape().heads;
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    const std::uint64_t tag = keys.basis().fingerprint();
    const auto count = static_cast<std::size_t>(heads);
    std::vector<float> scores(static_cast<std::size_t>(length) * count);  // [length, heads]
    std::vector<float> largest(count, -INFINITY), sums(count, 0.0f);
    std::size_t run = 0;
    for (index_t token = 0; token < length; ++token) {
        while (token >= runs[run].end) ++run;
        const float* const q = runs[run].q.data() + query * heads * head_dim;
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
