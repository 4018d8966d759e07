// SPDX-License-Identifier: MIT
// A view of temporary positions.
// expected: cordage::position_view: positions must outlive the view: pass a named vector or array, not a temporary
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
