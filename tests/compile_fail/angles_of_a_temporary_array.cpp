// SPDX-License-Identifier: MIT
// An array is as temporary as a vector.
// expected: cordage::position_view: positions must outlive the view: name the vector or array that holds them
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
