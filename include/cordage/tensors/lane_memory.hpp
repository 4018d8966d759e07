// SPDX-License-Identifier: MIT
// Loads, stores and lane-wise operations that formats of whole heads need beyond pair/; stage tensors.
#pragma once

#include <cmath>
#include <cstdint>

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/pair/lane.hpp"

namespace cordage {

/// A lane of floats in memory: `size` numbers, and words as bytes. Defined for one float here, for xsimd's vectors in
/// backend/simd/lane_memory.hpp.
///
///   load(floats), store(lane, floats)                 no alignment needed
///   load_bytes(bytes), store_bytes(word, bytes)       one byte per word: zero-extended; the low bytes
///   max, min(a, b), magnitude(lane)                   lane by lane; b if a is NaN
///   swapped<Distance>(lane)                           lanes i and i ^ Distance exchanged; vectors only
///   largest(lane)                                     the largest lane; no lane may be NaN
///   truncated(lane)                                   |lane| <= 2^22 as signed words; NaN gives a word whose low byte
///                                                     is 0
template <class Lane>
struct lane_memory;
template <>
struct lane_memory<float> {
    static constexpr index_t size = 1;

    static CORDAGE_ALWAYS_INLINE float load(const float* from) noexcept { return *from; }
    static CORDAGE_ALWAYS_INLINE void store(float x, float* to) noexcept { *to = x; }
    static CORDAGE_ALWAYS_INLINE std::uint32_t load_bytes(const std::uint8_t* from) noexcept { return *from; }
    static CORDAGE_ALWAYS_INLINE void store_bytes(std::uint32_t word, std::uint8_t* to) noexcept {
        *to = static_cast<std::uint8_t>(word);
    }
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE float max(float a, float b) noexcept { return a > b ? a : b; }
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE float min(float a, float b) noexcept { return a < b ? a : b; }
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE float magnitude(float x) noexcept { return std::fabs(x); }
    static CORDAGE_ALWAYS_INLINE float largest(float x) noexcept { return x; }
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE std::uint32_t truncated(float x) noexcept {
        return x < 0x1p31f && x > -0x1p31f ? static_cast<std::uint32_t>(static_cast<std::int32_t>(x)) : 0u;
    }
};

}  // namespace cordage
