// SPDX-License-Identifier: MIT
// A loop whose index is a constant, so that coefficients fold into the code; serves the stage ode.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace cordage {

/// Calls body(integral_constant<size_t, i>) for i = 0 ... Count-1.
template <std::size_t Count, class Body>
constexpr void unroll(Body&& body) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (body(std::integral_constant<std::size_t, I>{}), ...); }
    (std::make_index_sequence<Count>{});
}

}  // namespace cordage
