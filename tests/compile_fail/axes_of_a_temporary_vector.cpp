// SPDX-License-Identifier: MIT
// Angles view the table of axes too, so a temporary table is rejected.
// expected: cordage::axis_angles: axis_of_pair must outlive the angles: pass a named vector, not a temporary
#include "cordage/angles/axis_angles.hpp"
#include "cordage/positions/sections.hpp"

std::uint64_t first_phase(const cordage::basis& b, const int* ids) {
#ifdef CORDAGE_COMPILE_FAIL
    const cordage::axis_angles angles(b, cordage::contiguous_axes({1, 1}), cordage::axis_major(ids, 2, 1, 1));
#else
    const auto axes = cordage::contiguous_axes({1, 1});
    const cordage::axis_angles angles(b, axes, cordage::axis_major(ids, 2, 1, 1));
#endif
    return angles.phase(0, 0, 0);
}
