// SPDX-License-Identifier: MIT
// A basis, or one for each row of a batch, in memory of the device, and its angles; serves the CUDA backend.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cordage/angles/angle_source.hpp"

namespace cordage {

/// How many words device_words makes.
constexpr index_t device_words_size(index_t pairs, index_t bases = 1) noexcept { return bases * (3 * pairs + 2); }

/// What a device needs of bases, as words to copy there: for each basis the fractions of a turn and the whole turns of
/// a position and inv_freq, [bases, pairs] each, then attention factors and their reciprocals, [bases] each.
///
/// @param bases  not null, of as many pairs each; one, or one for each row of a batch
/// @throws shape_error
inline std::vector<std::uint64_t> device_words(std::span<const basis* const> bases) {
    if (bases.empty()) throw shape_error("device_words: bases [] must have at least one entry");
    for (std::size_t i = 0; i < bases.size(); ++i) {
        if (bases[i] == nullptr || bases[i]->pairs() != bases[0]->pairs()) {
            throw shape_error(
                message("device_words: bases[", i, "] must point to a basis with as many pairs as others"));
        }
    }
    std::vector<std::uint64_t> words;
    const auto add = [&](const auto& word_of_pair) {
        for (const basis* b : bases) {
            for (std::size_t pair = 0; pair < b->inv_freq().size(); ++pair) words.push_back(word_of_pair(*b, pair));
        }
    };
    words.reserve(static_cast<std::size_t>(device_words_size(bases[0]->pairs(), std::ssize(bases))));
    add([](const basis& b, std::size_t pair) { return b.turns_per_position()[pair].fraction; });
    add([](const basis& b, std::size_t pair) {
        return static_cast<std::uint64_t>(b.turns_per_position()[pair].whole);
    });
    add([](const basis& b, std::size_t pair) { return std::bit_cast<std::uint64_t>(b.inv_freq()[pair]); });
    for (const basis* b : bases) words.push_back(std::bit_cast<std::uint64_t>(b->attention_factor()));
    for (const basis* b : bases) words.push_back(std::bit_cast<std::uint64_t>(1.0 / b->attention_factor()));
    return words;
}
/// The same for one basis.
inline std::vector<std::uint64_t> device_words(const basis& b) {
    const basis* const only = &b;
    return device_words(std::span<const basis* const>(&only, 1));
}

/// View of device_words that the caller copied to the device. New words in the same place are a new basis for every
/// launch after the copy, one in a CUDA graph too.
///
///   const std::vector<std::uint64_t> words = device_words(b);
///   cudaMemcpyAsync(memory, words.data(), 8 * words.size(), cudaMemcpyHostToDevice, stream);
///   const device_basis on_device(memory, b.pairs());
class device_basis {
 public:
    /// @param words  in memory of the device, aligned to 8 bytes
    /// @param bases  as many as device_words got
    /// @throws shape_error
    device_basis(const void* words, index_t pairs, index_t bases = 1)
        : words_(static_cast<const std::uint64_t*>(words)), pairs_(pairs), bases_(bases) {
        if (words == nullptr || pairs < 1 || bases < 1) {
            throw shape_error(message("device_basis: words must point to ", bases, " >= 1 bases of ", pairs,
                                      " >= 1 pairs in memory of the device"));
        }
        if (reinterpret_cast<std::uintptr_t>(words) % 8 != 0) {
            throw shape_error(message("device_basis: words ", words, " must be aligned to 8 bytes"));
        }
    }
    const std::uint64_t* words() const noexcept { return words_; }
    index_t pairs() const noexcept { return pairs_; }
    index_t bases() const noexcept { return bases_; }

 private:
    const std::uint64_t* words_;
    index_t pairs_;
    index_t bases_;
};

namespace device_basis_detail {

inline void check_rows(const char* who, const device_basis& b, index_t rows) {
    if (b.bases() > 1 && rows > 1 && rows != b.bases()) {
        throw shape_error(
            message(who, ": ", b.bases(), " bases must be one, or one for each of ", rows, " rows of position_ids"));
    }
}

}  // namespace device_basis_detail

/// exact_angles for the device: what position_ids points to lies there. With a basis for each row it is row_angles. A
/// view: allocates nothing. A table made elsewhere needs no view of its own: cos_sin_view<float> with pointers to the
/// device.
///
///   rotate_forward<half_split>(on(stream), device_angles<std::int32_t>(b, {ids, 1, tokens, 0}), in_place(q), ...);
template <position_type P>
class device_angles {
 public:
    /// @param position_ids  [tokens] or [batch, tokens]
    /// @throws shape_error
    device_angles(const device_basis& b, const position_view<P>& position_ids)
        : basis_(b), position_ids_(position_ids) {
        angle_detail::check_positions(position_ids);
        device_basis_detail::check_rows("device_angles", b, position_ids.batch);
    }
    index_t batch() const noexcept { return std::max(basis_.bases(), position_ids_.batch); }
    index_t tokens() const noexcept { return position_ids_.tokens; }
    index_t pairs() const noexcept { return basis_.pairs(); }
    index_t bases() const noexcept { return basis_.bases(); }
    static constexpr index_t axes() noexcept { return 1; }
    const device_basis& basis_view() const noexcept { return basis_; }
    const position_view<P>& position_ids() const noexcept { return position_ids_; }

 private:
    device_basis basis_;
    position_view<P> position_ids_;
};
static_assert(angles_of_tokens<device_angles<std::int32_t>>);

}  // namespace cordage
