// SPDX-License-Identifier: MIT
// Base class of the sum and the difference of two sources; stage angles.
#pragma once

#include <algorithm>

#include "cordage/angles/positions_and_bases.hpp"
#include "cordage/basis/basis.hpp"
#include "cordage/core/error.hpp"

namespace cordage {

/// Sources whose angles have phases, so that sums and differences are exact.
template <class S>
concept phase_source = angle_source<S> && !has_cos_sin<S>;

namespace angle_detail {

/// Angles a + b, factors m_a m_b.
struct sum_rule {
    static constexpr const char *name = "angle_sum: second", *name_of_first = "first", *between_factors = " * ";
    CORDAGE_HOST_DEVICE static constexpr std::uint64_t phase(std::uint64_t a, std::uint64_t b) { return a + b; }
    CORDAGE_HOST_DEVICE static constexpr double factor(double a, double b) { return a * b; }
};
/// Angles a - b, factors m_a / m_b.
struct difference_rule {
    static constexpr const char *name = "angle_difference: from", *name_of_first = "to", *between_factors = " / ";
    CORDAGE_HOST_DEVICE static constexpr std::uint64_t phase(std::uint64_t a, std::uint64_t b) { return a - b; }
    CORDAGE_HOST_DEVICE static constexpr double factor(double a, double b) { return a / b; }
};

/// The rotation by one source followed by the rotation by another one (sum_rule) or by the inverse of that
/// (difference_rule): phases modulo one turn. Holds copies of both sources, which are views.
template <class Rule, phase_source First, phase_source Second>
class two_sources {
 public:
    using rule = Rule;
    static constexpr bool is_on_device = lie_on_device<First> || lie_on_device<Second>;

    /// @throws shape_error  unless both have the same tokens and pairs, and the same batch or batch 1
    two_sources(const First& first, const Second& second) : first_(first), second_(second) {
        const bool rows_fit = first.batch() == second.batch() || first.batch() == 1 || second.batch() == 1;
        if (rows_fit && first.tokens() == second.tokens() && first.pairs() == second.pairs()) return;
        fail<shape_error>({Rule::name, " [", second.batch(), ", ", second.tokens(), ", ", second.pairs(),
                           "] must have the batch, tokens and pairs of ", Rule::name_of_first, " [", first.batch(),
                           ", ", first.tokens(), ", ", first.pairs(), "]"});
    }

    CORDAGE_HOST_DEVICE const First& first() const noexcept { return first_; }
    CORDAGE_HOST_DEVICE const Second& second() const noexcept { return second_; }
    index_t batch() const noexcept { return first_.batch() > second_.batch() ? first_.batch() : second_.batch(); }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t tokens() const noexcept { return first_.tokens(); }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t pairs() const noexcept { return first_.pairs(); }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE double attention_factor(index_t row, index_t token) const noexcept {
        return Rule::factor(first_.attention_factor(row, token), second_.attention_factor(row, token));
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint64_t phase(index_t row, index_t token,
                                                                  index_t pair) const noexcept {
        return Rule::phase(phase_at(first_, row, token, pair), phase_at(second_, row, token, pair));
    }

    /// The phases of one token, if both sources have of_token.
    template <class A, class B>
    struct token_phases {
        A first;
        B second;
        CORDAGE_ALWAYS_INLINE std::uint64_t phase(index_t pair) const noexcept {
            return Rule::phase(first.phase(pair), second.phase(pair));
        }
    };
    CORDAGE_ALWAYS_INLINE auto of_token(index_t row, index_t token) const noexcept
        requires requires(const First& a, const Second& b, index_t i) { a.of_token(i, i), b.of_token(i, i); }
    {
        using phases = token_phases<decltype(first_.of_token(row, token)), decltype(second_.of_token(row, token))>;
        return phases{first_.of_token(row, token), second_.of_token(row, token)};
    }

    /// Whether all tokens have one attention factor, as tokens of one basis do. A source of your own may have as many
    /// as tokens.
    bool has_one_factor() const noexcept {
        const auto has_one = [](const auto& source) {
            if constexpr (requires { source.has_one_factor(); }) return source.has_one_factor();
            return false;
        };
        return has_one(first_) && has_one(second_);
    }
    /// Checks both sources, and that the combined factor of each token is a valid attention factor.
    void check(const char* function) const {
        if constexpr (requires { first_.check(function); }) first_.check(function);
        if constexpr (requires { second_.check(function); }) second_.check(function);
        const bool has_one = has_one_factor();
        const index_t columns = has_one ? std::min<index_t>(tokens(), 1) : tokens();
        const index_t rows = columns == 0 ? 0 : has_one ? 1 : batch();
        for (index_t row = 0; row < rows; ++row) {
            for (index_t token = 0; token < columns; ++token) {
                if (is_attention_factor(attention_factor(row, token))) continue;
                fail<value_error>({function, ": attention factors ", first_.attention_factor(row, token),
                                   Rule::between_factors, second_.attention_factor(row, token),
                                   " must be 2^-60 to 2^60 in magnitude"});
            }
        }
    }

 protected:
    First first_;
    Second second_;
};

}  // namespace angle_detail

}  // namespace cordage
