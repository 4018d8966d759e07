// SPDX-License-Identifier: MIT
// Views of a list of bases point into it, so a temporary list is rejected.
// expected: deleted
#include "cordage/basis/basis_list.hpp"

cordage::index_t pairs(const cordage::basis& b) {
#ifdef CORDAGE_COMPILE_FAIL
    return cordage::basis_list({&b, &b}).of_rows().pairs;
#else
    const cordage::basis_list list({&b, &b});
    return list.of_rows().pairs;
#endif
}
