// SPDX-License-Identifier: MIT
// Bases in device memory, and angles of positions there; serves the CUDA backend.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "cordage/angles/angle_difference.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/angles/exact_angles.hpp"
#include "cordage/angles/free_angles.hpp"
#include "cordage/angles/summed_axes.hpp"

namespace cordage {

/// Number of words of device_words; even, so that several in one allocation are aligned to 16 bytes, as device_basis
/// needs for the fastest kernels.
constexpr index_t device_words_size(index_t pairs, index_t bases = 1) noexcept {
    return rounded_up_quotient(bases * (3 * pairs + 1), 2) * 2;
}

/// Bases as words to copy to a device: for each basis the fractions of a turn, the whole turns of a position, and
/// inv_freq, [bases, pairs] each, then attention factors, [bases], and a 0 if the number of words would be odd.
///
/// @param bases  a basis, or basis_list::of_rows()
inline std::vector<std::uint64_t> device_words(const basis_view& bases) {
    const index_t numbers = bases.count * bases.pairs;
    const auto size = static_cast<std::size_t>(device_words_size(bases.pairs, bases.count));
    std::vector<std::uint64_t> words(bases.fractions, bases.fractions + numbers);
    words.reserve(size);
    words.insert(words.end(), bases.whole_turns, bases.whole_turns + numbers);
    for (index_t i = 0; i < numbers; ++i) words.push_back(std::bit_cast<std::uint64_t>(bases.inv_freq[i]));
    for (index_t i = 0; i < bases.count; ++i) words.push_back(std::bit_cast<std::uint64_t>(bases.attention_factors[i]));
    words.resize(size);
    return words;
}

/// View of device_words that the caller copied to the device. If the memory is overwritten with new words, every later
/// launch uses the new basis, including launches captured in a CUDA graph.
///
///   const std::vector<std::uint64_t> words = device_words(b);
///   cudaMemcpyAsync(memory, words.data(), 8 * words.size(), cudaMemcpyHostToDevice, stream);
///   const device_basis on_device(memory, b.pairs());
class device_basis {
 public:
    static constexpr bool is_on_device = true;

    /// @param words  device memory, aligned to 8 bytes; to 16 for the kernels of small calls (docs/backends.md)
    /// @param bases  the number given to device_words: one, or one for each row of a batch
    /// @throws shape_error
    device_basis(const void* words, index_t pairs, index_t bases = 1) {
        if (words == nullptr || pairs < 1 || bases < 1) {
            fail<shape_error>({"device_basis: words must point to ", bases, " >= 1 bases of ", pairs,
                               " >= 1 pairs in memory of the device"});
        }
        if (reinterpret_cast<std::uintptr_t>(words) % 8 != 0) {
            fail<shape_error>({"device_basis: words ", words, " must be aligned to 8 bytes"});
        }
        const auto* fractions = static_cast<const std::uint64_t*>(words);
        const auto* numbers = static_cast<const double*>(words);
        view_ = {.fractions = fractions,
                 .whole_turns = fractions + bases * pairs,
                 .inv_freq = numbers + 2 * bases * pairs,
                 .attention_factors = numbers + 3 * bases * pairs,
                 .pairs = pairs,
                 .count = bases};
    }
    /// The same bases, with a basis for each token given by an index in device memory. The index is not checked: an
    /// entry outside [0, bases) makes the rotated lanes of its token NaN.
    ///
    /// @param of_token  [rows, tokens] dense in device memory, may be null for 0 tokens; rows 1 serves every row of a
    ///                  batch
    device_basis of(const std::int32_t* of_token, index_t rows, index_t tokens) const {
        if ((of_token == nullptr && tokens > 0) || rows < 1 || tokens < 0) {
            fail<shape_error>({"device_basis: of_token must point to [", rows, ", ", tokens, "] entries, rows >= 1"});
        }
        device_basis chosen = *this;
        static constexpr std::int32_t no_tokens = 0;
        chosen.view_.of_token = of_token == nullptr ? &no_tokens : of_token;
        chosen.view_.rows = rows;
        chosen.view_.tokens = tokens;
        return chosen;
    }

    const void* words() const noexcept { return view_.fractions; }
    index_t pairs() const noexcept { return view_.pairs; }
    index_t bases() const noexcept { return view_.count; }
    /// View of the numbers in device memory.
    const basis_view& view() const noexcept { return view_; }

 private:
    basis_view view_;
};

/// The angles of the host on a device: positions and bases point to its memory, and the axis of each pair, which the
/// host reads, is packed into a kernel's arguments. An invalid position (NaN, 2^63) or basis index makes the lanes that
/// it rotates NaN. For a table use a cos_sin_view<float> with device pointers.
///
///   rotate_forward<half_split>(on(stream), device_angles<std::int32_t>(b, {ids, 1, tokens, 0}), in_place(q), ...);
template <position_type P>
using device_angles = exact_angles<P, device_basis>;
template <position_type P>
using device_axis_angles = axis_angles<P, device_basis>;  ///< as device_angles, of several axes
template <position_type P>
using device_summed_axes = summed_axes<P, device_basis>;  ///< as device_angles, of the sum of several axes
static_assert(angle_source<device_angles<std::int32_t>> && differentiable_angle_source<device_angles<double>>);

/// Whether a source reads device memory. For a source of your own declare `static constexpr bool is_on_device = true;`
/// and mark its functions CORDAGE_HOST_DEVICE.
template <class S>
inline constexpr bool is_device_source = angle_detail::lie_on_device<S>;
/// A difference is on a device if both sources are.
template <class To, class From>
inline constexpr bool is_device_source<angle_difference<To, From>> = is_device_source<To> && is_device_source<From>;
/// A sum is on a device if both sources are.
template <class A, class B>
inline constexpr bool is_device_source<angle_sum<A, B>> = is_device_source<A> && is_device_source<B>;
/// A table may lie on the device.
template <>
inline constexpr bool is_device_source<cos_sin_view<float>> = true;
/// A network's angles may lie on the device.
template <class T>
inline constexpr bool is_device_source<free_angles<T>> = true;

}  // namespace cordage
