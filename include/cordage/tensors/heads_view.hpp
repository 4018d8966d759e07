// SPDX-License-Identifier: MIT
// Non-owning views of q, k and caches: the address and format of each token's heads; stage tensors.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/tensors/head_formats.hpp"

namespace cordage {

/// Sizes of q, k or a gradient, slowest first: [batch, tokens, heads, head_dim].
struct heads_shape {
    index_t batch = 1;
    index_t tokens = 0;
    index_t heads = 0;
    index_t head_dim = 0;

    CORDAGE_ALWAYS_INLINE friend bool operator==(const heads_shape&, const heads_shape&) noexcept = default;
};

/// The slot of a paged cache that holds each token: one entry for each token (a slot mapping) or for each block of
/// tokens (a block table). Slot s is slot s % block_size of block s / block_size. Tokens with entry -1 are neither read
/// nor written.
struct slot_table {
    const void* entries = nullptr;  ///< [rows, entries of a row], int32 or int64; null: tokens lie in order
    bool is_wide = false;           ///< whether entries are int64
    index_t row_stride = 0;         ///< entries from row to row
    index_t tokens_of_entry = 1;    ///< 1: entries are slots; block_size: entries are blocks
    index_t block_size = 1;         ///< slots of a block
    index_t blocks = 0;             ///< of the cache

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t entry(index_t i) const noexcept {
        return is_wide ? static_cast<const std::int64_t*>(entries)[i] : static_cast<const std::int32_t*>(entries)[i];
    }
    /// A block of the cache and the slot in it. The block is -1 for a token without a slot.
    struct location {
        index_t block;
        index_t in_block;
    };
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE location location_of(index_t row, index_t token) const noexcept {
        const bool is_by_block = tokens_of_entry != 1;
        const quotient_and_rest of_token = is_by_block ? divided(token, block_size) : quotient_and_rest{token, 0};
        const index_t found = entry(row * row_stride + of_token.quotient);
        if (found < 0) return {-1, 0};
        const quotient_and_rest at = is_by_block ? quotient_and_rest{found, of_token.rest} : divided(found, block_size);
        return at.quotient < blocks ? location{at.quotient, at.rest} : location{-1, 0};
    }

    CORDAGE_ALWAYS_INLINE friend bool operator==(const slot_table&, const slot_table&) noexcept = default;
};

namespace tensors_detail {

template <class T>
struct format_of_elements {
    static_assert(
        requires { sizeof(element_traits<T>); },
        "cordage: elements are float, double, float16 or bfloat16 (reinterpret_cast<bfloat16*>(address) of bits); "
        "others need a format, the third argument of token_major; docs/extending.md");
    using type = element_traits<T>;
};
template <class T>
using default_format = typename format_of_elements<std::remove_const_t<T>>::type;

}  // namespace tensors_detail

/// A view of [batch, tokens, heads, head_dim] lanes in a format (pair/format.hpp, tensors/head_formats.hpp). The last
/// stride is 1; the others count elements and may have any order, so that [tokens, heads, head_dim], [heads, tokens,
/// head_dim] and a slice of a fused qkv buffer are all views. With `slots` the tokens lie in the blocks of a cache:
/// batch_stride is then the stride between blocks and token_stride that between slots of a block (in_slots, in_blocks).
template <class T, class Format = tensors_detail::default_format<T>>
struct heads_view {
    T* data = nullptr;
    heads_shape shape;
    index_t batch_stride = 0;
    index_t token_stride = 0;
    index_t head_stride = 0;
    slot_table slots = {};
    Format format = {};

    /// First element of a token's first head, or null for a token without a slot.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr T* token(index_t batch, index_t token_index) const noexcept {
        if (slots.entries == nullptr) return data + batch * batch_stride + token_index * token_stride;
        const slot_table::location found = slots.location_of(batch, token_index);
        return found.block < 0 ? nullptr : data + found.block * batch_stride + found.in_block * token_stride;
    }
    /// Place of a token's first head: row and token, or block and slot.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE head_place place(index_t batch, index_t token_index) const noexcept {
        if (slots.entries == nullptr) return {batch, token_index, 0};
        const slot_table::location found = slots.location_of(batch, token_index);
        return {found.block, found.in_block, 0};
    }
    /// First element of one head of a token that has a slot.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr T* head(index_t batch, index_t token_index,
                                                                index_t head_index) const noexcept {
        return token(batch, token_index) + head_index * head_stride;
    }

    template <std::same_as<const T> ToConst>  // a template, since nvcc warns otherwise if T is const
        requires(!std::is_const_v<T>)
    constexpr operator heads_view<ToConst, Format>() const noexcept {
        return {data, shape, batch_stride, token_stride, head_stride, slots, format};
    }
};

