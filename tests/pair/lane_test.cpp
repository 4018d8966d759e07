// SPDX-License-Identifier: MIT
#include "cordage/pair/lane.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "cordage/pair/format.hpp"
#include "pair/lanes.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

// Words of every kind of float: NaNs whose payloads could be lost, either sign, infinities, subnormals, ties.
std::vector<std::uint32_t> interesting_words() {
    std::vector<std::uint32_t> all;
    std::vector<std::uint32_t> payloads{1u,         2u,         0x3fu,      0x7fffu,    0x8000u,
                                        0xffffu,    0x1'0000u,  0x7f'0000u, 0x3f'ffffu, 0x40'0000u,
                                        0x40'0001u, 0x7f'8000u, 0x7f'ffffu};
    for (int bit = 0; bit < 23; ++bit) payloads.push_back(1u << bit);
    std::mt19937 random(9);
    for (int i = 0; i < 400; ++i) payloads.push_back(1u + static_cast<std::uint32_t>(random()) % 0x7f'ffffu);
    for (const std::uint32_t sign : {0u, 0x8000'0000u}) {
        for (const std::uint32_t payload : payloads) all.push_back(sign | 0x7f80'0000u | payload);
        for (const std::uint32_t other : {0u, 1u, 0x7f'ffffu, 0x80'0000u, 0x3f80'0000u, 0x3f80'8000u, 0x3f81'8000u,
                                          0x3f80'7fffu, 0x7f7f'ffffu, 0x7f7f'7fffu, 0x7f7f'8000u, 0x7f80'0000u}) {
            all.push_back(sign | other);
        }
        for (int i = 0; i < 3000; ++i) all.push_back(sign | (static_cast<std::uint32_t>(random()) & 0x7fff'ffffu));
    }
    return all;
}

// One operation on words or floats, by lanes and one at a time.
template <class Lane>
void check_bits() {
    using lane = lane_traits<Lane>;
    using word = typename lane::word;
    constexpr std::size_t size = lane_of<Lane>::size;
    const auto all = interesting_words();
    for (std::size_t first = 0; first + size <= all.size(); first += size) {
        const word in = lane_of<word>::load(all.data() + first);
        std::uint32_t plain[size], rounded[size], upper[size], same[size], chosen[size], smaller[size], larger[size];
        float number[size];
        lane_of<word>::store(lane::bits(lane::plain_nan(lane::from_bits(in))), plain);
        lane_of<word>::store(lane::rounded_upper_half(in), rounded);
        lane_of<word>::store(bfloat16_in_upper_half(lane::from_bits(in)), upper);
        lane_of<word>::store(lane::bits(lane::from_bits(in)), same);
        lane_of<word>::store(lane::where_bit(in, 13, in + word(1u), in), chosen);
        lane_of<word>::store(lane::smaller(in, word(0x8000'0001u)), smaller);
        lane_of<word>::store(lane::larger(in, word(0x8000'0001u)), larger);
        lane_of<Lane>::store(lane::from_signed(in), number);
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint32_t w = all[first + i];
            const bool is_nan = (w & 0x7fff'ffffu) > 0x7f80'0000u;
            CAPTURE(w);
            REQUIRE(plain[i] == (is_nan ? 0xffc0'0000u : w));
            REQUIRE(rounded[i] == w + 0x7fffu + ((w >> 16) & 1u));
            if (is_nan) {
                REQUIRE((upper[i] >> 16) == 0xffc0u);  // a NaN stays a NaN
            } else {
                REQUIRE((upper[i] >> 16) == ((w + 0x7fffu + ((w >> 16) & 1u)) >> 16));
            }
            REQUIRE(same[i] == w);
            REQUIRE(chosen[i] == w + ((w >> 13) & 1u));
            REQUIRE(smaller[i] == std::min(w, 0x8000'0001u));
            REQUIRE(larger[i] == std::max(w, 0x8000'0001u));
            REQUIRE(number[i] == static_cast<float>(static_cast<std::int32_t>(w)));
        }
    }
}

// 64-bit words for lanes of doubles: of every size and sign, near rounding to 53 bits, and with both halves.
template <class Lane>
void check_wide_bits() {
    using lane = lane_traits<Lane>;
    using word = typename lane::word;
    constexpr std::size_t size = lane_of<Lane>::size;
    std::vector<std::uint64_t> all{0, 1, ~0ull, 0xffff'ffffull, 0x1'0000'0000ull, 0x8000'0000ull, ~0x8000'0000ull};
    for (int bit = 0; bit < 64; ++bit) {
        for (const std::uint64_t beside : {0ull, 1ull, ~0ull, 0x201ull}) {
            all.push_back((1ull << bit) + beside), all.push_back(~all.back() + 1);
        }
    }
    std::mt19937_64 random(10);
    for (int i = 0; i < 4000; ++i) all.push_back(random() >> (i % 64)), all.push_back(~all.back() + 1);
    for (std::size_t first = 0; first + size <= all.size(); first += size) {
        const word in = lane_of<word>::load(all.data() + first);
        std::uint64_t same[size], chosen[size], highest[size];
        double number[size];
        lane_of<word>::store(lane::bits(lane::from_bits(in)), same);
        lane_of<word>::store(lane::where_bit(in, 40, in + word(std::uint64_t{1}), in), chosen);
        lane_of<word>::store(lane::where_bit(in, 63, in, word(std::uint64_t{5})), highest);
        lane_of<Lane>::store(lane::from_signed(in), number);
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint64_t w = all[first + i];
            CAPTURE(w);
            REQUIRE(same[i] == w);
            REQUIRE(chosen[i] == w + ((w >> 40) & 1u));
            REQUIRE(highest[i] == ((w >> 63) != 0 ? w : 5));
            REQUIRE(number[i] == static_cast<double>(static_cast<std::int64_t>(w)));
        }
    }
}

// a b + c and similar operations against one rounding, or two without fused products and sums.
template <class Lane>
void check_products(bool is_fused) {
    using lane = lane_traits<Lane>;
    using real = typename lane_of<Lane>::real;
    std::mt19937_64 random(10);
    std::uniform_real_distribution<double> number(-2.0, 2.0);
    std::vector<real> a, b, c;
    for (int i = 0; i < 1000; ++i) {
        for (auto* column : {&a, &b, &c}) column->push_back(static_cast<real>(number(random)));
    }
    const auto add = by_lanes<Lane>([](Lane x, Lane y, Lane z) { return lane::multiply_add(x, y, z); }, a, b, c);
    const auto from =
        by_lanes<Lane>([](Lane x, Lane y, Lane z) { return lane::multiply_add(lane::negative(x), y, z); }, a, b, c);
    const auto negative = by_lanes<Lane>([](Lane x) { return lane::negative(x); }, a);
    for (std::size_t i = 0; i < a.size(); ++i) {
        const real twice = static_cast<real>(a[i] * b[i]);
        const auto is = [&](real found, real fused, real rounded) {
            return found == fused || (!is_fused && std::fabs(static_cast<double>(found - rounded)) <=
                                                       4.0 * std::numeric_limits<real>::epsilon());
        };
        REQUIRE(is(add[i], std::fma(a[i], b[i], c[i]), twice + c[i]));
        REQUIRE(is(from[i], std::fma(-a[i], b[i], c[i]), c[i] - twice));
        REQUIRE(negative[i] == -a[i]);
    }
}

}  // namespace

TEST_CASE("pair/lane: bits, choices and roundings of vectors equal those of one number, for every instruction set") {
    for_each_lane_type<float>([]<class Lane>() { check_bits<Lane>(); });
    check_wide_bits<double>();
#if defined(CORDAGE_HAS_SIMD)
    for_each_arch([]<class Arch>(Arch) { check_wide_bits<xsimd::batch<double, Arch>>(); });
#endif
}

TEST_CASE("pair/lane: products and sums, rounded once where the instruction set fuses them") {
    check_products<float>(false);
    check_products<double>(false);
#if defined(CORDAGE_HAS_SIMD)
    for_each_arch([]<class Arch>(Arch) {
        constexpr bool is_fused = backend::simd_detail::has_fused_multiply_add<Arch>;
        check_products<xsimd::batch<float, Arch>>(is_fused);
        check_products<xsimd::batch<double, Arch>>(is_fused);
    });
#endif
    CHECK(lane_traits<float>::fused(0x1.000002p+0f, 0x1.000002p+0f, -0x1.000004p+0f) == 0x1p-46f);  // rounds once
    CHECK(bits_of(lane_traits<float>::plain_nan(std::bit_cast<float>(0x7f80'0001u))) == 0xffc0'0000u);
}
