// SPDX-License-Identifier: MIT
// Positions are of a type that has position_traits, which the message names.
// expected: cordage: positions are int32, int64, float or double
#include <cstdint>
#include <vector>

#include "cordage/angles/exact_angles.hpp"

void angles(const cordage::basis& b, const std::vector<std::uint32_t>& ids, const std::vector<std::int64_t>& numbers) {
#ifdef CORDAGE_COMPILE_FAIL
    static_cast<void>(cordage::exact_angles(b, ids));
#else
    static_cast<void>(cordage::exact_angles(b, numbers));
#endif
    static_cast<void>(ids), static_cast<void>(numbers);
}
