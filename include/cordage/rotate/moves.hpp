// SPDX-License-Identifier: MIT
// Checks of tokens that move within one cache: no slot is written before it is read; stage rotation.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/token_chunks.hpp"
#include "cordage/tensors/heads_view.hpp"

namespace cordage::rotate_detail {

/// A hash table from at most `most` slots to numbers >= 0, at most half full.
class slot_map {
 public:
    explicit slot_map(index_t most) : entries_(most == 0 ? 0 : std::bit_ceil(2 * static_cast<std::size_t>(most))) {}

    /// Stores a slot's number; returns its previous one, or -1.
    index_t exchange(index_t slot, index_t number) {
        entry& at = entries_[place_of(slot)];
        at.slot = slot;
        return std::exchange(at.number, number);
    }
    /// The number of a slot, or -1. The table must not be empty.
    index_t of(index_t slot) const { return entries_[place_of(slot)].number; }

 private:
    struct entry {
        index_t slot = -1;
        index_t number = -1;
    };
    // Index of the slot's entry, or of the free entry for it.
    std::size_t place_of(index_t slot) const {
        const std::size_t mask = entries_.size() - 1;
        auto place = static_cast<std::size_t>((static_cast<std::uint64_t>(slot) * 0x9e37'79b9'7f4a'7c15u) >> 32) & mask;
        while (entries_[place].slot != slot && entries_[place].number >= 0) place = (place + 1) & mask;
        return place;
    }
    std::vector<entry> entries_;
};

/// Whether two views lie in slots of one cache. The caller compares their formats.
inline bool are_of_one_cache(heads_memory a, heads_memory b) noexcept {
    if (a.slots.entries == nullptr || b.slots.entries == nullptr || a.slots.blocks != b.slots.blocks ||
        a.slots.block_size != b.slots.block_size) {
        return false;
    }
    a.slots = b.slots = {};
    return a == b;
}

/// Checks that the tokens of x and y, slots of one cache, can be processed in order: no token reads a slot that an
/// earlier one has written.
///
/// @returns  whether they must be processed in order, since one token writes a slot that another one reads
/// @throws value_error  naming the slot and both tokens, if order does not suffice
inline bool check_moves(const char* function, const heads_memory& x, const heads_memory& y) {
    const index_t tokens = x.shape.tokens, count = x.shape.batch * tokens;
    const auto slot_of = [](const heads_memory& v, index_t row, index_t token) {  // negative: skipped
        const slot_table::location at = v.slots.location_of(row, token);
        return at.block * v.slots.block_size + at.in_block;
    };
    const auto for_each_move = [&](const auto& f) {
        for_each_token(tokens, 0, count, [&](index_t row, index_t token) {
            const index_t from = slot_of(x, row, token), to = slot_of(y, row, token);
            if (from >= 0 && to >= 0) f(row * tokens + token, from, to);
        });
    };
    // A compaction needs no table: each token reads a slot above all slots written so far.
    bool is_compaction = true, is_identity = true;
    index_t first_from = -1, last_from = -1, highest_to = -1;
    for_each_move([&](index_t, index_t from, index_t to) {
        is_compaction = is_compaction && from > last_from && to <= from;
        is_identity = is_identity && to == from;
        if (first_from < 0) first_from = from;
        last_from = from, highest_to = std::max(highest_to, to);
    });
    if (is_compaction) return !is_identity && highest_to >= first_from;
    slot_map last_readers(count);
    bool is_read_twice = false, is_in_order = false;
    for_each_move([&](index_t number, index_t from, index_t) {
        if (last_readers.exchange(from, number) >= 0) is_read_twice = true;
    });
    for_each_move([&](index_t number, index_t, index_t to) {
        const index_t reader = last_readers.of(to);
        if (reader > number) {
            fail<value_error>({function, ": slot ", to, " is written by token [", number / tokens, ", ",
                               number % tokens, "] and read by token [", reader / tokens, ", ", reader % tokens,
                               "], which must come first; list moves to lower slots in ascending order, ",
                               "to higher ones in descending order"});
        }
        if (reader >= 0 && (reader != number || is_read_twice)) is_in_order = true;
    });
    return is_in_order;
}

}  // namespace cordage::rotate_detail
