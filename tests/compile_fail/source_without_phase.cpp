// SPDX-License-Identifier: MIT
// A source without angles: the error shows what to write.
// expected: cordage: a source of angles needs 'std::uint64_t phase(index_t row, index_t token, index_t pair) const' in
// expected: units of 2^-64 turn, or 'double angle(...) const' in radians; docs/extending.md
#include "cordage/rotate/forward.hpp"

struct still {
    cordage::index_t batch() const { return 1; }
    cordage::index_t tokens() const { return 1; }
    cordage::index_t pairs() const { return 1; }
    double attention_factor(cordage::index_t, cordage::index_t) const { return 1.0; }
#ifndef CORDAGE_COMPILE_FAIL
    double angle(cordage::index_t, cordage::index_t, cordage::index_t) const { return 0.0; }
#endif
};

void rotate_all(const cordage::heads_view<float>& x) {
    cordage::rotate_forward<cordage::half_split>(still{}, cordage::in_place(x));
}
