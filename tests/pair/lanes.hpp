// SPDX-License-Identifier: MIT
// Every lane type of this unit, one number or a vector of any of its instruction sets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "cordage/backend/backend.hpp"

namespace cordage_test {

/// Number of numbers in a lane, and how a lane is made of them.
template <class Lane>
struct lane_of {
    using real = Lane;
    static constexpr std::size_t size = 1;
    static Lane load(const real* x) { return *x; }
    static void store(const Lane& lane, real* x) { *x = lane; }
};

/// Calls f(Arch{}) for each instruction set of vectors that this unit is compiled for.
template <class F>
void for_each_arch([[maybe_unused]] const F& f) {
#if defined(CORDAGE_HAS_SIMD)
    using widest = xsimd::default_arch;
    f(widest{});
    [[maybe_unused]] const auto other = [&]<class Arch>(Arch arch) {
        if constexpr (!std::is_same_v<Arch, widest>) f(arch);
    };
#if XSIMD_WITH_FMA3_AVX2
    other(xsimd::fma3<xsimd::avx2>{});
#endif
#if XSIMD_WITH_AVX2
    other(xsimd::avx2{});
#endif
#if XSIMD_WITH_AVX
    other(xsimd::avx{});
#endif
#if XSIMD_WITH_FMA3_SSE
    other(xsimd::fma3<xsimd::sse4_2>{});
#endif
#if XSIMD_WITH_SSE4_2
    other(xsimd::sse4_2{});
#endif
#if XSIMD_WITH_SSE2
    other(xsimd::sse2{});
#endif
#endif
}

#if defined(CORDAGE_HAS_SIMD)
template <class Real, class Arch>
struct lane_of<xsimd::batch<Real, Arch>> {
    using real = Real;
    using batch = xsimd::batch<Real, Arch>;
    static constexpr std::size_t size = batch::size;
    static batch load(const real* x) { return batch::load_unaligned(x); }
    static void store(const batch& lane, real* x) { lane.store_unaligned(x); }
};
#endif

/// Calls f.template operator()<Lane>() for a number and a vector of every Arch, of Real.
template <class Real, class F>
void for_each_lane_type(const F& f) {
    f.template operator()<Real>();
#if defined(CORDAGE_HAS_SIMD)
    for_each_arch([&]<class Arch>(Arch) { f.template operator()<xsimd::batch<Real, Arch>>(); });
#endif
}

/// f of lanes of x, taken from the front of each vector; all have one length, padded to whole lanes.
template <class Lane, class F, class... Numbers>
std::vector<typename lane_of<Lane>::real> by_lanes(const F& f, const Numbers&... x) {
    using real = typename lane_of<Lane>::real;
    constexpr std::size_t size = lane_of<Lane>::size;
    const std::size_t count = std::min({x.size()...});
    std::vector<real> y(count);
    for (std::size_t first = 0; first < count; first += size) {
        const std::size_t now = first + size <= count ? size : count - first;
        real out[size];
        const auto padded = [&](const std::vector<real>& all) {
            real in[size];
            for (std::size_t i = 0; i < size; ++i) in[i] = all[first + (i < now ? i : 0)];
            return lane_of<Lane>::load(in);
        };
        lane_of<Lane>::store(f(padded(x)...), out);
        for (std::size_t i = 0; i < now; ++i) y[first + i] = out[i];
    }
    return y;
}

}  // namespace cordage_test
