// SPDX-License-Identifier: MIT
// One sequence in a paged cache: keys come in rotated, and turn along when the basis changes.
#pragma once

#include <algorithm>
#include <numeric>

#include "paged_cache.hpp"

template <cordage::element T>
class sequence {
 public:
    using index_t = cordage::index_t;

    /// @param cache  outlives the sequence
    sequence(paged_cache<T>& cache, cordage::basis basis) : cache_(&cache), basis_(std::move(basis)) {}

    const cordage::basis& basis() const noexcept { return basis_; }
    index_t length() const noexcept { return length_; }
    paged_cache<T>& cache() const noexcept { return *cache_; }

    /// The block and slot of a token.
    std::int32_t block(index_t token) const { return table_[static_cast<std::size_t>(token / block_tokens())]; }
    index_t slot(index_t token) const { return token % block_tokens(); }

    // [turn_to]
    /// Turns all keys so that they are as if rotated by `next`. Returns whether there was anything to do.
    bool turn_to(const cordage::basis& next) {
        if (next.fingerprint() == basis_.fingerprint()) return false;
        const auto blocks = static_cast<index_t>(table_.size());
        const cordage::paged_positions<std::int32_t> where{
            table_, {position_ids_.data(), blocks, block_tokens(), block_tokens()}};
        cordage::rebase<cordage::half_split>({.from = basis_, .to = next}, where, cordage::in_place(cache_->keys()));
        for (const std::int32_t block : table_) cache_->tag(block) = next.fingerprint();
        basis_ = next;
        return true;
    }
    // [/turn_to]

    /// Takes in one token's key, rotated by basis(), and value, each [heads, head_dim].
    void append(const float* key, const float* value) {
        if (length_ % block_tokens() == 0) add_block();
        const auto store = [](float x) {
            return cordage::element_traits<T>::store(static_cast<cordage::compute_of<T>>(x));
        };
        std::transform(key, key + cache_->token_size(), cache_->key(table_.back(), slot(length_)), store);
        std::transform(value, value + cache_->token_size(), cache_->value(table_.back(), slot(length_)), store);
        ++length_;
    }

 private:
    index_t block_tokens() const noexcept { return cache_->shape().block_tokens; }

    void add_block() {
        table_.push_back(cache_->take());
        cache_->tag(table_.back()) = basis_.fingerprint();
        for (index_t i = 0; i < block_tokens(); ++i) position_ids_.push_back(static_cast<std::int32_t>(length_ + i));
    }

    paged_cache<T>* cache_;
    cordage::basis basis_;
    index_t length_ = 0;
    std::vector<std::int32_t> table_;
    std::vector<std::int32_t> position_ids_;  // [blocks of the table, block_tokens]
};
