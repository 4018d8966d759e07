// SPDX-License-Identifier: MIT
// hf::layer_rotation takes operands, as rotate_forward does.
// expected: after the positions write operands: rotate(ids, in_place(q_view), in_place(k_view))
#include "cordage/models/config/layer_rotation.hpp"

void rotated(const cordage::hf::layer_rotation& rotation, const std::vector<int>& ids,
             const cordage::heads_view<float>& q, const cordage::heads_view<float>& k) {
    using namespace cordage;
#ifdef CORDAGE_COMPILE_FAIL
    rotation.rotate(ids, q, k);
#else
    rotation.rotate(ids, in_place(q), in_place(k));
    rotation.rotate(serial{}, ids, in_place(q), in_place(k));
#endif
}
