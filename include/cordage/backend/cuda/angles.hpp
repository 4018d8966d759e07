// SPDX-License-Identifier: MIT
// The angles that kernels of teams are given: of a source, what they read; serves the CUDA backend.
#pragma once

#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/backend/cuda/head_grid.hpp"
#include "cordage/backend/direction.hpp"

namespace cordage::backend {

/// Positions of one axis under one basis, whose numbers are aligned to 16 bytes.
template <position_type P>
struct one_basis_angles {
    const P* position_ids;
    index_t row_stride;
    std::int32_t token_stride;
    const std::uint64_t* fractions;
    const std::uint64_t* whole_turns;  // not read for integer positions
    const double* attention_factors;

    explicit one_basis_angles(const device_angles<P>& source) noexcept
        : position_ids(source.position_ids().data),
          row_stride(source.position_ids().batch == 1 ? 0 : source.position_ids().batch_stride),
          token_stride(small(source.position_ids().token_stride)),
          fractions(source.basis_numbers().fractions),
          whole_turns(source.basis_numbers().whole_turns),
          attention_factors(source.basis_numbers().attention_factors) {}
    static bool fits(const device_angles<P>& source) noexcept {
        const basis_view& bases = source.basis_numbers();
        return bases.pairs % 2 == 0 && is_aligned(bases.fractions, 16) &&
               source.position_ids().token_stride <= most_small_size;
    }
};

/// The same with a basis for each row, or for each token.
template <position_type P>
struct many_bases_angles : one_basis_angles<P> {
    const std::int32_t* of_token;  // [rows or 1, tokens], or null: a basis for each row
    index_t of_token_row_stride;
    index_t pairs, count;

    /// The basis of a token; -1 if its index is invalid.
    CORDAGE_HOST_DEVICE index_t found_basis(index_t row, index_t token) const noexcept {
        index_t basis = count == 1 ? 0 : row;
        if (of_token != nullptr) basis = of_token[row * of_token_row_stride + token];
        return basis >= 0 && basis < count ? basis : -1;
    }
    // As a differentiable_angle_source has them.
    CORDAGE_HOST_DEVICE index_t basis_index(index_t row, index_t token) const noexcept {
        const index_t basis = found_basis(row, token);
        return basis < 0 ? 0 : basis;
    }
    CORDAGE_HOST_DEVICE double position(index_t row, index_t token, index_t) const noexcept {
        return position_traits<P>::value(this->position_ids[row * this->row_stride + static_cast<std::int32_t>(token) *
                                                                                         index_t{this->token_stride}]);
    }

    explicit many_bases_angles(const device_angles<P>& source) noexcept
        : one_basis_angles<P>(source),
          of_token(source.basis_numbers().of_token),
          of_token_row_stride(source.basis_numbers().rows == 1 ? 0 : source.basis_numbers().tokens),
          pairs(source.pairs()),
          count(source.basis_numbers().count) {}
};

/// Two sources, whose phases are combined. Positions and bases are those of the first.
template <class Rule, class First, class Second>
struct two_small_angles {
    First first;
    Second second;

    CORDAGE_HOST_DEVICE index_t axis(index_t pair) const noexcept { return angle_detail::axis_of(first, pair); }
    CORDAGE_HOST_DEVICE index_t basis_index(index_t row, index_t token) const noexcept {
        return angle_detail::basis_of(first, row, token);
    }
    template <class A = First>
    CORDAGE_HOST_DEVICE auto position(index_t row, index_t token, index_t axis_of_pair) const noexcept
        -> decltype(static_cast<const A&>(this->first).position(row, token, axis_of_pair)) {
        return first.position(row, token, axis_of_pair);
    }
};

/// What kernels of teams take of a source: `type`, made by `of` where it `fits`. A source of another kind is taken as
/// it is.
template <class Source>
struct small_angles {
    using type = Source;
    static bool fits(const Source&) noexcept { return true; }
    static const type& of(const Source& source) noexcept { return source; }
};
template <position_type P>
struct small_angles<device_angles<P>> {
    using type = many_bases_angles<P>;
    static bool fits(const device_angles<P>& source) noexcept { return type::fits(source); }
    static type of(const device_angles<P>& source) noexcept { return type(source); }
};
template <class To, class From>
struct small_angles<angle_difference<To, From>> {
    using type = two_small_angles<angle_detail::difference_rule, typename small_angles<To>::type,
                                  typename small_angles<From>::type>;
    static bool fits(const angle_difference<To, From>& source) noexcept {
        return small_angles<To>::fits(source.to()) && small_angles<From>::fits(source.from());
    }
    static type of(const angle_difference<To, From>& source) noexcept {
        return {small_angles<To>::of(source.to()), small_angles<From>::of(source.from())};
    }
};
template <class A, class B>
struct small_angles<angle_sum<A, B>> {
    using type =
        two_small_angles<angle_detail::sum_rule, typename small_angles<A>::type, typename small_angles<B>::type>;
    static bool fits(const angle_sum<A, B>& source) noexcept {
        return small_angles<A>::fits(source.first()) && small_angles<B>::fits(source.second());
    }
    static type of(const angle_sum<A, B>& source) noexcept {
        return {small_angles<A>::of(source.first()), small_angles<B>::of(source.second())};
    }
};

/// The same for the smallest kernels, which take positions under one basis, or a table.
template <class Source>
struct smallest_angles {
    using type = void;
};
template <>
struct smallest_angles<cos_sin_view<float>> : small_angles<cos_sin_view<float>> {};
template <position_type P>
struct smallest_angles<device_angles<P>> {
    using type = one_basis_angles<P>;
    static bool fits(const device_angles<P>& source) noexcept {
        const basis_view& bases = source.basis_numbers();
        return type::fits(source) && bases.count == 1 && bases.of_token == nullptr;
    }
    static type of(const device_angles<P>& source) noexcept { return type(source); }
};

/// A direction (backend/direction.hpp) as data, so that all three have one kernel.
struct direction_numbers {
    float sine_sign = 1.0f;
    bool is_inverse = false;

    template <class Direction>
    static constexpr direction_numbers of() noexcept {
        return {static_cast<float>(Direction::sine_sign), std::same_as<Direction, inverse>};
    }
};

}  // namespace cordage::backend
