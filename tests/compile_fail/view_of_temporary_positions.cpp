// SPDX-License-Identifier: MIT
// A view of positions that are gone at the end of the line.
// expected: cordage::position_view: positions must outlive the view: name the vector or array that holds them
#include <vector>

#include "cordage/positions/position_view.hpp"

int first() {
#ifdef CORDAGE_COMPILE_FAIL
    const cordage::position_view<int> view(std::vector<int>{1, 2, 3});
#else
    const std::vector<int> positions{1, 2, 3};
    const cordage::position_view<int> view(positions);
#endif
    return view.at(0, 0);
}
