// SPDX-License-Identifier: MIT
// A first argument that is neither a source, an executor nor a stream.
// expected: cordage: the first argument must be an angle source, an executor (serial, threads,
#include "cordage/rotate/forward.hpp"

void rotate_all(const cordage::exact_angles<int>& angles, const cordage::heads_view<float>& x) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rotate_forward<cordage::half_split>(3, angles, cordage::in_place(x));
#else
    cordage::rotate_forward<cordage::half_split>(cordage::serial{}, angles, cordage::in_place(x));
#endif
}