/// [1, tokens, heads, head_dim] viewed as [heads, tokens, 1, head_dim]: each head is a row and may have its own basis
/// (bases.of_rows()), for frequencies that are learned per head.
///
/// @throws shape_error  unless the view is one row of tokens without slots; pass a batch row by row
template <class T, class Format>
heads_view<T, Format> heads_as_rows(const heads_view<T, Format>& v) {
    if (v.shape.batch != 1 || v.slots.entries != nullptr) {
        fail<shape_error>({"heads_as_rows: the view of batch ", v.shape.batch,
                           v.slots.entries != nullptr ? " in slots" : "", " must be one row of tokens without slots"});
    }
    static_assert(tensors_detail::has_heads_as_rows<Format, std::remove_const_t<T>>,
                  "cordage::heads_as_rows: a format of whole heads that has data beside the elements needs "
                  "'Format heads_as_rows() const', which returns the format of heads that became rows");
    heads_view<T, Format> rows = v;
    rows.shape.batch = v.shape.heads;
    rows.shape.heads = 1;
    rows.batch_stride = v.head_stride;
    if constexpr (head_format<Format, std::remove_const_t<T>>) rows.format = tensors_detail::heads_as_rows(v.format);
    return rows;
}

/// The memory of a view, without its type and format. Every view converts to it.
struct heads_memory {
    const void* data = nullptr;
    index_t element_size = 0;  ///< bytes
    index_t head_size = 0;     ///< contiguous elements of a head: all, or those of a group
    heads_shape shape;
    index_t batch_stride = 0;
    index_t token_stride = 0;
    index_t head_stride = 0;
    slot_table slots = {};
    index_t groups = 1;  ///< groups of a head (tensors/lane_groups.hpp)
    index_t group_stride = 0;

    heads_memory() = default;
    template <class T, class Format>
    CORDAGE_ALWAYS_INLINE heads_memory(const heads_view<T, Format>& v) noexcept
        : data(v.data),
          element_size(static_cast<index_t>(sizeof(T))),
          head_size(elements_of_head<Format>(v.shape.head_dim)),
          shape(v.shape),
          batch_stride(v.batch_stride),
          token_stride(v.token_stride),
          head_stride(v.head_stride),
          slots(v.slots) {
        if constexpr (requires { v.format.head_size(v.shape.head_dim); })
            head_size = v.format.head_size(v.shape.head_dim);
        if constexpr (requires { v.format.elements_of_group; }) {
            const index_t each = v.format.elements_of_group;
            if (each < 1 || head_size % each != 0) return;  // invalid; rejected when the format is checked
            groups = head_size / each;
            head_size = each;
            group_stride = v.format.group_stride;
        }
    }

    CORDAGE_ALWAYS_INLINE friend bool operator==(const heads_memory&, const heads_memory&) noexcept = default;
};

/// Whether two views have the same elements, strides, slots and format.
template <class T, class Format>
bool operator==(const heads_view<T, Format>& a, const heads_view<T, Format>& b) noexcept {
    return heads_memory(a) == heads_memory(b) && is_same_format(a.format, b.format);
}

/// View of a dense [batch, tokens, heads, head_dim] array. (A stride that overflows 64 bits becomes the largest
/// index_t, which every rotation rejects.)
template <class T, class Format = tensors_detail::default_format<T>>
CORDAGE_ALWAYS_INLINE constexpr heads_view<T, Format> token_major(T* data, const heads_shape& shape,
                                                                  const Format& format = {}) {
    const index_t head = elements_of_head<Format>(shape.head_dim), token = saturated_product(shape.heads, head);
    return {data, shape, saturated_product(shape.tokens, token), token, head, {}, format};
}

