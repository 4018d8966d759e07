// SPDX-License-Identifier: MIT
// Sums over states and slopes, written so that compilers use vectors; serves the stage ode.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace cordage::ode_detail {

/// True if no entry is infinite or NaN. Looks at all of them without a branch, so that compilers use vectors.
template <class Scalar>
bool all_finite(std::span<const Scalar> values) noexcept {
    using bits = std::conditional_t<sizeof(Scalar) == sizeof(float), std::uint32_t, std::uint64_t>;
    constexpr auto exponent = std::bit_cast<bits>(std::numeric_limits<Scalar>::infinity());
    bits found = 0;  // its highest bit is set once an exponent is all ones
    for (const Scalar value : values) found |= exponent - (std::bit_cast<bits>(value) & exponent) - 1;
    return found >> (8 * sizeof(Scalar) - 1) == 0;
}

/// to += factor * from
template <class Scalar>
void add_scaled(Scalar factor, std::span<const Scalar> from, std::span<Scalar> to) noexcept {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

/// Terms of one sum over slopes.
inline constexpr std::size_t most_terms = 8;

/// out[i] = from[i] + factor * sum_j weights[j] slopes[j][i] for so many terms, one pass.
template <class Scalar, std::size_t... J>
void sum_slopes(std::index_sequence<J...>, Scalar factor, const Scalar* weights, const Scalar* const* slopes,
                const Scalar* from, std::span<Scalar> out) noexcept {
    const Scalar weight[] = {weights[J]...};
    const Scalar* const slope[] = {slopes[J]...};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = from[i] + factor * (... + (weight[J] * slope[J][i]));
}

/// out = from + factor * sum_j weights[j] slopes[j], each [out.size()]; from may be out. One function for all rules:
/// their weights are numbers here, and only those that are not 0 are read.
template <class Scalar>
void add_slopes(Scalar factor, std::span<const Scalar> weights, const Scalar* const* slopes, const Scalar* from,
                std::span<Scalar> out) noexcept {
    Scalar weight[most_terms];
    const Scalar* slope[most_terms];
    std::size_t count = 0;
    const auto sum = [&]<std::size_t... Count>(std::index_sequence<Count...>) {
        const auto sum_of = [&](auto terms) { sum_slopes<Scalar>(terms, factor, weight, slope, from, out); };
        (void)((count == Count + 1 && (sum_of(std::make_index_sequence<Count + 1>{}), true)) || ...);
        if (count > 0) from = out.data();
        count = 0;
    };
    for (std::size_t j = 0; j < weights.size(); ++j) {
        if (weights[j] == 0) continue;
        weight[count] = weights[j], slope[count++] = slopes[j];
        if (count == most_terms) sum(std::make_index_sequence<most_terms>{});
    }
    sum(std::make_index_sequence<most_terms>{});
    if (from != out.data()) std::copy_n(from, out.size(), out.data());
}

/// sum_i x[i] y[i] in eight running sums: one would wait for itself, and the compiler may not split it.
template <class X, class Y>
X dot(std::span<const X> x, const Y* y) noexcept {
    constexpr std::size_t lanes = 8;
    X sums[lanes] = {};
    const std::size_t whole = x.size() / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += x[i + lane] * static_cast<X>(y[i + lane]);
    }
    for (std::size_t i = whole; i < x.size(); ++i) sums[0] += x[i] * static_cast<X>(y[i]);
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return sums[0];
}

}  // namespace cordage::ode_detail
