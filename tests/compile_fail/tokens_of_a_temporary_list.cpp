// SPDX-License-Identifier: MIT
// A basis for each token points into the list of bases, so a temporary list is rejected.
// expected: deleted
#include "cordage/basis/basis_list.hpp"

cordage::index_t pairs(const cordage::basis& b, const std::vector<std::int32_t>& of_token) {
#ifdef CORDAGE_COMPILE_FAIL
    return cordage::basis_list({&b, &b}).of(of_token).pairs;
#else
    const cordage::basis_list list({&b, &b});
    return list.of(of_token).pairs;
#endif
}
