// SPDX-License-Identifier: MIT
// A format of whole heads with host functions only.
// expected: on a device a format of whole heads needs a specialisation of cordage::device_format with lanes_of_unit
#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/rotate/cuda/forward.hpp"

struct halves {
    using compute = float;
    static constexpr cordage::index_t lanes_of_element = 1;
    template <class Lane>
    void load_head(const short* from, const cordage::head_place&, float* lanes, cordage::index_t count) const {
        for (cordage::index_t i = 0; i < count; ++i) lanes[i] = static_cast<float>(from[i]) / 2;
    }
    template <class Lane>
    void store_head(const float* lanes, cordage::index_t count, short* to, const cordage::head_place&) const {
        for (cordage::index_t i = 0; i < count; ++i) to[i] = static_cast<short>(lanes[i] * 2);
    }
};

struct device {
    cordage::index_t processors(const char*) const { return 1; }
    template <class Kernel>
    void launch(const char*, const Kernel&, const cordage::backend::launch_size&) const {}
};

void rotate(const cordage::device_angles<int>& angles, const cordage::heads_view<short, halves>& keys,
            const cordage::heads_view<cordage::q8_0_block, cordage::q8_0>& known) {
#ifdef CORDAGE_COMPILE_FAIL
    cordage::rotate_forward<cordage::half_split>(device{}, angles, cordage::in_place(keys));
#endif
    cordage::rotate_forward<cordage::half_split>(device{}, angles, cordage::in_place(known));
    (void)keys;
}
