// SPDX-License-Identifier: MIT
// A format of whole heads of a user, on the host and on a device.
#pragma once

#include <cmath>
#include <cstdint>

#include "cordage/backend/cuda/device_format.hpp"

namespace cordage_test {

using cordage::head_place, cordage::index_t;

// A user's format: the first lane of a head as it is, the others as their difference from it in eighths.
struct from_first_lane {
    using compute = float;
    static constexpr index_t lanes_of_element = 1;
    template <class Lane>
    void load_head(const std::int16_t* from, const head_place&, float* lanes, index_t count) const noexcept {
        for (index_t i = 0; i < count; ++i) lanes[i] = (i == 0 ? 0.0f : lanes[0]) + static_cast<float>(from[i]) / 8;
    }
    template <class Lane>
    void store_head(const float* lanes, index_t count, std::int16_t* to, const head_place&) const noexcept {
        const float first = std::nearbyint(lanes[0] * 8) / 8;
        for (index_t i = 0; i < count; ++i) {
            to[i] = static_cast<std::int16_t>(std::nearbyint((lanes[i] - (i == 0 ? 0.0f : first)) * 8));
        }
    }
};

}  // namespace cordage_test

template <>
struct cordage::device_format<cordage_test::from_first_lane> {
    using format = cordage_test::from_first_lane;
    static constexpr int lanes_of_unit = 2;
    CORDAGE_HOST_DEVICE static index_t lanes_of_scale(const format&, index_t head_dim) { return head_dim; }
    CORDAGE_HOST_DEVICE static void load(const format&, const std::int16_t* head, const head_place&, index_t unit,
                                         float* lanes) {
        const float first = static_cast<float>(head[0]) / 8;
        for (int i = 0; i < 2; ++i) {
            lanes[i] = (unit == 0 && i == 0 ? 0.0f : first) + static_cast<float>(head[2 * unit + i]) / 8;
        }
    }
    CORDAGE_HOST_DEVICE static float write_scale(const format&, float largest, std::int16_t* head, const head_place&,
                                                 index_t) {
        head[0] = static_cast<std::int16_t>(std::nearbyint(largest * 8));  // in this test the first lane is the largest
        return static_cast<float>(head[0]) / 8;
    }
    CORDAGE_HOST_DEVICE static void store(const format&, const float* lanes, float first, std::int16_t* head,
                                          index_t unit) {
        for (int i = unit == 0 ? 1 : 0; i < 2; ++i) {
            head[2 * unit + i] = static_cast<std::int16_t>(std::nearbyint((lanes[i] - first) * 8));
        }
    }
};
