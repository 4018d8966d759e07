// SPDX-License-Identifier: MIT
// ALiBi: a penalty on attention scores that grows with distance, instead of a rotation.
#pragma once

#include <cmath>
#include <iterator>
#include <span>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace own {

using cordage::fail, cordage::index_t, cordage::value_error;

/// One slope for each head: 2^(-8(i+1)/n), i = 0 ... n-1, for n heads if n is a power of two (Press et al. 2022). For
/// other n the slopes of the largest power of two c below n, followed by the first, third, fifth ... of those of 2c
/// (the authors' code; also BLOOM and MPT).
///
/// @throws value_error  unless heads is 1 to 2^20
inline std::vector<double> alibi_slopes(index_t heads) {
    constexpr index_t most = index_t{1} << 20;
    if (heads < 1 || heads > most) fail<value_error>({"alibi_slopes: heads ", heads, " must be 1 to ", most});
    index_t power = 1;
    while (2 * power <= heads) power *= 2;
    std::vector<double> slopes;
    const auto add = [&](index_t i, index_t n) {
        slopes.push_back(std::exp2(-8.0 * static_cast<double>(i + 1) / static_cast<double>(n)));
    };
    for (index_t i = 0; i < power; ++i) add(i, power);
    for (index_t i = 0; i < heads - power; ++i) add(2 * i, 2 * power);
    return slopes;
}

/// The bias added to the score of a query and a key: -slope (query - key), 0 for keys after the query.
inline double alibi_bias(double slope, double query_position, double key_position) noexcept {
    return key_position < query_position ? -slope * (query_position - key_position) : 0.0;
}

/// The biases of all heads, queries and keys: [heads, queries, keys] dense. Keys are at positions 0 ... keys-1, queries
/// at keys-queries ... keys-1, as in decoding with a cache.
///
/// @throws value_error  unless queries is 0 to keys and there are at most 2^58 biases
inline std::vector<double> alibi_bias(std::span<const double> slopes, index_t queries, index_t keys) {
    if (queries < 0 || queries > keys) {
        fail<value_error>({"alibi_bias: queries ", queries, " must be 0 to keys ", keys});
    }
    using cordage::view_axis;
    if (!cordage::is_addressable(view_axis{std::ssize(slopes), 0}, view_axis{queries, 0}, view_axis{keys, 0})) {
        fail<value_error>({"alibi_bias: slopes ", slopes.size(), " * queries ", queries, " * keys ", keys,
                           " entries must be at most 2^58"});
    }
    std::vector<double> bias;
    bias.reserve(slopes.size() * static_cast<std::size_t>(queries) * static_cast<std::size_t>(keys));
    for (const double slope : slopes) {
        for (index_t query = keys - queries; query < keys; ++query) {
            for (index_t key = 0; key < keys; ++key) {
                bias.push_back(alibi_bias(slope, static_cast<double>(query), static_cast<double>(key)));
            }
        }
    }
    return bias;
}

}  // namespace own
