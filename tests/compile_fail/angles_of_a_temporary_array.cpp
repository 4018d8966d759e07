// SPDX-License-Identifier: MIT
// Temporary arrays are rejected like temporary vectors.
// expected: cordage::position_view: positions must outlive the view: pass a named vector or array, not a temporary
#include <array>

#include "cordage/angles/exact_angles.hpp"

std::uint64_t first_phase(const cordage::basis& b) {
#ifdef CORDAGE_COMPILE_FAIL
    const cordage::exact_angles angles(b, std::array{1, 2, 3});
#else
    const std::array positions{1, 2, 3};
    const cordage::exact_angles angles(b, positions);
#endif
    return angles.phase(0, 0, 0);
}
