// SPDX-License-Identifier: MIT
// The pairs of one head that one thread turns, read and written; serves the CUDA kernels.
#pragma once

#include "cordage/backend/cuda/element.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/tensors/heads_view.hpp"

namespace cordage::backend {

/// Two numbers for each of N pairs: their elements, or their cos and sin.
template <int N>
struct pair_values {
    float first[N];
    float second[N];
};

/// y = m R x of a unit's pairs, by m cos and m sin.
template <int N>
CORDAGE_HOST_DEVICE pair_values<N> turned(const pair_values<N>& turn, const pair_values<N>& v) noexcept {
    pair_values<N> y;
    for (int i = 0; i < N; ++i) {
        const float c = turn.first[i], s = turn.second[i];
        y.first[i] = fused(c, v.first[i], -(s * v.second[i]));
        y.second[i] = fused(c, v.second[i], s * v.first[i]);
    }
    return y;
}

/// A unit is a run of neighbouring pairs; unit u begins at pair u * pairs. By 16-byte pieces, of fp32 for example:
///
///   half_split   [c c c c . . . . s s s s . . . .]   two pieces, pairs 0-3
///   interleaved  [c s c s . . . . . . . . . . . .]   one piece, pairs 0 and 1
///
/// and by elements one pair.
template <device_element T, pairing Pairing, bool ByPieces>
struct unit {
    static constexpr int pairs = !ByPieces ? 1 : std::same_as<Pairing, half_split> ? piece_size<T> : piece_size<T> / 2;
    using values = pair_values<pairs>;

    /// What lies in memory: the first elements of the pairs, then the second ones, or both in one piece.
    struct stored {
        std::conditional_t<ByPieces, piece, T> part[!ByPieces || std::same_as<Pairing, half_split> ? 2 : 1];
    };

    /// @param x          the first lane of a head that turns
    /// @param all_pairs  rotary_dim/2
    CORDAGE_HOST_DEVICE static stored fetch(const T* x, index_t number, index_t all_pairs) noexcept {
        const index_t pair = number * pairs;
        if constexpr (!ByPieces) {
            return {{x[Pairing::first(pair, all_pairs)], x[Pairing::second(pair, all_pairs)]}};
        } else if constexpr (std::same_as<Pairing, half_split>) {
            return {{load_piece(x + pair), load_piece(x + all_pairs + pair)}};
        } else {
            return {{load_piece(x + 2 * pair)}};
        }
    }

    CORDAGE_HOST_DEVICE static values read(const stored& s) noexcept {
        values v;
        if constexpr (!ByPieces) {
            v.first[0] = widened(s.part[0]);
            v.second[0] = widened(s.part[1]);
        } else if constexpr (std::same_as<Pairing, half_split>) {
            unpack<T>(s.part[0], v.first);
            unpack<T>(s.part[1], v.second);
        } else {
            float lanes[2 * pairs];
            unpack<T>(s.part[0], lanes);
            for (int i = 0; i < pairs; ++i) v.first[i] = lanes[2 * i], v.second[i] = lanes[2 * i + 1];
        }
        return v;
    }
    CORDAGE_HOST_DEVICE static values load(const T* x, index_t number, index_t all_pairs) noexcept {
        return read(fetch(x, number, all_pairs));
    }

    CORDAGE_HOST_DEVICE static void store(const values& v, T* y, index_t number, index_t all_pairs) noexcept {
        const index_t pair = number * pairs;
        if constexpr (!ByPieces) {
            y[Pairing::first(pair, all_pairs)] = narrowed<T>(v.first[0]);
            y[Pairing::second(pair, all_pairs)] = narrowed<T>(v.second[0]);
        } else if constexpr (std::same_as<Pairing, half_split>) {
            store_piece(packed<T>(v.first), y + pair);
            store_piece(packed<T>(v.second), y + all_pairs + pair);
        } else {
            float lanes[2 * pairs];
            for (int i = 0; i < pairs; ++i) lanes[2 * i] = v.first[i], lanes[2 * i + 1] = v.second[i];
            store_piece(packed<T>(lanes), y + 2 * pair);
        }
    }

    /// Copies the lanes outside of [first_lane, first_lane + rotary_dim) that fall to this unit, one in `units` of
    /// them.
    CORDAGE_HOST_DEVICE static void copy_others(const T* x, T* y, index_t head_dim, index_t first_lane,
                                                index_t rotary_dim, index_t number, index_t units) noexcept {
        constexpr index_t size = ByPieces ? piece_size<T> : 1;
        for (index_t lane = number * size; lane < head_dim - rotary_dim; lane += units * size) {
            const index_t at = lane < first_lane ? lane : lane + rotary_dim;
            if constexpr (ByPieces) {
                store_piece(load_piece(x + at), y + at);
            } else {
                y[at] = x[at];
            }
        }
    }
};

/// Whether heads of this view can be read and written by 16-byte pieces.
template <class T>
bool fits_pieces(const heads_view<T>& v) noexcept {
    constexpr index_t size = piece_size<std::remove_const_t<T>>;
    const auto steps_whole = [](index_t count, index_t stride) { return count <= 1 || stride % size == 0; };
    const heads_shape& s = v.shape;
    return reinterpret_cast<std::uintptr_t>(v.data) % sizeof(piece) == 0 && s.head_dim % size == 0 &&
           steps_whole(s.batch, v.batch_stride) && steps_whole(s.tokens, v.token_stride) &&
           steps_whole(s.heads, v.head_stride);
}

/// Whether the lanes that turn are whole units by pieces.
template <device_element T, pairing Pairing>
bool lanes_fit_pieces(index_t first_lane, index_t pairs) noexcept {
    return first_lane % piece_size<T> == 0 && pairs % unit<T, Pairing, true>::pairs == 0;
}

}  // namespace cordage::backend
