// SPDX-License-Identifier: MIT
#if __has_include(<xsimd/xsimd.hpp>)
#include "cordage/backend/simd/elements.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "cordage/backend/simd/even_odd.hpp"
#include "pair/lanes.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// All 65536 elements of 16 bits.
template <class T>
std::vector<T> all_elements() {
    std::vector<T> all;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) all.push_back(T::from_bits(static_cast<std::uint16_t>(bits)));
    return all;
}

// How kernels read and write `step` elements: bfloat16 also as even and odd halves.
template <class Arch, class T, bool EvenOdd>
constexpr std::size_t step = (EvenOdd ? 2 : 1) * backend::reals<Arch, element_traits<T>>::size;

template <class Arch, bool EvenOdd, class T>
void widen(const T* from, float* to) {
    if constexpr (EvenOdd) {
        constexpr std::size_t size = backend::reals<Arch, element_traits<T>>::size;
        const auto halves = backend::load_even_odd<Arch>(from);
        float even[size], odd[size];
        halves.even.store_unaligned(even);
        halves.odd.store_unaligned(odd);
        for (std::size_t i = 0; i < 2 * size; ++i) to[i] = i % 2 == 0 ? even[i / 2] : odd[i / 2];
    } else {
        backend::load<Arch>(element_traits<T>{}, from).store_unaligned(to);
    }
}
template <class Arch, bool EvenOdd, class T>
void narrow(const float* from, T* to) {
    if constexpr (EvenOdd) {
        backend::store_even_odd<Arch>(backend::unzip<Arch>(from), to);
    } else {
        using format = element_traits<T>;
        backend::store<Arch>(format{}, backend::reals<Arch, format>::load_unaligned(from), to);
    }
}

// Calls f(Arch{}, T{}, whether by halves) for every instruction set and both ways of reading bfloat16.
template <class T, class F>
void for_each_way(const F& f) {
    for_each_arch([&]<class Arch>(Arch) {
        f(Arch{}, std::false_type{});
        if constexpr (std::same_as<T, bfloat16>) f(Arch{}, std::true_type{});
    });
}

// By bits: under fast-math compilers assume there are no NaNs.
bool is_nan(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7fff'ffffu) > 0x7f80'0000u; }

template <class T>
void check_loads() {
    for_each_way<T>([]<class Arch, class EvenOdd>(Arch, EvenOdd) {
        constexpr std::size_t width = step<Arch, T, EvenOdd::value>;
        const std::vector<T> all = all_elements<T>();
        for (std::size_t first = 0; first < all.size(); first += width) {
            float wide[width];
            widen<Arch, EvenOdd::value>(all.data() + first, wide);
            for (std::size_t i = 0; i < width; ++i) {
                const float expected = to_float(all[first + i]);
                const bool same = std::bit_cast<std::uint32_t>(wide[i]) == std::bit_cast<std::uint32_t>(expected);
                REQUIRE((is_nan(expected) ? is_nan(wide[i]) : same));
            }
        }
    });
}

// Every element, and points a quarter, half and three quarters of the way to the next, and neighbours of the half.
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

// AVX512_BF16 rounds like the others, but flushes subnormal numbers to 0.
template <class Arch, class T>
bool becomes_zero([[maybe_unused]] float number) {
#if defined(__AVX512BF16__)
    const bool is_subnormal = (std::bit_cast<std::uint32_t>(number) & 0x7f80'0000u) == 0;
    return std::same_as<T, bfloat16> && backend::simd_detail::is_avx512<Arch> && is_subnormal;
#else
    return false;
#endif
}

template <class T>
void check_stores() {
    for_each_way<T>([]<class Arch, class EvenOdd>(Arch, EvenOdd) {
        constexpr std::size_t width = step<Arch, T, EvenOdd::value>;
        const std::vector<float> all = numbers_to_round<T>();
        for (std::size_t first = 0; first < all.size(); first += width) {
            T rounded[width];
            narrow<Arch, EvenOdd::value>(all.data() + first, rounded);
            for (std::size_t i = 0; i < width; ++i) {
                const float number = all[first + i];
                const float kept = becomes_zero<Arch, T>(number) ? std::copysign(0.0f, number) : number;
                const T expected = element_traits<T>::store(kept);
                REQUIRE((is_nan(number) ? is_nan(to_float(rounded[i])) : rounded[i].bits == expected.bits));
            }
        }
    });
}

// NaNs of every payload bit and both signs, beside a number.
std::vector<float> all_nans(bool only_upper_halves) {
    std::vector<float> all;
    std::vector<std::uint32_t> payloads{0x7f'ffffu, 0x40'0001u, 0x3f'ffffu, 0x7f'0000u, 0x40'0000u};
    for (int bit = 0; bit < 23; ++bit) payloads.push_back(1u << bit);
    for (const std::uint32_t payload : payloads) {
        if (only_upper_halves && (payload & 0xffffu) != 0) continue;
        for (const std::uint32_t sign : {0u, 0x8000'0000u}) {
            all.push_back(std::bit_cast<float>(sign | 0x7f80'0000u | payload));
            all.push_back(1.5f);
        }
    }
    while (all.size() % 64 != 0) all.push_back(std::numeric_limits<float>::infinity());
    return all;
}
template <class T>
bool is_nan_element(T x) {
    return (x.bits & 0x7fffu) > (std::same_as<T, bfloat16> ? 0x7f80u : 0x7c00u);
}

template <class T>
void check_nans() {
    for_each_way<T>([]<class Arch, class EvenOdd>(Arch, EvenOdd) {
        constexpr std::size_t width = step<Arch, T, EvenOdd::value>;
        const std::vector<float> all = all_nans(EvenOdd::value);
        for (std::size_t first = 0; first < all.size(); first += width) {
            T stored[width];
            narrow<Arch, EvenOdd::value>(all.data() + first, stored);
            for (std::size_t i = 0; i < width; ++i) {
                const auto bits = std::bit_cast<std::uint32_t>(all[first + i]);
                CAPTURE(bits);
                REQUIRE(is_nan_element(stored[i]) == ((bits & 0x7fff'ffffu) > 0x7f80'0000u));
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

// In vectors some NaNs became 0 or infinity: rounding carried out of a payload of ones.
TEST_CASE("backend/simd/elements: a NaN stays a NaN, of any payload and sign") {
    check_nans<float16>();
    check_nans<bfloat16>();
}

// Results of arithmetic on 16-bit numbers and plain NaNs need only rounding when stored as halves of words.
TEST_CASE("backend/simd/elements: every NaN of bfloat16 is one that halves of words keep") {
    for (const bfloat16 x : all_elements<bfloat16>()) {
        REQUIRE((std::bit_cast<std::uint32_t>(to_float(x)) & 0xffffu) == 0);
    }
}
#endif
