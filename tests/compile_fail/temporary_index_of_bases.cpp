// SPDX-License-Identifier: MIT
// The index of each token's basis is viewed, so a temporary index is rejected.
// expected: cordage::basis_list: the index must outlive the angles: pass a named vector, not a temporary
#include "cordage/basis/basis_list.hpp"

std::int32_t first(const cordage::basis_list& list) {
#ifdef CORDAGE_COMPILE_FAIL
    return list.of(std::vector<std::int32_t>{1, 0}).of_token[0];
#else
    const std::vector<std::int32_t> of_token{1, 0};
    return list.of(of_token).of_token[0];
#endif
}
