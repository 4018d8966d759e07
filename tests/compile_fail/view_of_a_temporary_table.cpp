// SPDX-License-Identifier: MIT
// A view of a table that is gone at the end of the statement does not compile.
// expected: use of deleted function
#include "cordage/angles/exact_angles.hpp"
#include "cordage/rotate/cos_sin_table.hpp"

void view(const cordage::exact_angles<int>& angles) {
#ifdef CORDAGE_COMPILE_FAIL
    const auto v = cordage::cos_sin_table<float>(angles).view();
    static_cast<void>(v);
#else
    const cordage::cos_sin_table<float> table(angles);
    static_cast<void>(table.view());
#endif
}
