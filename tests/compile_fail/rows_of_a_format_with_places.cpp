// SPDX-License-Identifier: MIT
// A format of whole heads with data beside the elements says what it becomes where heads become rows.
// expected: cordage::heads_as_rows: a format of whole heads that has data beside the elements needs
#include "cordage/tensors/heads_view.hpp"

struct with_scales {
    using compute = float;
    static constexpr cordage::index_t lanes_of_element = 1;
    float* scales;

    template <class Lane>
    void load_head(const signed char* from, const cordage::head_place& at, float* lanes, cordage::index_t count) const {
        for (cordage::index_t i = 0; i < count; ++i) lanes[i] = scales[at.head] * static_cast<float>(from[i]);
    }
    template <class Lane>
    void store_head(const float* lanes, cordage::index_t count, signed char* to, const cordage::head_place&) const {
        for (cordage::index_t i = 0; i < count; ++i) to[i] = static_cast<signed char>(lanes[i]);
    }
#ifndef CORDAGE_COMPILE_FAIL
    with_scales heads_as_rows() const { return *this; }
#endif
};

void rows(const cordage::heads_view<signed char, with_scales>& v) { static_cast<void>(cordage::heads_as_rows(v)); }
