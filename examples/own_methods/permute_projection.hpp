// SPDX-License-Identifier: MIT
// Reorders projection weights once from one pair layout to the other, instead of q and k at every token.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/pairing.hpp"

namespace own {

using cordage::fail, cordage::index_t, cordage::pairing, cordage::shape_error;

/// The weights or bias of a projection to q or k: [heads * head_dim, row_length] dense, a row for each lane of its
/// output, as in torch.nn.Linear.
struct projection_shape {
    index_t heads = 0;
    index_t head_dim = 0;
    index_t rotary_dim = 0;  ///< rotated lanes of a head; the others keep their place
    index_t row_length = 1;  ///< inputs of the projection; 1 for a bias
    index_t first_lane = 0;  ///< first rotated lane; not 0 in DeepSeek's heads
};

inline void check(const projection_shape& s) {
    constexpr index_t most = index_t{1} << 31;
    const auto between = [](index_t x, index_t low, index_t high) { return x >= low && x <= high; };
    if (!between(s.heads, 0, most) || !between(s.head_dim, 2, most) || !between(s.row_length, 0, most) ||
        (s.heads > 0 && s.row_length > 0 && s.heads * s.head_dim > (index_t{1} << 62) / s.row_length)) {
        fail<shape_error>({"permute_projection: heads ", s.heads, ", head_dim ", s.head_dim, " and row_length ",
                           s.row_length, " must be >= 0 and <= 2^31, head_dim >= 2, and their product <= 2^62"});
    }
    if (s.rotary_dim < 0 || s.rotary_dim % 2 != 0 || s.rotary_dim > s.head_dim) {
        fail<shape_error>(
            {"permute_projection: rotary_dim ", s.rotary_dim, " must be even, >= 0 and <= head_dim ", s.head_dim});
    }
    if (!between(s.first_lane, 0, s.head_dim - s.rotary_dim)) {
        fail<shape_error>({"permute_projection: first_lane ", s.first_lane,
                           " must be 0 to head_dim - rotary_dim = ", s.head_dim - s.rotary_dim});
    }
}

/// Moves the rows of every head from the lanes paired by From to those paired by To. Rotating the outputs of the
/// permuted projection with To gives the rotated outputs of the original with From, in the new lane order. Scores q . k
/// are unchanged if the projections of q and k are permuted alike.
///
///   rotary_dim 4 of 6, half_split -> interleaved:   rows 0 1 2 3 4 5 become 0 2 1 3 4 5
///
///   const projection_shape q{.heads = 32, .head_dim = 128, .rotary_dim = 128, .row_length = 4096};
///   permute_projection<half_split, interleaved>(q, weight.data(), weight.data());     // in place
///
/// Moves elements of any type without changing them, so that the inverse call restores the same bits. transformers'
/// conversion of LLaMA's released weights is <interleaved, half_split>.
///
/// @param weight    [heads * head_dim, row_length]
/// @param permuted  as weight; may be weight itself, must not partly overlap it
/// @throws shape_error  for sizes out of range, a null pointer or a partial overlap, before anything is written
/// Allocates the rotated rows of one head if in place, nothing otherwise.
template <pairing From, pairing To, class T>
void permute_projection(const projection_shape& shape, const T* weight, T* permuted) {
    check(shape);
    const index_t length = shape.row_length, head_size = shape.head_dim * length, size = shape.heads * head_size;
    if (size == 0) return;
    if (weight == nullptr || permuted == nullptr) {
        fail<shape_error>({"permute_projection: ", weight == nullptr ? "weight" : "permuted", " nullptr must point to ",
                           size, " elements"});
    }
    const auto bytes = static_cast<std::uintptr_t>(size) * sizeof(T);
    const auto at_in = reinterpret_cast<std::uintptr_t>(weight), at_out = reinterpret_cast<std::uintptr_t>(permuted);
    const bool is_in_place = at_in == at_out;
    if (!is_in_place && at_in < at_out + bytes && at_out < at_in + bytes) {
        fail<shape_error>(
            {"permute_projection: permuted must be weight itself or not overlap it; it overlaps it partly"});
    }

    const index_t pairs = shape.rotary_dim / 2, begin = shape.first_lane * length, rotated = shape.rotary_dim * length;
    std::vector<T> before(is_in_place ? static_cast<std::size_t>(rotated) : 0);
    for (index_t head = 0; head < shape.heads; ++head) {
        const T* from = weight + head * head_size + begin;
        T* to = permuted + head * head_size + begin;
        if (is_in_place) {
            std::copy_n(from, rotated, before.data());
            from = before.data();
        } else {
            std::copy_n(from - begin, begin, to - begin);
            std::copy_n(from + rotated, head_size - begin - rotated, to + rotated);
        }
        for (index_t pair = 0; pair < pairs; ++pair) {
            std::copy_n(from + From::first(pair, pairs) * length, length, to + To::first(pair, pairs) * length);
            std::copy_n(from + From::second(pair, pairs) * length, length, to + To::second(pair, pairs) * length);
        }
    }
}

}  // namespace own
