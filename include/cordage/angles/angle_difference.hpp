// SPDX-License-Identifier: MIT
// The difference of two angle sources, which rotates keys from one basis and position to another; stage angles.
#pragma once

#include <tuple>

#include "cordage/angles/exact_angles.hpp"
#include "cordage/angles/two_sources.hpp"

namespace cordage {

/// angle = to - from, modulo one turn, and m = m_to / m_from: turns keys rotated by `from` into keys rotated by `to`.
/// Phases are integers, so that the differences of successive changes add up exactly to the difference of the first and
/// the last source. Holds copies of both sources, which are views.
///
///   rebase<half_split>(exact_angles(new_basis, ids) - exact_angles(old_basis, ids), in_place(keys));
template <phase_source To, phase_source From>
class angle_difference : public angle_detail::two_sources<angle_detail::difference_rule, To, From> {
    using shared = angle_detail::two_sources<angle_detail::difference_rule, To, From>;

 public:
    using shared::shared;

    static constexpr bool has_exact_phases = requires(const To& a, const From& b, index_t i) {
        { a.of_token(i, i) } -> std::same_as<position_phases>;
        { b.of_token(i, i) } -> std::same_as<position_phases>;
    };
    /// How many tokens from `token` on, at most `most`, have the angles of that one: keys of one basis that all move by
    /// the same integer distance, with one factor.
    CORDAGE_ALWAYS_INLINE index_t equal_tokens(index_t row, index_t token, index_t most) const noexcept
        requires has_exact_phases
    {
        const auto move_of = [&](index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const auto [to, from] = this->of_token(row, i);
            const bool is_distance =
                to.fractions == from.fractions && to.position.is_whole() && from.position.is_whole();
            return std::tuple(is_distance, to.fractions, to.position.steps - from.position.steps,
                              this->first_.attention_factor(row, i), this->second_.attention_factor(row, i));
        };
        const auto move = move_of(token);
        index_t count = 1;
        while (std::get<0>(move) && count < most && move_of(token + count) == move) ++count;
        return count;
    }

    const To& to() const noexcept { return this->first_; }
    const From& from() const noexcept { return this->second_; }
};

/// The angles that rotate keys rotated by `from` into keys rotated by `to`.
/// @throws shape_error  unless both have the same tokens and pairs, and the same batch or batch 1
template <phase_source To, phase_source From>
angle_difference<To, From> operator-(const To& to, const From& from) {
    return {to, from};
}

}  // namespace cordage
