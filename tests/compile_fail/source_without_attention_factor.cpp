// SPDX-License-Identifier: MIT
// An angle source without attention_factor: the error shows what to write.
// expected: cordage: a source of angles needs 'double attention_factor(index_t row, index_t token) const'
#include "cordage/rotate/forward.hpp"

struct still {
    cordage::index_t batch() const { return 1; }
    cordage::index_t tokens() const { return 1; }
    cordage::index_t pairs() const { return 1; }
#ifndef CORDAGE_COMPILE_FAIL
    double attention_factor(cordage::index_t, cordage::index_t) const { return 1.0; }
#endif
    std::uint64_t phase(cordage::index_t, cordage::index_t, cordage::index_t) const { return 0; }
};

void rotate_all(const cordage::heads_view<float>& x) {
    cordage::rotate_forward<cordage::half_split>(still{}, cordage::in_place(x));
}
