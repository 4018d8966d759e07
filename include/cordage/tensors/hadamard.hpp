// SPDX-License-Identifier: MIT
// Formats whose heads are transformed by a Hadamard matrix before they are stored; stage tensors.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "cordage/tensors/ggml_blocks.hpp"
#include "cordage/tensors/heads_view.hpp"

namespace cordage {

namespace tensors_detail {

/// x + y for the lower of lanes i and i ^ Half, x - y for the upper one: the stages inside one vector.
template <index_t Half, class Lane>
CORDAGE_ALWAYS_INLINE Lane sums_within(const Lane& x) noexcept {
    using memory = lane_memory<Lane>;
    static constexpr auto signs = [] {
        std::array<float, static_cast<std::size_t>(memory::size)> of{};
        for (std::size_t i = 0; i < of.size(); ++i) of[i] = (i & static_cast<std::size_t>(Half)) == 0 ? 1.0f : -1.0f;
        return of;
    }();
    return lane_traits<Lane>::multiply_add(x, memory::load(signs.data()), memory::template swapped<Half>(x));
}
template <index_t Half, class Lane>
CORDAGE_ALWAYS_INLINE Lane all_sums_within(const Lane& x) noexcept {
    if constexpr (Half < lane_memory<Lane>::size) {
        return all_sums_within<2 * Half>(sums_within<Half>(x));
    } else {
        return x;
    }
}

}  // namespace tensors_detail

/// H x, in place, of `size` lanes, a power of two. H is symmetric and orthogonal, so H H x = x up to rounding.
///
///   H = H_size / sqrt(size),   H_1 = 1,   H_2n = [H_n H_n; H_n -H_n]        (Sylvester 1867)
///
/// The result has the same bits for every Lane, float or a vector.
template <class Lane = float>
CORDAGE_ALWAYS_INLINE void hadamard_transform(float* x, index_t size) noexcept {
    using memory = lane_memory<Lane>;
    if constexpr (memory::size > 1) {
        if (size < memory::size) return hadamard_transform<float>(x, size);
    }
    for (index_t i = 0; memory::size > 1 && i < size; i += memory::size) {
        memory::store(tensors_detail::all_sums_within<1>(memory::load(x + i)), x + i);
    }
    for (index_t half = memory::size; half < size; half *= 2) {
        for (index_t first = 0; first < size; first += 2 * half) {
            for (index_t i = first; i < first + half; i += memory::size) {
                const Lane a = memory::load(x + i), b = memory::load(x + i + half);
                memory::store(a + b, x + i);
                memory::store(a - b, x + i + half);
            }
        }
    }
    const Lane scale(1.0f / std::sqrt(static_cast<float>(size)));
    for (index_t i = 0; i < size; i += memory::size) memory::store(memory::load(x + i) * scale, x + i);
}

/// A format that transforms each group of `size` lanes before it is stored, and back when it is read. This spreads
/// outliers over the group, which reduces the quantisation error. Queries must be transformed too, so that scores q . k
/// are unchanged.
///
///   hadamard<q8_0>{.size = 128}
///
/// Follows llama.cpp's quantised caches (since PR 21038): for K size is the largest power of two that divides head_dim,
/// for V 64; head_dim is a multiple of 64. llama.cpp multiplies by a matrix, so its sums round in another order.
template <class Format>
struct hadamard {
    using compute = float;
    static constexpr index_t lanes_of_element = cordage::lanes_of_element<Format>;
    static_assert(
        !requires(Format f) { f.group_stride; },
        "cordage::hadamard: write lane_groups<hadamard<Format>>, not hadamard<lane_groups<Format>>");

    index_t size = 64;  ///< lanes, a power of two that divides head_dim
    Format inner = {};  ///< of elements or of whole heads

    template <class Lane, class T>
        requires tensor_format<Format, T>
    CORDAGE_ALWAYS_INLINE void load_head(const T* from, const head_place& at, float* lanes,
                                         index_t count) const noexcept {
        tensors_detail::load_lanes<Lane>(inner, from, at, lanes, count);
        for (index_t first = 0; first < count; first += size) hadamard_transform<Lane>(lanes + first, size);
    }
    template <class Lane, class T>
        requires tensor_format<Format, T>
    CORDAGE_ALWAYS_INLINE void store_head(const float* lanes, index_t count, T* to,
                                          const head_place& at) const noexcept {
        alignas(64) std::array<float, most_lanes_of_head> transformed;
        std::copy_n(lanes, count, transformed.data());
        for (index_t first = 0; first < count; first += size)
            hadamard_transform<Lane>(transformed.data() + first, size);
        tensors_detail::store_lanes<Lane>(inner, transformed.data(), count, to, at);
    }
    template <class T>
    CORDAGE_ALWAYS_INLINE bool copy_head(const hadamard& source, const T* from, const head_place& from_at, T* to,
                                         const head_place& to_at, index_t count) const noexcept {
        return source.size == size && tensors_detail::copy_lanes(source.inner, from, from_at, inner, to, to_at, count);
    }

    friend bool operator==(const hadamard& a, const hadamard& b) noexcept {
        return a.size == b.size && is_same_format(a.inner, b.inner);
    }
    /// @throws shape_error
    void check(const char* function, const char* name, index_t head_dim) const {
        if (!std::has_single_bit(static_cast<std::uint64_t>(size)) || head_dim % size != 0) {
            fail<shape_error>({function, ": ", name, "'s hadamard size ", size,
                               " must be a power of two that divides head_dim ", head_dim});
        }
    }
};

static_assert(head_format<hadamard<q8_0>, q8_0_block> && head_format<hadamard<element_traits<bfloat16>>, bfloat16>);

}  // namespace cordage
