// SPDX-License-Identifier: MIT
// The pairs of one head that one thread reads, rotates and writes; serves the CUDA kernels.
#pragma once

#include <concepts>
#include <type_traits>

#include "cordage/backend/cuda/piece.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/pair/rotate.hpp"
#include "cordage/tensors/heads_view.hpp"

namespace cordage::backend {

/// Two numbers for each of N pairs: their elements, or their cos and sin.
template <int N>
struct pair_values {
    float first[N];
    float second[N];

    CORDAGE_HOST_DEVICE cos_sin<float> angle(int i) const noexcept { return {first[i], second[i]}; }
    CORDAGE_HOST_DEVICE lane_pair<float> pair(int i) const noexcept { return {first[i], second[i]}; }
};

/// y = R x of a unit's pairs, given m cos and m sin.
template <int N>
CORDAGE_HOST_DEVICE pair_values<N> rotated(const pair_values<N>& at, const pair_values<N>& x) noexcept {
    pair_values<N> y;
    for (int i = 0; i < N; ++i) {
        const lane_pair<float> out = cordage::rotated(at.angle(i), x.pair(i));
        y.first[i] = out.first;
        y.second[i] = out.second;
    }
    return y;
}

/// A unit is a run of N neighbouring pairs; unit u begins at pair u * N. In 16-byte pieces, for fp32:
///
///   half_split   [c c c c . . . . s s s s . . . .]   two pieces, pairs 0-3
///   interleaved  [c s c s . . . . . . . . . . . .]   one piece, pairs 0 and 1
///
/// and element by element, one pair. Number of pairs in whole pieces of T:
template <class T, pairing Pairing, bool ByPieces>
inline constexpr int pairs_in_pieces = 1;
template <piece_element T>
inline constexpr int pairs_in_pieces<T, half_split, true> = piece_size<T>;
template <piece_element T>
inline constexpr int pairs_in_pieces<T, interleaved, true> = piece_size<T> / 2;

/// N pairs of elements T in a format. N: a multiple of pairs_in_pieces.
template <class T, class Format, pairing Pairing, bool ByPieces, int N>
struct unit {
    static constexpr bool is_half_split = std::same_as<Pairing, half_split>;
    using values = pair_values<N>;

    /// Data as they lie in memory: the first elements of the pairs, then the second ones, or both in turn.
    struct stored {
        std::conditional_t<ByPieces, piece, T> part[ByPieces ? 2 * N / piece_size<T> : 2];
    };

    /// @param x          the first rotated lane of a head
    /// @param all_pairs  rotary_dim/2
    CORDAGE_HOST_DEVICE static stored fetch(const T* x, index_t number, index_t all_pairs) noexcept {
        const index_t pair = number * N;
        stored s;
        if constexpr (!ByPieces) {
            s.part[0] = x[Pairing::first(pair, all_pairs)];
            s.part[1] = x[Pairing::second(pair, all_pairs)];
        } else {
            for (int i = 0; i < pieces; ++i) s.part[i] = load_piece(x + lane_of(i, pair, all_pairs));
        }
        return s;
    }

    CORDAGE_HOST_DEVICE static values read(const Format& format, const stored& s) noexcept {
        values v;
        if constexpr (!ByPieces) {
            v.first[0] = format.load(s.part[0]);
            v.second[0] = format.load(s.part[1]);
        } else if constexpr (is_half_split) {
            for (int i = 0; i < pieces / 2; ++i) {
                unpack<T>(s.part[i], v.first + i * piece_size<T>);
                unpack<T>(s.part[pieces / 2 + i], v.second + i * piece_size<T>);
            }
        } else {
            float lanes[2 * N];
            for (int i = 0; i < pieces; ++i) unpack<T>(s.part[i], lanes + i * piece_size<T>);
            for (int i = 0; i < N; ++i) v.first[i] = lanes[2 * i], v.second[i] = lanes[2 * i + 1];
        }
        return v;
    }
    CORDAGE_HOST_DEVICE static values load(const Format& format, const T* x, index_t number,
                                           index_t all_pairs) noexcept {
        return read(format, fetch(x, number, all_pairs));
    }

