// SPDX-License-Identifier: MIT
// One sequence in a paged cache: keys are rotated when stored, and rebased when the basis changes. Keys behind dropped
// tokens stay as they are: their positions are those at which they were stored.
#pragma once

#include <numeric>
#include <span>

#include "paged_cache.hpp"

template <cordage::element T>
class sequence {
 public:
    using index_t = cordage::index_t;

    /// @param cache  must outlive the sequence
    sequence(paged_cache<T>& cache, cordage::basis basis) : cache_(&cache), basis_(std::move(basis)) {}

    const cordage::basis& basis() const noexcept { return basis_; }
    index_t length() const noexcept { return std::ssize(position_ids_); }
    paged_cache<T>& cache() const noexcept { return *cache_; }

    /// The block and slot of a token.
    std::int32_t block(index_t token) const { return table_[static_cast<std::size_t>(token / block_tokens())]; }
    index_t slot(index_t token) const { return token % block_tokens(); }

    // [rebase_to]
    /// Rebases all keys to `next`. Returns whether the basis has changed.
    bool rebase_to(const cordage::basis& next) {
        if (next.fingerprint() == basis_.fingerprint()) return false;
        cordage::rebase<cordage::half_split>(
            cordage::exact_angles(next, position_ids_) - cordage::exact_angles(basis_, position_ids_),
            cordage::in_place(keys()));
        for (const std::int32_t block : table_) cache_->tag(block) = next.fingerprint();
        basis_ = next;
        return true;
    }
    /// All keys, [1, length, heads, head_dim], wherever their blocks lie.
    cordage::heads_view<T> keys() const {
        return cordage::in_blocks(cache_->keys(), table_.data(), 1, length(), static_cast<index_t>(table_.size()));
    }
    // [/rebase_to]

    /// Reserves slots for tokens. Returns the slot of each, for values and for keys rotated by basis().
    std::vector<std::int32_t> append(index_t tokens) {
        const index_t before = length();
        for (index_t i = 0; i < tokens; ++i) {
            if (length() % block_tokens() == 0) add_block();
            position_ids_.push_back(position_ids_.empty() ? 0 : position_ids_.back() + 1);
        }
        return slots(before, tokens);
    }
    /// The position at which a token's key was stored.
    std::int32_t stored_position(index_t token) const { return position_ids_[static_cast<std::size_t>(token)]; }

    // [drop]
    /// Forgets the tokens of some blocks, such as the oldest of a long conversation. Tokens behind them move to lower
    /// positions without a change of their keys: stored_position(i) - i says by how much a query for key i is ahead.
    void drop(index_t first_block, index_t blocks) {
        const auto cut = [&](auto& all, index_t each) {
            return all.erase(all.begin() + first_block * each, all.begin() + (first_block + blocks) * each);
        };
        for (index_t i = 0; i < blocks; ++i) cache_->give(table_[static_cast<std::size_t>(first_block + i)]);
        cut(table_, 1), cut(position_ids_, block_tokens());
    }
    /// Moves all keys to their present positions, with one rounding each.
    void renumber() {
        std::vector<std::int32_t> present(position_ids_.size());
        std::iota(present.begin(), present.end(), 0);
        cordage::rebase<cordage::half_split>(
            cordage::exact_angles(basis_, present) - cordage::exact_angles(basis_, position_ids_),
            cordage::in_place(keys()));
        position_ids_ = std::move(present);
    }
    // [/drop]

    // [append_copy]
    /// Appends copies of tokens in this cache, such as a document that another sequence or an earlier turn has read:
    /// keys are rotated from their old positions and basis to the new ones on their way to other slots; values are
    /// copied.
    void append_copy(const sequence& from, index_t begin, index_t tokens) {
        append(tokens);
        copy(from, begin, length() - tokens, tokens);
    }
    /// As append_copy, onto existing tokens of this sequence.
    void copy(const sequence& from, index_t begin, index_t to, index_t tokens) {
        const std::vector<std::int32_t> old_slots = from.slots(begin, tokens), new_slots = slots(to, tokens);
        const auto ids = [&](const sequence& of, index_t first) {
            return std::span(of.position_ids_)
                .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(tokens));
        };
        const std::span<const std::int32_t> old_ids = ids(from, begin), new_ids = ids(*this, to);
        const auto moved = [&](const cordage::heads_view<T>& all) {
            return cordage::from_to(cordage::in_slots(all, old_slots.data(), 1, tokens),
                                    cordage::in_slots(all, new_slots.data(), 1, tokens));
        };
        cordage::rebase<cordage::half_split>(
            cordage::exact_angles(basis_, new_ids) - cordage::exact_angles(from.basis_, old_ids), moved(cache_->keys()),
            moved(cache_->values()).unrotated());
    }
    // [/append_copy]

 private:
    std::vector<std::int32_t> slots(index_t begin, index_t tokens) const {
        std::vector<std::int32_t> all;
        for (index_t token = begin; token < begin + tokens; ++token) {
            all.push_back(static_cast<std::int32_t>(block(token) * block_tokens() + slot(token)));
        }
        return all;
    }

    index_t block_tokens() const noexcept { return cache_->shape().block_tokens; }

    void add_block() {
        table_.push_back(cache_->take());
        cache_->tag(table_.back()) = basis_.fingerprint();
    }

    paged_cache<T>* cache_;
    cordage::basis basis_;
    std::vector<std::int32_t> table_;
    std::vector<std::int32_t> position_ids_;  // at which its keys were stored
};
