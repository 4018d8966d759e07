// SPDX-License-Identifier: MIT
// cvt of two numbers at once, the first into the upper half. Named by both types, as "bf16x2.f32".
#include "ptx/operation_table.hpp"
#include "ptx/small_floats.hpp"

namespace cordage_test::ptx {

namespace {

template <class T>
u32 bits_of(double x) {
    return T::nearest(x).bits;
}

template <class T>
void add_bytes(operation_table& to, const std::string& name) {
    to.add<u16, float, float>(name + ".f32", [](float upper, float lower) {
        return static_cast<u16>(bits_of<T>(upper) << 8 | bits_of<T>(lower));
    });
    to.add<u16, u32>(name + ".f16x2", [](u32 pair) {
        const f16 upper{static_cast<u16>(pair >> 16)}, lower{static_cast<u16>(pair)};
        return static_cast<u16>(bits_of<T>(upper) << 8 | bits_of<T>(lower));
    });
    to.add<u32, u16>("f16x2." + name, [](u16 pair) {
        const T upper{static_cast<u8>(pair >> 8)}, lower{static_cast<u8>(pair)};
        return bits_of<f16>(upper) << 16 | bits_of<f16>(lower);
    });
}

}  // namespace

void add_packed_conversions(operation_table& to) {
    to.add<u32, float, float>("f16x2.f32",
                              [](float upper, float lower) { return bits_of<f16>(upper) << 16 | bits_of<f16>(lower); });
    to.add<u32, float, float>("bf16x2.f32", [](float upper, float lower) {
        return u32{nearest_bf16(upper).bits} << 16 | nearest_bf16(lower).bits;
    });
    add_bytes<e4m3>(to, "e4m3x2");
    add_bytes<e5m2>(to, "e5m2x2");
}

const operation_table& operations() {
    static const operation_table all = [] {
        operation_table table;
        add_integers(table);
        add_bits(table);
        add_floats(table);
        add_packed_conversions(table);
        return table;
    }();
    return all;
}

}  // namespace cordage_test::ptx
