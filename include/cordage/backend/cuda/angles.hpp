// SPDX-License-Identifier: MIT
// The angles that kernels of teams are given: of which sources, and in which form; serves the CUDA backend.
#pragma once

#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/backend/cuda/head_grid.hpp"
#include "cordage/backend/direction.hpp"

namespace cordage::backend {

/// Sources whose fractions kernels of teams read two at a time.
template <class Source>
inline constexpr bool has_one_axis = false;
template <position_type P>
inline constexpr bool has_one_axis<device_angles<P>> = true;

/// Whether kernels of teams, whose threads have an even number of pairs, can read a source: its fractions are aligned
/// to 16 bytes.
template <class Source>
bool has_aligned_words(const Source& source) noexcept {
    if constexpr (requires { typename Source::rule; }) {
        return has_aligned_words(source.first()) && has_aligned_words(source.second());
    } else if constexpr (has_one_axis<Source>) {
        return is_aligned(source.basis_numbers().fractions, 16);
    }
    return true;
}

/// Positions of one axis under one basis.
template <position_type P>
struct one_basis_angles {
    const P* position_ids;
    index_t row_stride;
    std::int32_t token_stride;
    const std::uint64_t* fractions;
    const std::uint64_t* whole_turns;  // not read for integer positions
    const double* attention_factors;
};

/// What the smallest kernels take of a source, which is positions under one basis or a table: `type`, made by `of`
/// where it `fits`.
template <class Source>
struct smallest_angles {
    using type = void;
};
template <>
struct smallest_angles<cos_sin_view<float>> {
    using type = cos_sin_view<float>;
    static bool fits(const type&) noexcept { return true; }
    static const type& of(const type& source) noexcept { return source; }
};
template <position_type P>
struct smallest_angles<device_angles<P>> {
    using type = one_basis_angles<P>;
    static bool fits(const device_angles<P>& source) noexcept {
        const basis_view& bases = source.basis_numbers();
        return has_aligned_words(source) && bases.count == 1 && bases.of_token == nullptr &&
               source.position_ids().token_stride <= most_small_size;
    }
    static type of(const device_angles<P>& source) noexcept {
        const basis_view& bases = source.basis_numbers();
        const position_view<P>& ids = source.position_ids();
        return {ids.data,
                ids.batch == 1 ? 0 : ids.batch_stride,
                small(ids.token_stride),
                bases.fractions,
                bases.whole_turns,
                bases.attention_factors};
    }
};

}  // namespace cordage::backend
