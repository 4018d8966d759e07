// SPDX-License-Identifier: MIT
// The views of an operand are constant: it keeps whether they are one.
// expected: 'this' argument
// expected: o.y = y;
// expected: heads_view<float
#include "cordage/tensors/operand.hpp"

auto other(const cordage::heads_view<float>& x, const cordage::heads_view<float>& y) {
#ifdef CORDAGE_COMPILE_FAIL
    auto o = cordage::in_place(x);
    o.y = y;
    return o;
#else
    return cordage::from_to(x, y);
#endif
}
