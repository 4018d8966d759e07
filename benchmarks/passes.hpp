// SPDX-License-Identifier: MIT
// Plain passes over memory, the reference for kernels that move the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <xsimd/xsimd.hpp>

namespace cordage::benchmarks {

/// Memory streams of a pass.
enum class traffic {
    in_place,      ///< reads x, writes x
    two_to_one,    ///< reads x and y, writes x: as a backward pass with a frequency gradient
    out_of_place,  ///< reads x, writes y
};

/// One pass over `bytes` bytes that negates bfloat16, float16 and all other elements as float: by flipping bits, since
/// bytes of other types may be subnormal numbers. `Unroll` vectors at a time, prefetching `Ahead` bytes.
template <traffic Traffic, std::size_t Unroll, std::size_t Ahead>
void pass(std::byte* x, std::byte* y, std::size_t bytes) {
    using vector = xsimd::batch<std::uint32_t>;
    constexpr std::size_t width = vector::size * sizeof(std::uint32_t), step = Unroll * width, line = 64;
    const auto load = [](const std::byte* p) {
        return vector::load_unaligned(reinterpret_cast<const std::uint32_t*>(p));
    };
    const auto store = [](const vector& v, std::byte* p) { v.store_unaligned(reinterpret_cast<std::uint32_t*>(p)); };
    const vector signs(0x8000'8000u);
    for (std::size_t i = 0; i + step <= bytes; i += step) {
        if constexpr (Ahead > 0) {
            for (std::size_t l = 0; l < step; l += line) {
                __builtin_prefetch(x + i + l + Ahead, 1);
                if constexpr (Traffic == traffic::two_to_one) __builtin_prefetch(y + i + l + Ahead, 0);
            }
        }
        for (std::size_t u = i; u < i + step; u += width) {
            if constexpr (Traffic == traffic::in_place) store(load(x + u) ^ signs, x + u);
            if constexpr (Traffic == traffic::out_of_place) store(load(x + u) ^ signs, y + u);
            if constexpr (Traffic == traffic::two_to_one) store(load(x + u) ^ (load(y + u) & signs), x + u);
        }
    }
}

}  // namespace cordage::benchmarks