/// View of a dense [batch, heads, tokens, head_dim] array, the layout of transformers.
template <class T, class Format = tensors_detail::default_format<T>>
constexpr heads_view<T, Format> head_major(T* data, const heads_shape& shape, const Format& format = {}) {
    const index_t token = elements_of_head<Format>(shape.head_dim), head = saturated_product(shape.tokens, token);
    return {data, shape, saturated_product(shape.heads, head), token, head, {}, format};
}

/// Of an array: the error says what to write.
template <class Row>
    requires requires(const Row& row) { row.data(); }
auto token_major(const Row&, const heads_shape&) {
    static_assert(!sizeof(Row*), "cordage: token_major takes the address of elements: token_major(q.data(), shape)");
}
/// Of sizes without names: the error says what to write.
template <class T>
auto token_major(T*, index_t, index_t, index_t, index_t = 0) {
    static_assert(!sizeof(T*), "cordage: token_major takes sizes by name: {.tokens = 2, .heads = 8, .head_dim = 64}");
}

/// The sizes as text, "[1, 4, 8, 64]", for messages.
inline std::string describe(const heads_shape& s) {
    return message("[", s.batch, ", ", s.tokens, ", ", s.heads, ", ", s.head_dim, "]");
}

/// View of the same elements in another format.
template <class T, class Old, tensor_format<std::remove_const_t<T>> Format>
heads_view<T, Format> with_format(const heads_view<T, Old>& v, const Format& format) {
    return {v.data, v.shape, v.batch_stride, v.token_stride, v.head_stride, v.slots, format};
}

namespace tensors_detail {

template <class T, class Format, class Entries>
heads_view<T, Format> with_slots(heads_view<T, Format> cache, const Entries& entries, index_t batch, index_t tokens,
                                 index_t row_stride, index_t tokens_of_entry) {
    constexpr bool is_wide = std::convertible_to<Entries, const std::int64_t*>;
    static_assert(is_wide || std::convertible_to<Entries, const std::int32_t*>,
                  "cordage: the table of in_slots and in_blocks is the address of int32 or int64 numbers, "
                  "slot_mapping.data(); convert others, such as uint32");
    if (cache.slots.entries != nullptr) {
        fail<shape_error>({"in_slots and in_blocks: the view must be a whole cache, not tokens in slots of one"});
    }
    const std::conditional_t<is_wide, std::int64_t, std::int32_t>* const table = entries;
    if (table == nullptr && batch > 0 && tokens > 0) {
        fail<shape_error>(
            {"in_slots and in_blocks: the table nullptr must have entries for [", batch, ", ", tokens, "] tokens"});
    }
    cache.slots = {table, is_wide, row_stride, tokens_of_entry, cache.shape.tokens, cache.shape.batch};
    cache.shape.batch = batch;
    cache.shape.tokens = tokens;
    return cache;
}

}  // namespace tensors_detail

/// View of the tokens [batch, tokens] in a cache [blocks, block_size, heads, head_dim], a slot (int32 or int64) for
/// each token: vLLM's slot_mapping. Tokens with entry -1 are skipped.
///
///   rotate_forward<half_split>(angles, from_to(k, in_slots(cache, slot_mapping.data(), 1, tokens)));
///
/// @param slot_mapping  [batch, tokens] dense
/// @throws shape_error  for a cache that is itself a view in slots, and for a null table of tokens
template <class T, class Format, class Entries>
heads_view<T, Format> in_slots(const heads_view<T, Format>& cache, const Entries& slot_mapping, index_t batch,
                               index_t tokens) {
    return tensors_detail::with_slots(cache, slot_mapping, batch, tokens, tokens, index_t{1});
}

/// View of the tokens [batch, tokens] in a cache [blocks, block_size, heads, head_dim] by a table of blocks: token i of
/// a row is slot i % block_size of block block_table[row, i / block_size]. Blocks with entry -1 are skipped.
///
/// @param block_table  [batch, row_stride], of which the first tokens / block_size, rounded up, are read
template <class T, class Format, class Entries>
heads_view<T, Format> in_blocks(const heads_view<T, Format>& cache, const Entries& block_table, index_t batch,
                                index_t tokens, index_t row_stride) {
    return tensors_detail::with_slots(cache, block_table, batch, tokens, row_stride, cache.shape.tokens);
}

}  // namespace cordage
