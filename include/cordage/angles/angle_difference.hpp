// SPDX-License-Identifier: MIT
// The difference of two sources: what turns keys of one basis and position into those of another; stage angles.
#pragma once

#include "cordage/angles/exact_angles.hpp"
#include "cordage/basis/basis.hpp"
#include "cordage/core/error.hpp"

namespace cordage {

/// Sources whose angles have phases, so that differences are exact.
template <class S>
concept phase_source = angle_source<S> && !has_cos_sin<S>;

namespace angle_detail {

/// Throws shape_error unless a source is for the tokens and pairs of another, and for its rows or one.
template <class S, class Other>
void check_same_tokens(const char* name, const S& s, const char* name_of_other, const Other& other) {
    const bool rows_fit = s.batch() == other.batch() || s.batch() == 1 || other.batch() == 1;
    if (rows_fit && s.tokens() == other.tokens() && s.pairs() == other.pairs()) return;
    fail<shape_error>({name, " [", s.batch(), ", ", s.tokens(), ", ", s.pairs(),
                       "] must be for the rows, tokens and pairs of ", name_of_other, " [", other.batch(), ", ",
                       other.tokens(), ", ", other.pairs(), "]"});
}

}  // namespace angle_detail

/// angle = to - from, modulo one turn, and m = m_to / m_from: rotating by it what was rotated by `from` gives what `to`
/// would have made of it. Phases are integers, so the differences of many changes add up to that of the one change from
/// the first source to the last, exactly. Holds both sources, which are views.
///
///   rebase<half_split>(exact_angles(new_basis, ids) - exact_angles(old_basis, ids), in_place(keys));
template <phase_source To, phase_source From>
class angle_difference {
 public:
    /// @throws shape_error  unless both are for the same tokens and pairs
    angle_difference(const To& to, const From& from) : to_(to), from_(from) {
        angle_detail::check_same_tokens("angle_difference: from", from, "to", to);
    }

    index_t batch() const noexcept { return to_.batch() > from_.batch() ? to_.batch() : from_.batch(); }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t tokens() const noexcept { return to_.tokens(); }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t pairs() const noexcept { return to_.pairs(); }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE double attention_factor(index_t row, index_t token) const noexcept {
        return to_.attention_factor(row, token) / from_.attention_factor(row, token);
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint64_t phase(index_t row, index_t token,
                                                                  index_t pair) const noexcept {
        return angle_detail::phase_at(to_, row, token, pair) - angle_detail::phase_at(from_, row, token, pair);
    }

    /// The phases of one token, where both sources have such.
    template <class A, class B>
    struct token_phases {
        A to;
        B from;
        CORDAGE_ALWAYS_INLINE std::uint64_t phase(index_t pair) const noexcept {
            return to.phase(pair) - from.phase(pair);
        }
    };
    static constexpr bool has_exact_phases = requires(const To& a, const From& b, index_t i) {
        { a.of_token(i, i) } -> std::same_as<position_phases>;
        { b.of_token(i, i) } -> std::same_as<position_phases>;
    };
    CORDAGE_ALWAYS_INLINE auto of_token(index_t row, index_t token) const noexcept requires
        requires(const To& a, const From& b, index_t i) {
        a.of_token(i, i), b.of_token(i, i);
    }
    {
        using phases = token_phases<decltype(to_.of_token(row, token)), decltype(from_.of_token(row, token))>;
        return phases{to_.of_token(row, token), from_.of_token(row, token)};
    }
    /// Whether a token, not a row's first, has the angles of the one before it: keys of one basis that move by one
    /// whole distance.
    CORDAGE_ALWAYS_INLINE bool repeats_last(index_t row, index_t token) const noexcept requires has_exact_phases {
        const auto now = of_token(row, token), last = of_token(row, token - 1);
        const auto is_distance = [](const auto& of) CORDAGE_ALWAYS_INLINE_LAMBDA {
            return of.to.fractions == of.from.fractions && of.to.position.is_whole() && of.from.position.is_whole();
        };
        return is_distance(now) && is_distance(last) && now.to.fractions == last.to.fractions &&
               now.to.position.steps - now.from.position.steps == last.to.position.steps - last.from.position.steps;
    }

    const To& to() const noexcept { return to_; }
    const From& from() const noexcept { return from_; }

    /// As both sources check theirs, and that m_to / m_from is an attention factor.
    void check(const char* function) const {
        if constexpr (requires { to_.check(function); }) to_.check(function);
        if constexpr (requires { from_.check(function); }) from_.check(function);
        // One basis each has one ratio.
        const bool has_one = angle_detail::has_one_basis<To>(to_) && angle_detail::has_one_basis<From>(from_);
        const index_t rows = has_one ? 1 : batch(), columns = has_one && tokens() > 0 ? 1 : tokens();
        for (index_t row = 0; row < rows; ++row) {
            for (index_t token = 0; token < columns; ++token) {
                if (const double m = attention_factor(row, token); !is_attention_factor(m)) {
                    fail<value_error>({function, ": attention factors ", to_.attention_factor(row, token), " / ",
                                       from_.attention_factor(row, token), " must be 2^-60 to 2^60 in magnitude"});
                }
            }
        }
    }

 private:
    To to_;
    From from_;
};

/// The angles that turn what was rotated by `from` into what `to` would have made.
template <phase_source To, phase_source From>
angle_difference<To, From> operator-(const To& to, const From& from) {
    return {to, from};
}

}  // namespace cordage
