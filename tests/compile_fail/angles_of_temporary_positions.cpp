// SPDX-License-Identifier: MIT
// Angles view their positions, so positions that are gone at the end of the line are refused.
// expected: deleted
#include <vector>

#include "cordage/angles/angle_source.hpp"

double first_cos(const cordage::basis& b) {
#ifdef CORDAGE_COMPILE_FAIL
    const cordage::exact_angles<int> angles(b, std::vector<int>{1, 2, 3});
#else
    const std::vector<int> positions{1, 2, 3};
    const cordage::exact_angles<int> angles(b, positions);
#endif
    return angles.at<double>(0, 0, 0).cos;
}
