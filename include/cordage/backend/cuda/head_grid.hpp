// SPDX-License-Identifier: MIT
// Where the heads of a launch lie, in the form that kernels of teams read: strides of 32 bits, slots, and the heads of
// all operands counted together; serves the CUDA backend.
#pragma once

#include <algorithm>

#include "cordage/backend/cuda/elements.hpp"

namespace cordage::backend {

/// Operands of one launch.
inline constexpr std::size_t most_operands = 4;

/// Strides and sizes up to here take 32 bits, and a product one multiplication.
inline constexpr index_t most_small_size = (index_t{1} << 31) - 1;

/// n, at most most_small_size.
constexpr std::int32_t small(index_t n) noexcept { return static_cast<std::int32_t>(n); }

/// Whether the sizes and strides of a view, other than that of rows, are small.
template <class T, class Format>
bool is_small(const heads_view<T, Format>& v) noexcept {
    const heads_shape& s = v.shape;
    const slot_table& slots = v.slots;
    return std::max({s.batch, s.tokens, v.token_stride, v.head_stride}) <= most_small_size &&
           (slots.entries == nullptr || saturated_product(slots.blocks, slots.block_size) <= most_small_size);
}

/// The heads of a dense tensor.
template <class T>
struct head_grid {
    T* data = nullptr;
    index_t row_stride = 0;
    std::int32_t token_stride = 0, head_stride = 0;

    head_grid() = default;
    /// @param lane  of a head at which `data` shall point
    template <class Format>
    head_grid(const heads_view<T, Format>& v, index_t lane) noexcept
        : data(v.data + lane),
          row_stride(v.batch_stride),
          token_stride(small(v.token_stride)),
          head_stride(small(v.head_stride)) {}

    CORDAGE_HOST_DEVICE T* at(index_t row, std::int32_t token, std::int32_t head = 0) const noexcept {
        return data + row * row_stride + index_t{token} * token_stride + index_t{head} * head_stride;
    }
};

/// The heads of a dense tensor, or of a cache with slots.
template <class T>
struct slotted_grid : head_grid<T> {
    const void* entries = nullptr;  // as slot_table, whose location_of this computes with one division of 32 bits
    index_t entry_stride = 0;       // from row to row
    std::int32_t block_size = 1, blocks = 0;
    bool is_wide = false, is_by_block = false;

    /// A token of a dense tensor, or a slot of a block. Row -1: a token without a slot.
    struct place {
        std::int32_t row, token;
    };

    slotted_grid() = default;
    template <class Format>
    explicit slotted_grid(const heads_view<T, Format>& v) noexcept
        : head_grid<T>(v, 0),
          entries(v.slots.entries),
          entry_stride(v.slots.row_stride),
          block_size(small(v.slots.block_size)),
          blocks(small(v.slots.blocks)),
          is_wide(v.slots.is_wide),
          is_by_block(v.slots.tokens_of_entry != 1) {}

    CORDAGE_HOST_DEVICE place place_of(std::int32_t row, std::int32_t token) const noexcept {
        if (entries == nullptr) return {row, token};
        auto number = static_cast<std::uint32_t>(token);
        if (!is_by_block) {
            const index_t slot = entry(row, number);
            if (slot < 0 || slot >= index_t{blocks} * block_size) return {-1, 0};
            number = static_cast<std::uint32_t>(slot);
        }
        const auto size = static_cast<std::uint32_t>(block_size);
        index_t block = number / size;
        if (is_by_block) block = entry(row, number / size);
        if (block < 0 || block >= blocks) return {-1, 0};
        return {static_cast<std::int32_t>(block), static_cast<std::int32_t>(number % size)};
    }

 private:
    CORDAGE_HOST_DEVICE index_t entry(std::int32_t row, std::uint32_t i) const noexcept {
        const index_t at = row * entry_stride + i;
        return is_wide ? static_cast<const std::int64_t*>(entries)[at] : static_cast<const std::int32_t*>(entries)[at];
    }
};

/// The heads of all operands of a launch, counted together: operand i has the numbers from starts[i] on, up to the
/// start of the next one.
struct head_count {
    std::int32_t starts[most_operands] = {};
    std::int32_t all = 0;

    /// Adds the heads of the next operand, from a multiple of `multiple` on.
    void add(std::size_t operand, index_t heads, index_t multiple = 1) noexcept {
        starts[operand] = small(rounded_up_quotient(all, multiple) * multiple);
        all = starts[operand] + small(heads);
        for (std::size_t i = operand + 1; i < most_operands; ++i) starts[i] = small(most_small_size);
    }
    CORDAGE_HOST_DEVICE std::int32_t operand_of(std::int32_t number) const noexcept {
        std::int32_t operand = 0;
        for (std::size_t i = 1; i < most_operands; ++i) operand += number >= starts[i] ? 1 : 0;
        return operand;
    }
};

}  // namespace cordage::backend