    CORDAGE_HOST_DEVICE static void store(const Format& format, const values& v, T* y, index_t number,
                                          index_t all_pairs) noexcept {
        const index_t pair = number * N;
        if constexpr (!ByPieces) {
            y[Pairing::first(pair, all_pairs)] = format.store(v.first[0]);
            y[Pairing::second(pair, all_pairs)] = format.store(v.second[0]);
        } else if constexpr (is_half_split) {
            for (int i = 0; i < pieces / 2; ++i) {
                store_piece(packed<T>(v.first + i * piece_size<T>), y + lane_of(i, pair, all_pairs));
                store_piece(packed<T>(v.second + i * piece_size<T>), y + lane_of(pieces / 2 + i, pair, all_pairs));
            }
        } else {
            float lanes[2 * N];
            for (int i = 0; i < N; ++i) lanes[2 * i] = v.first[i], lanes[2 * i + 1] = v.second[i];
            for (int i = 0; i < pieces; ++i) {
                store_piece(packed<T>(lanes + i * piece_size<T>), y + lane_of(i, pair, all_pairs));
            }
        }
    }

 private:
    static constexpr int pieces = [] {
        if constexpr (ByPieces) return 2 * N / piece_size<T>;
        return 2;
    }();
    // First lane of piece i.
    CORDAGE_HOST_DEVICE static index_t lane_of(int i, index_t pair, index_t all_pairs) noexcept {
        if constexpr (is_half_split) {
            return i < pieces / 2 ? pair + i * piece_size<T> : all_pairs + pair + (i - pieces / 2) * piece_size<T>;
        } else {
            return 2 * pair + i * piece_size<T>;
        }
    }
};

/// Copies the lanes outside of [0, rotary_dim), counted from the first rotated one, that belong to one of `units`
/// units; converts them if the formats differ.
///
/// @param x, y  the first rotated lanes of the head
template <bool ByPieces, class In, class InFormat, class Out, class OutFormat>
CORDAGE_HOST_DEVICE void copy_others(const heads_view<In, InFormat>& in, std::type_identity_t<In>* x,
                                     const heads_view<Out, OutFormat>& out, std::type_identity_t<Out>* y,
                                     index_t first_lane, index_t rotary_dim, index_t number, index_t units) noexcept {
    using from = std::remove_const_t<In>;
    constexpr int size = [] {
        if constexpr (ByPieces) return piece_size<std::conditional_t<(sizeof(from) < sizeof(Out)), from, Out>>;
        return 1;
    }();
    for (index_t lane = number * size; lane < in.shape.head_dim - rotary_dim; lane += units * size) {
        const index_t at = (lane < first_lane ? lane : lane + rotary_dim) - first_lane;
        if constexpr (ByPieces && std::same_as<Out, from>) {
            store_piece(load_piece(x + at), y + at);
        } else if constexpr (ByPieces) {
            float lanes[size];
            for (int i = 0; i < size; i += piece_size<from>) unpack<from>(load_piece(x + at + i), lanes + i);
            for (int i = 0; i < size; i += piece_size<Out>) store_piece(packed<Out>(lanes + i), y + at + i);
        } else if constexpr (std::same_as<Out, from>) {
            y[at] = is_same_format(in.format, out.format) ? x[at] : out.format.store(in.format.load(x[at]));
        } else {
            y[at] = out.format.store(in.format.load(x[at]));
        }
    }
}

/// Whether elements of a view can move in pieces: one of three types, in its own format.
template <class View>
inline constexpr bool has_pieces = false;
template <class T, piece_element Element>
inline constexpr bool has_pieces<heads_view<T, element_traits<Element>>> =
    std::same_as<std::remove_const_t<T>, Element>;

/// Whether every head of a view begins at a multiple of `size` elements of `bytes` bytes and consists of whole ones.
template <class T, class Format>
bool has_whole_heads(const heads_view<T, Format>& v, index_t size, index_t bytes) noexcept {
    const auto steps_whole = [size](index_t count, index_t stride) { return count <= 1 || stride % size == 0; };
    const heads_shape& s = v.shape;
    const bool is_paged = v.slots.entries != nullptr;
    return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(v.data)) % bytes == 0 && s.head_dim % size == 0 &&
           steps_whole(is_paged ? 2 : s.batch, v.batch_stride) &&
           steps_whole(is_paged ? 2 : s.tokens, v.token_stride) && steps_whole(s.heads, v.head_stride);
}

/// Whether heads of this view can be accessed in 16-byte pieces and the rotated lanes are whole units of them.
template <pairing Pairing, class T, class Format>
bool fits_pieces(const heads_view<T, Format>& v, index_t first_lane, index_t pairs) noexcept {
    if constexpr (has_pieces<heads_view<T, Format>>) {
        using element = std::remove_const_t<T>;
        constexpr index_t size = piece_size<element>;
        return has_whole_heads(v, size, sizeof(piece)) && first_lane % size == 0 &&
               pairs % pairs_in_pieces<element, Pairing, true> == 0;
    } else {
        return false;
    }
}

}  // namespace cordage::backend
