// SPDX-License-Identifier: MIT
// A server's cache of keys and values: blocks of a few tokens, each tagged with the basis of its keys.
#pragma once

#include <cstdint>
#include <vector>

#include "cordage/cordage.hpp"

struct cache_shape {
    cordage::index_t blocks;
    cordage::index_t block_tokens;
    cordage::index_t heads;
    cordage::index_t head_dim;
};

/// Keys and values, each [blocks, block_tokens, heads, head_dim].
template <cordage::element T>
class paged_cache {
 public:
    explicit paged_cache(const cache_shape& shape)
        : shape_(shape),
          keys_(static_cast<std::size_t>(shape.blocks * shape.block_tokens * token_size())),
          values_(keys_.size()),
          tags_(static_cast<std::size_t>(shape.blocks)) {
        for (cordage::index_t i = 0; i < shape.blocks; ++i) free_.push_back(static_cast<std::int32_t>(i));
        for (std::size_t i = 1; i < free_.size(); i += 2) std::swap(free_[i], free_[i / 2]);  // an irregular order
    }

    const cache_shape& shape() const noexcept { return shape_; }
    cordage::index_t token_size() const noexcept { return shape_.heads * shape_.head_dim; }

    /// Takes a free block.
    std::int32_t take() {
        if (free_.empty()) throw cordage::error(cordage::message("cache: all ", shape_.blocks, " blocks are taken"));
        const std::int32_t block = free_.back();
        free_.pop_back();
        return block;
    }

    /// Gives a block back.
    void give(std::int32_t block) { free_.push_back(block); }

    /// The key or value of one token, [heads, head_dim].
    T* key(std::int32_t block, cordage::index_t slot) noexcept { return keys_.data() + offset(block, slot); }
    T* value(std::int32_t block, cordage::index_t slot) noexcept { return values_.data() + offset(block, slot); }

    /// The fingerprint of the basis by which a block's keys are rotated.
    std::uint64_t& tag(std::int32_t block) noexcept { return tags_[static_cast<std::size_t>(block)]; }

    /// All keys and all values, [blocks, block_tokens, heads, head_dim].
    cordage::heads_view<T> keys() noexcept { return view(keys_); }
    cordage::heads_view<T> values() noexcept { return view(values_); }

 private:
    cordage::heads_view<T> view(std::vector<T>& all) const noexcept {
        return cordage::token_major(all.data(), {shape_.blocks, shape_.block_tokens, shape_.heads, shape_.head_dim});
    }
    cordage::index_t offset(std::int32_t block, cordage::index_t slot) const noexcept {
        return (block * shape_.block_tokens + slot) * token_size();
    }

    cache_shape shape_;
    std::vector<T> keys_, values_;
    std::vector<std::uint64_t> tags_;
    std::vector<std::int32_t> free_;
};
