// SPDX-License-Identifier: MIT
// Angles = position * inv_freq without a table, exact or rounded to float32; stage angles.
#pragma once

#include <algorithm>

#include "cordage/angles/positions_and_bases.hpp"

namespace cordage {

/// angle = position * inv_freq, reduced without rounding the product: the phase is within 2 pi |position| 2^-65 rad
/// (3.7e-10 at 2^31, 4.7e-8 at 2^38). Up to about 2^38 the error of cos and sin in float is therefore only their own
/// rounding. A view: allocates nothing. The bases and positions must outlive it; temporaries do not compile.
///
/// @param bases         a basis, basis_list::of_rows (one for each row) or basis_list::of (one for each token); or a
///                      device_basis, and then position_ids points to memory of the device too
/// @param position_ids  [tokens] or [batch, tokens] of any position type, any sign; |position| < 2^63
/// @throws shape_error  by the constructor; value_error for an invalid position when a rotation or table begins
template <position_type P, class Bases = basis_view>
class exact_angles : public angle_detail::positions_and_bases<P, Bases> {
    using shared = angle_detail::positions_and_bases<P, Bases>;

 public:
    CORDAGE_ALWAYS_INLINE exact_angles(const std::type_identity_t<Bases>& bases, const position_view<P>& position_ids)
        : shared(angle_detail::lie_on_device<Bases> ? "device_angles" : "exact_angles", bases, position_ids, 1) {}
    template <position_type T>
    exact_angles(const std::type_identity_t<Bases>& b, std::initializer_list<T>) : exact_angles(b, position_view<P>()) {
        static_assert(!sizeof(T*), "cordage: positions must outlive the view: pass a named vector or array");
    }

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint64_t phase(index_t row, index_t token,
                                                                  index_t pair) const noexcept {
        return this->phase_of_pair(position_traits<P>::split(this->position_id(row, token)),
                                   this->basis_index(row, token), pair);
    }
    CORDAGE_HOST_DEVICE bool is_valid(index_t row, index_t token, index_t) const noexcept {
        return this->is_valid_at(row, token, 0);
    }
    /// The phases of one token, for loops over its pairs.
    CORDAGE_ALWAYS_INLINE position_phases of_token(index_t row, index_t token) const noexcept {
        const index_t first = this->basis_index(row, token) * this->pairs();
        return {position_traits<P>::split(this->position_id(row, token)), this->bases_.fractions + first,
                this->bases_.whole_turns + first};
    }
};

/// Angles in float32, as most implementations compute them, to reproduce their results: inv_freq and position are
/// rounded to float32, and so is their product (bit-equal to those implementations); cos and sin are of this angle,
/// |angle| <= 2^62. The error is 7e-3 rad at position 10^5. Arguments as for exact_angles.
template <position_type P>
class float32_angles : public angle_detail::positions_and_bases<P> {
 public:
    float32_angles(const basis_view& bases, const position_view<P>& position_ids)
        : angle_detail::positions_and_bases<P>("float32_angles", bases, position_ids, 1) {}

    /// The float32 angle itself, radians.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE float angle(index_t row, index_t token, index_t pair) const noexcept {
        const P id = this->position_id(row, token);
        const auto frequency = static_cast<float>(this->inv_freq(this->basis_index(row, token))[pair]);
        if constexpr (is_integer_position<P>) return static_cast<float>(id) * frequency;  // rounded once
        return static_cast<float>(position_traits<P>::value(id)) * frequency;
    }

    /// @throws value_error  also if an angle exceeds 2^62
    void check(const char* function) const {
        angle_detail::positions_and_bases<P>::check(function);
        double fastest = 0.0;
        const basis_view& bases = this->bases_;
        for (index_t i = 0; i < bases.count * bases.pairs; ++i) {
            fastest = std::max(fastest, std::fabs(bases.inv_freq[i]));
        }
        const double farthest = fastest > 0.5 ? 0x1p62 / fastest : 0x1p63;
        this->for_each_position([&](index_t axis, index_t row, index_t token, P p) {
            const double position = position_traits<P>::value(p);
            if (std::fabs(position) > farthest) {
                angle_detail::refuse_position(function, this->place(axis, row, token), position,
                                              "such that its angles are at most 2^62");
            }
        });
    }
};

// A basis or a view of bases; a row of positions or a view. Temporaries that own their numbers do not convert.
template <class Bases, class Row>
exact_angles(Bases&&, Row&&) -> exact_angles<angle_detail::position_of_row<Row>, angle_detail::bases_of_source<Bases>>;
template <class Bases, position_type P>
exact_angles(Bases&&, std::initializer_list<P>) -> exact_angles<P, angle_detail::bases_of_source<Bases>>;
template <class Bases, class Row>
float32_angles(Bases&&, Row&&) -> float32_angles<angle_detail::position_of_row<Row>>;

static_assert(angle_source<exact_angles<std::int32_t>> && differentiable_angle_source<exact_angles<double>>);
static_assert(angle_source<float32_angles<std::int32_t>> && differentiable_angle_source<float32_angles<double>>);

}  // namespace cordage
