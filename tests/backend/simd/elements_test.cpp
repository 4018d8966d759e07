// SPDX-License-Identifier: MIT
#if __has_include(<xsimd/xsimd.hpp>)
#include "cordage/backend/simd/elements.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "cordage/backend/simd/even_odd.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// Calls f with the default instruction set, and with AVX2 where that is wider.
template <class F>
void for_each_arch(const F& f) {
    for_each_vector_kernel([&]<class Pairing, class Arch>(Pairing, backend::simd<Arch>) {
        if constexpr (std::same_as<Pairing, half_split>) f(Arch{});
    });
}

// All 65536 elements of 16 bits.
template <class T>
std::vector<T> all_elements() {
    std::vector<T> all;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) all.push_back({static_cast<std::uint16_t>(bits)});
    return all;
}

// How the kernels read and write `step` elements: bfloat16 by even and odd halves.
template <class Arch, class T>
constexpr std::size_t step = (backend::is_bfloat16<T> ? 2 : 1) * backend::reals<Arch, T>::size;

template <class Arch, class T>
void widen(const T* from, float* to) {
    if constexpr (backend::is_bfloat16<T>) {
        backend::zip<Arch>(backend::load_even_odd<Arch>(from), to);
    } else {
        backend::load<Arch>(from).store_unaligned(to);
    }
}
template <class Arch, class T>
void narrow(const float* from, T* to) {
    if constexpr (backend::is_bfloat16<T>) {
        backend::store_even_odd<Arch, T>(backend::unzip<Arch>(from), to);
    } else {
        backend::store<Arch>(backend::reals<Arch, T>::load_unaligned(from), to);
    }
}

template <class T>
void check_loads() {
    for_each_arch([]<class Arch>(Arch) {
        constexpr std::size_t width = step<Arch, T>;
        const std::vector<T> all = all_elements<T>();
        for (std::size_t first = 0; first < all.size(); first += width) {
            float wide[width];
            widen<Arch>(all.data() + first, wide);
            for (std::size_t i = 0; i < width; ++i) {
                const float expected = to_float(all[first + i]);
                const bool same = std::bit_cast<std::uint32_t>(wide[i]) == std::bit_cast<std::uint32_t>(expected);
                REQUIRE((std::isnan(expected) ? std::isnan(wide[i]) : same));
            }
        }
    });
}

// Every element, and what lies a quarter, half and three quarters of the way to the next, and beside the half.
template <class T>
std::vector<float> numbers_to_round() {
    std::vector<float> all;
    const std::vector<T> stored = all_elements<T>();
    for (std::size_t i = 0; i + 1 < stored.size(); ++i) {
        const double here = to_float(stored[i]), next = to_float(stored[i + 1]);
        for (const double way : {0.0, 0.25, 0.5, 0.75}) all.push_back(static_cast<float>(here + way * (next - here)));
        const auto half = static_cast<float>(here + 0.5 * (next - here));
        all.push_back(std::nextafter(half, std::numeric_limits<float>::lowest()));
        all.push_back(std::nextafter(half, std::numeric_limits<float>::max()));
    }
    for (const float large : {65519.0f, 65520.0f, 65536.0f, 1e30f, std::numeric_limits<float>::max()}) {
        all.push_back(large);
        all.push_back(-large);
    }
    while (all.size() % 64 != 0) all.push_back(std::numeric_limits<float>::denorm_min());
    return all;
}

template <class T>
void check_stores() {
    for_each_arch([]<class Arch>(Arch) {
        constexpr std::size_t width = step<Arch, T>;
        const std::vector<float> all = numbers_to_round<T>();
        for (std::size_t first = 0; first < all.size(); first += width) {
            T rounded[width];
            narrow<Arch>(all.data() + first, rounded);
            for (std::size_t i = 0; i < width; ++i) {
                const float number = all[first + i];
                const T expected = element_traits<T>::store(number);
                REQUIRE((std::isnan(number) ? std::isnan(to_float(rounded[i])) : rounded[i].bits == expected.bits));
            }
        }
    });
}

}  // namespace

TEST_CASE("backend/simd/elements: every float16 and bfloat16 widens exactly") {
    check_loads<float16>();
    check_loads<bfloat16>();
}

TEST_CASE("backend/simd/elements: to float16 and bfloat16, nearest and ties to even, as the scalar rounding") {
    check_stores<float16>();
    check_stores<bfloat16>();
}
#endif
