// SPDX-License-Identifier: MIT
// Which axis turns a pair is viewed too, so a table that is gone at the end of the line is refused.
// expected: cordage::axis_angles: axis_of_pair must outlive the angles: name the vector that holds it
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
