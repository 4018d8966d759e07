// SPDX-License-Identifier: MIT
// The phase of position * theta by integers of any length: the reference for turns, angles and rotation in tests.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace cordage_test {

/// A natural number in base 2^32, lowest digit first; only the operations that the reference needs.
using natural_number = std::vector<std::uint32_t>;

inline natural_number product(const natural_number& a, const natural_number& b) {
    natural_number sum(a.size() + b.size(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::uint64_t carry = 0;
        for (std::size_t j = 0; j < b.size(); ++j) {
            carry += std::uint64_t{a[i]} * b[j] + sum[i + j];
            sum[i + j] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        sum[i + b.size()] = static_cast<std::uint32_t>(carry);
    }
    return sum;
}

/// Bits [first, first + 64) of a natural number; bits beyond either end are 0.
inline std::uint64_t bits_from(const natural_number& number, long first) {
    std::uint64_t result = 0;
    for (long bit = 63; bit >= 0; --bit) {
        const long at = first + bit;
        const bool set = at >= 0 && at / 32 < static_cast<long>(number.size()) &&
                         ((number[static_cast<std::size_t>(at / 32)] >> (at % 32)) & 1u) != 0;
        result = 2 * result + (set ? 1 : 0);
    }
    return result;
}

/// A real number as sign * natural * 2^exponent, from an integer or a binary fraction.
struct exact_number {
    bool negative;
    natural_number natural;
    int exponent;
    double rounded;  ///< the number rounded to double

    exact_number(std::int64_t x) : negative(x < 0), exponent(0), rounded(static_cast<double>(x)) {
        const std::uint64_t magnitude = negative ? ~static_cast<std::uint64_t>(x) + 1u : static_cast<std::uint64_t>(x);
        natural = {static_cast<std::uint32_t>(magnitude), static_cast<std::uint32_t>(magnitude >> 32)};
    }
    exact_number(std::int32_t x) : exact_number(std::int64_t{x}) {}
    exact_number(double x) : exact_number(static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53))) {
        std::frexp(x, &exponent);
        exponent -= 53;
        rounded = x;
    }
    exact_number(float x) : exact_number(double{x}) {}
};

/// position * theta / 2 pi modulo a turn, in units of 2^-64 turn, rounded down: correct in all 64 bits.
inline std::uint64_t exact_phase(const exact_number& position, const exact_number& theta) {
    // 2 / pi as a fraction of 384 bits, lowest digit first.
    static const natural_number two_over_pi = {0x09d1921c, 0x06492eea, 0x424dd2e0, 0xb7246e3a, 0xdebbc561, 0xfe5163ab,
                                               0x3c439041, 0xdb629599, 0xf534ddc0, 0xfc2757d1, 0x4e441529, 0xa2f9836e};
    const natural_number turns = product(product(position.natural, theta.natural), two_over_pi);
    const long first_bit = 384 + 2 - position.exponent - theta.exponent - 64;  // 1 / 2 pi is a quarter of 2 / pi
    const std::uint64_t phase = bits_from(turns, first_bit);
    return position.negative != theta.negative ? ~phase + 1u : phase;
}

/// As an angle in [-pi, pi).
inline long double exact_angle(const exact_number& position, const exact_number& theta) {
    return static_cast<long double>(static_cast<std::int64_t>(exact_phase(position, theta))) * 0x1p-63L *
           std::numbers::pi_v<long double>;
}

}  // namespace cordage_test
