// SPDX-License-Identifier: MIT
// Cached keys moved from one basis to another, contiguous, strided or paged; stage rotation.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cordage/rotate/forward.hpp"

namespace cordage {

/// Keys were rotated with `from` and shall be as if rotated with `to`. Refers to both bases.
struct basis_change {
    const basis& from;
    const basis& to;
};

/// Positions as exact_angles takes them: a row of them (vector, array, span), or a position_view.
template <class P>
concept token_positions = requires(const basis& b, const P& position_ids) {
    exact_angles(b, position_ids);
};

/// Which blocks of a paged cache hold the keys of which positions.
template <position_type P>
struct paged_positions {
    std::span<const std::int32_t> block_table;  ///< blocks of the cache to change, each at most once
    position_view<P> position_ids;              ///< [block_table.size(), tokens of a block]
};

namespace rotate_detail {

template <position_type P, class T>
void check_blocks(const char* who, const paged_positions<P>& where, const heads_view<T>& cache) {
    const index_t listed = std::ssize(where.block_table);
    if (where.position_ids.batch != listed || where.position_ids.tokens != cache.shape.tokens) {
        throw shape_error(message(who, ": position_ids [", where.position_ids.batch, ", ", where.position_ids.tokens,
                                  "] must be [blocks of the table, tokens of a block] = [", listed, ", ",
                                  cache.shape.tokens, "]"));
    }
    std::vector<bool> is_listed(static_cast<std::size_t>(cache.shape.batch));
    for (index_t i = 0; i < listed; ++i) {
        const std::int32_t block = where.block_table[static_cast<std::size_t>(i)];
        if (block < 0 || block >= cache.shape.batch) {
            throw value_error(message(who, ": block_table[", i, "] ", block, " must be >= 0 and < the cache's blocks, ",
                                      cache.shape.batch));
        }
        if (is_listed[static_cast<std::size_t>(block)]) {
            throw value_error(
                message(who, ": block_table[", i, "] ", block, " must be listed once, or it turns twice"));
        }
        is_listed[static_cast<std::size_t>(block)] = true;
    }
}

/// One block of a cache as a tensor of one row.
template <class T>
operand<T> block_of(operand<T> cache, index_t block) noexcept {
    cache.x.data += block * cache.x.batch_stride;
    cache.y.data += block * cache.y.batch_stride;
    cache.x.shape.batch = cache.y.shape.batch = 1;
    return cache;
}

}  // namespace rotate_detail

/// Moves cached keys to another basis without the keys they were made of:
///
///   y = (m_to / m_from) R(position (theta_to - theta_from)) x
///
///   rebase<half_split>({.from = old_basis, .to = new_basis}, position_ids, in_place(keys));
///
/// @tparam Pairing      half_split or interleaved, as the keys were rotated
/// @param how           (optional; before change) who runs it, as rotate_forward's
/// @param position_ids  of the keys, [tokens] or [batch, tokens], any position type
/// @param first,more    one or more caches [batch, tokens, heads, head_dim] of one type and of one set of positions,
///                      such as the layers of a model; strides as rotate_forward's; in_place or from_to
/// @throws shape_error or value_error  as rotate_forward and basis::relative_to, before anything is written
/// Precision: the angle is exact, however many changes came before (basis::relative_to); what each change adds is
/// rotate_forward's rounding, in cos, sin and on store (docs/precision.md). Allocates 32 bytes a pair.
template <pairing Pairing, class Backend = backend::fastest, executor Executor, token_positions Positions, element T,
          class... More>
requires(std::same_as<More, operand<T>>&&...) void rebase(const Executor& how, const basis_change& change,
                                                          const Positions& position_ids, const operand<T>& first,
                                                          const More&... more) {
    const std::array<operand<T>, 1 + sizeof...(More)> all{first, more...};
    const basis turn = change.to.relative_to(change.from);
    const exact_angles angles(turn, position_ids);
    rotate_detail::rotate<Pairing, Backend, backend::forward, Executor, decltype(angles), T>("rebase", how, angles,
                                                                                             all);
}
/// The same, run serially.
template <pairing Pairing, class Backend = backend::fastest, token_positions Positions, element T, class... More>
requires(std::same_as<More, operand<T>>&&...) void rebase(const basis_change& change, const Positions& position_ids,
                                                          const operand<T>& first, const More&... more) {
    rebase<Pairing, Backend>(serial{}, change, position_ids, first, more...);
}

/// As above for the blocks of a paged cache, all listed ones in one call; other blocks are neither read nor written.
///
///   paged_positions<std::int32_t> where{block_table, {ids.data(), blocks, block_size, block_size}};
///   rebase<half_split>({.from = old_basis, .to = new_basis}, where, in_place(cache));
///
/// @param where     the blocks and the positions of their tokens. Slots that hold no key yet may have any position,
///                  but not NaN. A block that several sequences share is listed once: they hold it at the same
///                  positions
/// @param first,more  caches [blocks, tokens of a block, heads, head_dim], in whatever order the strides put them
/// @throws shape_error or value_error  as above, and for a block that is not in the cache or listed twice
/// Allocates one bit a block of the cache besides.
template <pairing Pairing, class Backend = backend::fastest, executor Executor, position_type P, element T,
          class... More>
requires(std::same_as<More, operand<T>>&&...) void rebase(const Executor& how, const basis_change& change,
                                                          const paged_positions<P>& where, const operand<T>& first,
                                                          const More&... more) {
    using namespace rotate_detail;
    const std::array<operand<T>, 1 + sizeof...(More)> all{first, more...};
    const basis turn = change.to.relative_to(change.from);
    check_view("rebase", "x", first.x);
    check_blocks("rebase", where, first.x);
    if (where.block_table.empty()) return;
    const index_t tokens = where.position_ids.tokens;
    const auto angles_of = [&](index_t listed) {
        const auto& ids = where.position_ids;
        return exact_angles<P>(turn, position_view<P>(ids.data + listed * ids.batch_stride, 1, tokens, 0));
    };
    exact_angles<P>(turn, where.position_ids).check_positions("rebase");
    check_all("rebase", angles_of(0), std::span<const operand<T>>(all));

    if (has_no_elements(std::span<const operand<T>>(all))) return;

    using backend::rotate_range;
    const auto slice = [&](index_t begin, index_t end) noexcept {
        for (index_t next; begin < end; begin = next) {
            const index_t listed = begin / tokens;
            next = std::min(end, (listed + 1) * tokens);
            auto block = all;
            for (auto& o : block) o = block_of(o, where.block_table[static_cast<std::size_t>(listed)]);
            rotate_range<Pairing, backend::forward>(Backend{}, angles_of(listed), std::span<const operand<T>>(block),
                                                    begin - listed * tokens, next - listed * tokens);
        }
    };
    for_each_range(how, std::ssize(where.block_table) * tokens, smallest_slice, slice);
}
/// The same, run serially.
template <pairing Pairing, class Backend = backend::fastest, position_type P, element T, class... More>
requires(std::same_as<More, operand<T>>&&...) void rebase(const basis_change& change, const paged_positions<P>& where,
                                                          const operand<T>& first, const More&... more) {
    rebase<Pairing, Backend>(serial{}, change, where, first, more...);
}

}  // namespace cordage
