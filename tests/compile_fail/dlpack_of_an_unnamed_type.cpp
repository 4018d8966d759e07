// SPDX-License-Identifier: MIT
// A host's 16-bit type without same_bits_as: a bfloat16 was taken for a binary16.
// expected: cordage::dlpack: element_traits<T> needs 'using same_bits_as = cordage::float16;'
#include "cordage/host/dlpack/view.hpp"

struct own_bfloat16 {
    std::uint16_t bits;
};
template <>
struct cordage::element_traits<own_bfloat16> {
    using compute = float;
#ifndef CORDAGE_COMPILE_FAIL
    using same_bits_as = cordage::bfloat16;
#endif
    static float load(own_bfloat16 x) noexcept { return to_float(bfloat16::from_bits(x.bits)); }
    static own_bfloat16 store(float x) noexcept { return {to_bfloat16(x).bits}; }
};

cordage::heads_view<own_bfloat16> view(const cordage::dlpack::tensor& x) {
    return cordage::dlpack::view<own_bfloat16>(x, cordage::dlpack::axes::tokens_heads);
}
