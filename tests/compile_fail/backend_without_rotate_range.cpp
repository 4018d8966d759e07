// SPDX-License-Identifier: MIT
// A backend without rotate_range: the error shows what to write.
// expected: cordage: a backend needs 'template <pairing P, class Direction, class Source, class O> void
// expected: rotate_range(my_backend, const Source& angles, const operand_list<O>& operands, index_t begin, index_t end)
#include "cordage/rotate/forward.hpp"

namespace mine {
struct plain {};
#ifndef CORDAGE_COMPILE_FAIL
template <cordage::pairing P, class Direction, class Source, class Operands>
void rotate_range(plain, const Source& angles, const Operands& operands, cordage::index_t begin,
                  cordage::index_t end) noexcept {
    cordage::backend::rotate_range<P, Direction>(cordage::backend::scalar{}, angles, operands, begin, end);
}
#endif
}  // namespace mine

void rotate_all(const cordage::exact_angles<int>& angles, const cordage::heads_view<float>& x) {
    cordage::rotate_forward<cordage::half_split, mine::plain>(angles, cordage::in_place(x));
}
