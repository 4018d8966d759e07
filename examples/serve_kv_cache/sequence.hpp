// SPDX-License-Identifier: MIT
// One sequence in a paged cache: keys are rotated as they come in, and turn along when the basis changes.
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
    index_t length() const noexcept { return std::ssize(position_ids_); }
    paged_cache<T>& cache() const noexcept { return *cache_; }

    /// The block and slot of a token.
    std::int32_t block(index_t token) const { return table_[static_cast<std::size_t>(token / block_tokens())]; }
    index_t slot(index_t token) const { return token % block_tokens(); }

    // [turn_to]
    /// Turns all keys so that they are as if rotated by `next`. Returns whether there was anything to do.
    bool turn_to(const cordage::basis& next) {
        if (next.fingerprint() == basis_.fingerprint()) return false;
        cordage::rebase<cordage::half_split>(
            cordage::exact_angles(next, position_ids_) - cordage::exact_angles(basis_, position_ids_),
            cordage::in_place(keys()));
        for (const std::int32_t block : table_) cache_->tag(block) = next.fingerprint();
        basis_ = next;
        return true;
    }
    // [/turn_to]

    /// All keys, [1, length, heads, head_dim], wherever their blocks lie.
    cordage::heads_view<T> keys() const {
        return cordage::in_blocks(cache_->keys(), table_.data(), 1, length(), static_cast<index_t>(table_.size()));
    }

    /// Takes in tokens by their values [tokens, heads, head_dim]. Returns the slot of each, for keys rotated by basis().
    std::vector<std::int32_t> append(const float* values, index_t tokens) {
        std::vector<std::int32_t> slots;
        for (index_t i = 0; i < tokens; ++i, values += cache_->token_size()) {
            if (length() % block_tokens() == 0) add_block();
            const index_t place = slot(length());
            std::transform(values, values + cache_->token_size(), cache_->value(table_.back(), place),
                           [](float x) { return cordage::element_traits<T>::store(x); });
            slots.push_back(table_.back() * static_cast<std::int32_t>(block_tokens()) + static_cast<std::int32_t>(place));
            position_ids_.push_back(static_cast<std::int32_t>(length()));
        }
        return slots;
    }

 private:
    index_t block_tokens() const noexcept { return cache_->shape().block_tokens; }

    void add_block() {
        table_.push_back(cache_->take());
        cache_->tag(table_.back()) = basis_.fingerprint();
    }

    paged_cache<T>* cache_;
    cordage::basis basis_;
    std::vector<std::int32_t> table_;
    std::vector<std::int32_t> position_ids_;  // of its tokens
};
