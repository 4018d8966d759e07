// SPDX-License-Identifier: MIT
// Which tensors can move in pieces of up to 16 bytes; serves the CUDA backend.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "cordage/pair/format.hpp"
#include "cordage/tensors/heads_view.hpp"
#include "cordage/tensors/rms_norm.hpp"

namespace cordage::backend {

/// Types that move in pieces. __half and __nv_bfloat16 have the same bits: reinterpret_cast their pointers. Elements of
/// other types and formats are read and stored one at a time.
template <class T>
concept piece_element = std::same_as<T, float> || std::same_as<T, float16> || std::same_as<T, bfloat16>;

/// Whether the weights of a norm are read in runs.
template <class Norm>
inline constexpr bool is_run_norm = false;
template <>
inline constexpr bool is_run_norm<no_norm> = true;
template <piece_element W>
inline constexpr bool is_run_norm<rms_norm<W>> = true;

/// Whether a pointer is a multiple of a number of bytes.
inline bool is_aligned(const void* pointer, index_t bytes) noexcept {
    return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(pointer)) % bytes == 0;
}

/// Whether every head of a view begins at a multiple of `size` elements and of `bytes` bytes, a power of two.
template <class T, class Format>
bool has_heads_of_pieces(const heads_view<T, Format>& v, index_t size, index_t bytes) noexcept {
    const auto steps_whole = [size](index_t count, index_t stride) { return count <= 1 || stride % size == 0; };
    const heads_shape& s = v.shape;
    const bool is_paged = v.slots.entries != nullptr;
    return is_aligned(v.data, bytes) && steps_whole(is_paged ? 2 : s.batch, v.batch_stride) &&
           steps_whole(is_paged ? 2 : s.tokens, v.token_stride) && steps_whole(s.heads, v.head_stride);
}

}  // namespace cordage::backend
