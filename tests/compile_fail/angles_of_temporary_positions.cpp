// SPDX-License-Identifier: MIT
// Angles view their positions, so temporary positions are rejected.
// expected: cordage::position_view: positions must outlive the view: pass a named vector or array, not a temporary
#include <vector>

#include "cordage/angles/exact_angles.hpp"

std::uint64_t first_phase(const cordage::basis& b) {
#ifdef CORDAGE_COMPILE_FAIL
    const cordage::exact_angles angles(b, std::vector<int>{1, 2, 3});
#else
    const std::vector<int> positions{1, 2, 3};
    const cordage::exact_angles angles(b, positions);
#endif
    return angles.phase(0, 0, 0);
}
