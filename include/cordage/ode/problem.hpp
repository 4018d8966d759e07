// SPDX-License-Identifier: MIT
// What every solver checks before its first step; serves the stage ode.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "cordage/core/bits.hpp"
#include "cordage/core/error.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/ode/trajectory.hpp"

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

/// True if a step ended in numbers and met nothing else on its way: a field may hide the NaN of an earlier stage.
template <butcher_tableau Tableau, class Scalar>
bool is_finite_step(const step_view<Tableau, Scalar>& view) noexcept {
    bool finite = all_finite(std::span<const Scalar>(view.z_next));
    for (const Scalar* slope : view.slopes) finite = finite && all_finite(std::span(slope, view.z.size()));
    return finite;
}

/// Throws value_error or shape_error naming what is wrong with an initial value problem.
template <class Scalar, class Field>
void validate_problem(const char* who, Field& field, time_interval<Scalar> interval, std::span<const Scalar> z0) {
    static_assert(
        ode_field<Field, Scalar>,
        "cordage::solve_fixed, solve_adaptive: Field needs 'void operator()(Scalar t, std::span<const Scalar> "
        "z, std::span<Scalar> dz)'; docs/extending.md");
    if (!is_finite(interval.begin)) {
        fail<value_error>({who, ": interval.begin ", interval.begin, " must be finite"});
    }
    if (!is_finite(interval.end)) fail<value_error>({who, ": interval.end ", interval.end, " must be finite"});
    for (std::size_t i = 0; i < z0.size(); ++i) {
        if (!is_finite(z0[i])) fail<value_error>({who, ": z0[", i, "] ", z0[i], " must be finite"});
    }
    if constexpr (sized_field<Field>) {
        if (static_cast<std::size_t>(field.size()) != z0.size()) {
            fail<shape_error>({who, ": z0 size ", z0.size(), " must be the field's size ", field.size()});
        }
    }
}

}  // namespace cordage::ode_detail
