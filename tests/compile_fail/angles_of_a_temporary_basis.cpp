// SPDX-License-Identifier: MIT
// Angles view their basis, so a temporary basis is rejected.
// expected: deleted
#include <vector>

#include "cordage/angles/exact_angles.hpp"

std::uint64_t first_phase(const std::vector<int>& positions) {
#ifdef CORDAGE_COMPILE_FAIL
    const cordage::exact_angles<int> angles(cordage::basis({1.0}), cordage::position_view<int>(positions));
#else
    const cordage::basis b({1.0});
    const cordage::exact_angles<int> angles(b, cordage::position_view<int>(positions));
#endif
    return angles.phase(0, 0, 0);
}
