// SPDX-License-Identifier: MIT
// Two loops over a head or a row of weights, 32 lanes at a time so that compilers vectorise them.
#pragma once

#include "cordage/core/index.hpp"
#include "cordage/pair/format.hpp"

inline constexpr cordage::index_t abreast = 32;

/// Sum of a[i] b[i], n a multiple of `abreast`.
template <cordage::element T>
float dot(const float* a, const T* b, cordage::index_t n) noexcept {
    float sums[abreast] = {};
    for (cordage::index_t i = 0; i < n; i += abreast) {
        for (cordage::index_t j = 0; j < abreast; ++j) {
            sums[j] += a[i + j] * static_cast<float>(cordage::element_traits<T>::load(b[i + j]));
        }
    }
    for (cordage::index_t width = abreast / 2; width > 0; width /= 2) {
        for (cordage::index_t j = 0; j < width; ++j) sums[j] += sums[j + width];
    }
    return sums[0];
}

/// sum[i] += weight x[i].
template <cordage::element T>
void add_scaled(float weight, const T* x, float* sum, cordage::index_t n) noexcept {
    for (cordage::index_t i = 0; i < n; ++i) {
        sum[i] += weight * static_cast<float>(cordage::element_traits<T>::load(x[i]));
    }
}
