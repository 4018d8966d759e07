// SPDX-License-Identifier: MIT
// What memory allows: the plainest passes over as many bytes as a kernel moves, timed beside it in one process.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>
#include <xsimd/xsimd.hpp>

namespace cordage::benchmarks {

/// Which streams a pass touches.
enum class traffic {
    in_place,      ///< reads x, writes x
    two_to_one,    ///< reads x and y, writes x: what a backward pass with a frequency gradient must move
    out_of_place,  ///< reads x, writes y
};

/// One pass over `count` floats: x *= -1, x *= -y, or y = -x. `Unroll` vectors at a time, prefetching `Ahead` bytes.
template <traffic Traffic, std::size_t Unroll, std::size_t Ahead>
void pass(float* x, float* y, std::size_t count) {
    using vector = xsimd::batch<float>;
    constexpr std::size_t step = Unroll * vector::size, line = 64 / sizeof(float);
    std::size_t i = 0;
    for (; i + step <= count; i += step) {
        if constexpr (Ahead > 0) {
            for (std::size_t l = 0; l < step; l += line) {
                __builtin_prefetch(x + i + l + Ahead / sizeof(float), 1);
                if constexpr (Traffic == traffic::two_to_one) __builtin_prefetch(y + i + l + Ahead / sizeof(float), 0);
            }
        }
        for (std::size_t u = 0; u < step; u += vector::size) {
            const auto from_x = vector::load_unaligned(x + i + u);
            if constexpr (Traffic == traffic::in_place) (from_x * vector(-1.0f)).store_unaligned(x + i + u);
            if constexpr (Traffic == traffic::out_of_place) (from_x * vector(-1.0f)).store_unaligned(y + i + u);
            if constexpr (Traffic == traffic::two_to_one) {
                (from_x * (vector(0.0f) - vector::load_unaligned(y + i + u))).store_unaligned(x + i + u);
            }
        }
    }
    for (; i < count; ++i) {
        (Traffic == traffic::out_of_place ? y : x)[i] = Traffic == traffic::two_to_one ? -x[i] * y[i] : -x[i];
    }
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The naive bound, a loop of one vector, and the tight bound, the fastest of 8 vectors at a time with 0, 2 and 4 KB of
/// prefetch, over the same buffers.
template <traffic Traffic>
class memory_bound {
 public:
    explicit memory_bound(std::size_t bytes) : x_(bytes / sizeof(float), 1.0f) {
        if (Traffic != traffic::in_place) y_.assign(x_.size(), 1.0f);
        std::array<double, tight_passes.size()> best;
        best.fill(std::numeric_limits<double>::max());
        const std::size_t repeats = std::max<std::size_t>(1, (std::size_t{1} << 20) / bytes);
        for (int round = 0; round < 5; ++round) {
            for (std::size_t i = 0; i < best.size(); ++i)
                best[i] = std::min(best[i], seconds(tight_passes[i], repeats));
        }
        fastest_ = static_cast<std::size_t>(std::min_element(best.begin(), best.end()) - best.begin());
    }

    /// Seconds of one pass, the mean of `repeats`.
    double naive_seconds(std::size_t repeats) { return seconds(pass<Traffic, 1, 0>, repeats); }
    double tight_seconds(std::size_t repeats) { return seconds(tight_passes[fastest_], repeats); }

 private:
    using pass_type = void (*)(float*, float*, std::size_t);
    static constexpr std::array<pass_type, 3> tight_passes{pass<Traffic, 8, 0>, pass<Traffic, 8, 2048>,
                                                           pass<Traffic, 8, 4096>};

    double seconds(pass_type body, std::size_t repeats) {
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < repeats; ++i) {
            body(x_.data(), y_.data(), x_.size());
            benchmark::ClobberMemory();
        }
        return seconds_since(start) / static_cast<double>(repeats);
    }

    std::vector<float> x_, y_;
    std::size_t fastest_ = 0;
};

}  // namespace cordage::benchmarks
