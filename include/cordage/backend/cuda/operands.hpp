// SPDX-License-Identifier: MIT
// All operands of a call on a device, of one type or of several, which one launch may process; stage rotation.
#pragma once

#include <concepts>
#include <span>
#include <tuple>
#include <type_traits>

#include "cordage/tensors/operand.hpp"

namespace cordage {

/// All operands of one call: an array of pointers if they have one type, so that any number of operands shares one
/// kernel, else a tuple.
template <class First, class... More>
using operands_of_call = std::conditional_t<(std::same_as<First, More> && ...), std::span<const First* const>,
                                            std::tuple<const First&, const More&...>>;

/// Calls f(operand) for each operand, in order.
template <class O, class F>
CORDAGE_ALWAYS_INLINE void for_each_operand(std::span<const O* const> operands, const F& f) {
    for (const O* o : operands) f(*o);
}
/// As above, for operands of several types.
template <class... O, class F>
CORDAGE_ALWAYS_INLINE void for_each_operand(const std::tuple<O...>& operands, const F& f) {
    std::apply([&](const auto&... o) CORDAGE_ALWAYS_INLINE_LAMBDA { (f(o), ...); }, operands);
}

/// Calls f with the list of all operands of one call.
template <class F, class First, class... More>
CORDAGE_ALWAYS_INLINE void with_operands(const F& f, const First& first, const More&... more) {
    if constexpr ((std::same_as<First, More> && ...)) {
        const First* const all[]{&first, &more...};
        f(operands_of_call<First, More...>(all));
    } else {
        f(operands_of_call<First, More...>(first, more...));
    }
}

}  // namespace cordage
