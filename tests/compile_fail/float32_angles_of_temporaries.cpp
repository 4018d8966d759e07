// SPDX-License-Identifier: MIT
// float32_angles are a view like exact_angles.
// expected: cordage::position_view: positions must outlive the view
#include <vector>

#include "cordage/angles/exact_angles.hpp"

float first_angle(const cordage::basis& b) {
#ifdef CORDAGE_COMPILE_FAIL
    const cordage::float32_angles angles(b, std::vector<double>{1.0, 2.0});
#else
    const std::vector<double> positions{1.0, 2.0};
    const cordage::float32_angles angles(b, positions);
#endif
    return angles.angle(0, 0, 0);
}
