// SPDX-License-Identifier: MIT
// Every tolerance of the tests, by name and element type, with its reason.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>

#include "cordage/pair/format.hpp"

namespace cordage_test {

/// Closed forms in double against printed reference numbers: a few roundings of exp, log and pow, relative.
inline constexpr double closed_form = 1e-13;

/// First derivatives against Richardson-extrapolated central differences in double, relative to max(1, |value|):
/// truncation h^4 at h = 1e-3 and rounding 1e-16 / h.
inline constexpr double first_difference = 1e-10;

/// Phase of position * theta against exact integers, in units of 2^-64 turn per position: half a unit for the rounding
/// of theta / 2 pi, and 1/16 for the 130 bits of 1 / 2 pi at the largest theta.
inline constexpr double turns_per_position = 0.5625;
/// Additional error per call: the part below one unit is truncated.
inline constexpr double turns_per_call = 2.0;
/// A fractional position is truncated at 2^-64 of a position, which loses theta / 2 pi units.
inline constexpr double turns_cut_per_radian = 0.16;

/// cos and sin of a phase in double: one rounding of the argument (at most pi/4) and of each result, with a margin
/// for fast-math's reciprocals.
inline constexpr double cos_sin_double = 4e-16;
/// cos and sin of position * theta in float, for the given double theta: one rounding to float is 3e-8, a vector
/// polynomial of floats two or three such.
inline constexpr double cos_sin_float = 8e-8;

/// One element of the rotation against an exact one: `per_input` times |x0| + |x1| and `per_position` times |position|
/// times the same, plus `ulps` units in the last place of the storage type.
struct rotation_tolerance {
    double per_input;
    double per_position;
    double ulps;
};

template <cordage::element T>
inline constexpr rotation_tolerance rotation = {};
/// double: the roundings of cos, sin, two products and a sum; 64-bit turns lose 2^-65 turn per position, 1.7e-19 rad.
template <>
inline constexpr rotation_tolerance rotation<double> = {1e-15, 2e-19, 0.0};
/// float: roundings of 6e-8 in cos, sin, two products, a sum and the store.
template <>
inline constexpr rotation_tolerance rotation<float> = {3e-7, 2e-19, 0.0};
/// 16 bits: float arithmetic, then one rounding on store, half a unit unless float rounding decides a tie.
template <>
inline constexpr rotation_tolerance rotation<cordage::float16> = {3e-7, 2e-19, 0.5};
template <>
inline constexpr rotation_tolerance rotation<cordage::bfloat16> = {3e-7, 2e-19, 0.5};

/// Largest change of a number of magnitude x by rounding to T: one unit in the last place.
template <cordage::element T>
double unit_in_last_place(double x) {
    constexpr bool half = std::same_as<T, cordage::float16>, brain = std::same_as<T, cordage::bfloat16>;
    constexpr int digits = half ? 11 : brain ? 8 : std::same_as<T, float> ? 24 : 53;
    constexpr int lowest = half ? -24 : brain ? -133 : std::same_as<T, float> ? -149 : -1074;
    if (x == 0.0) return std::ldexp(1.0, lowest);
    const int unit = std::ilogb(x) - digits + 1;
    return std::ldexp(1.0, unit < lowest ? lowest : unit);
}

/// Largest allowed error of a rotated pair (x0, x1) at a position, for a result of magnitude |y|.
template <cordage::element T>
double allowed_error(double magnitude, double position, double y) {
    constexpr rotation_tolerance by = rotation<T>;
    return (by.per_input + by.per_position * std::fabs(position)) * magnitude + by.ulps * unit_in_last_place<T>(y);
}

/// Sums of a gradient against the same sums in long double, relative to the sum of magnitudes. 16-bit types compute in
/// float; a vector backend sums the heads of one token in float.
template <cordage::element T>
inline constexpr double gradient_sum = std::same_as<T, double> ? 1e-13 : 2e-6;

}  // namespace cordage_test
