// SPDX-License-Identifier: MIT
#include "cordage/tensors/head_formats.hpp"
#include "cordage/tensors/ggml_blocks.hpp"
#include "cordage/tensors/group_formats.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "pair/lanes.hpp"
#include "rotate/dense.hpp"
#include "tensors/quantised_bytes.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

template <std::size_t Count>
std::vector<float> floats(const std::uint32_t (&bits)[Count]) {
    std::vector<float> all;
    for (const std::uint32_t b : bits) all.push_back(std::bit_cast<float>(b));
    return all;
}

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& elements) {
    std::vector<std::uint8_t> bytes(elements.size() * sizeof(T));
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    return bytes;
}
template <std::size_t Count>
std::vector<std::uint8_t> bytes_of(const std::uint8_t (&bytes)[Count]) {
    return {bytes, bytes + Count};
}

template <class Lane, class Format, class Block, std::size_t Count>
void check_blocks(const Format& format, Block, const std::uint8_t (&expected)[Count]) {
    const auto x = floats(golden::inputs);
    std::vector<Block> blocks(x.size() / 32);
    format.template store_head<Lane>(x.data(), std::ssize(x), blocks.data(), {});
    CHECK(bytes_of(blocks) == bytes_of(expected));
    std::vector<float> back(x.size());
    format.template load_head<Lane>(blocks.data(), {}, back.data(), std::ssize(x));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto& block = blocks[i / 32];
        const float d = to_float(block.d);
        if constexpr (std::same_as<Block, q8_0_block>) {
            REQUIRE(back[i] == d * static_cast<float>(block.codes[i % 32]));
        } else {
            const int byte = block.codes[i % 16], code = i % 32 < 16 ? byte & 15 : byte >> 4;
            REQUIRE(back[i] == d * static_cast<float>(code - 8));
        }
    }
}

// The number of a code, by the definition of the format.
double fp8_number(int code, int mantissa_bits, int bias) {
    const int exponent = (code & 0x7f) >> mantissa_bits, fraction = code & ((1 << mantissa_bits) - 1);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa_bits)
                                      : std::ldexp((1 << mantissa_bits) + fraction, exponent - bias - mantissa_bits);
    return (code & 0x80) != 0 ? -size : size;
}

template <class Fp8, class Lane>
void check_fp8(int mantissa_bits, int bias) {
    std::vector<float> all, between, expected;
    for (int code = 0; code < 256; ++code) {
        all.push_back(by_lanes<Lane>(
                          [code](Lane) {
                              return from_fp8_bits<Fp8, Lane>(
                                  typename lane_traits<Lane>::word(static_cast<std::uint32_t>(code)));
                          },
                          std::vector<float>{0.0f})
                          .front());
        if ((code & 0x7f) <= static_cast<int>(Fp8::largest_bits)) {
            REQUIRE(static_cast<double>(all.back()) == fp8_number(code, mantissa_bits, bias));
        }
    }
    const auto rounded = [](float x) {
        return by_lanes<Lane>([](Lane lane) { return lane_traits<Lane>::from_signed(fp8_bits<Fp8>(lane)); },
                              std::vector<float>{x})
            .front();
    };
    for (int code = 0; code < static_cast<int>(Fp8::largest_bits); ++code) {
        const auto index = static_cast<std::size_t>(code);
        const float middle = (all[index] + all[index + 1]) / 2;
        REQUIRE(rounded(all[index]) == static_cast<float>(code));
        REQUIRE(rounded(-all[index]) == static_cast<float>(code + 128));
        REQUIRE(rounded(middle) == static_cast<float>(code % 2 == 0 ? code : code + 1));
        REQUIRE(rounded(std::nextafter(middle, 0.0f)) == static_cast<float>(code));
        REQUIRE(rounded(std::nextafter(middle, 1e9f)) == static_cast<float>(code + 1));
    }
    REQUIRE(rounded(1e30f) == static_cast<float>(Fp8::largest_bits));
    REQUIRE(rounded(std::numeric_limits<float>::infinity()) == static_cast<float>(Fp8::largest_bits));
    REQUIRE(rounded(std::numeric_limits<float>::quiet_NaN()) == 127.0f);
    REQUIRE(rounded(std::bit_cast<float>(0xffc0'0000u)) == 127.0f);  // inf * 0 on some processors, a NaN with a sign
    CHECK(std::bit_cast<std::uint32_t>(all[127]) ==
          0x7fc0'0000u + (mantissa_bits == 2 ? 0x20'0000u : 0u));  // NaNs, of all fraction bits
}

}  // namespace

TEST_CASE("tensors/head_formats: q8_0 and q4_0 are ggml's, byte for byte") {
    for_each_lane_type<float>([]<class Lane>() {
        check_blocks<Lane>(q8_0{}, q8_0_block{}, golden::q8_0_bytes);
        check_blocks<Lane>(q4_0{}, q4_0_block{}, golden::q4_0_bytes);
        for (const float first : {2.0f, -2.0f}) {  // of equal magnitudes the first gives the scale its sign
            std::vector<float> equal(32);
            equal[3] = first, equal[7] = -first;
            q4_0_block block{};
            q4_0{}.store_head<Lane>(equal.data(), 32, &block, {});
            CHECK(to_float(block.d) == first / -8.0f);
        }
    });
}

TEST_CASE("tensors/head_formats: fp8 is the nearest of 256 numbers, ties to even, and torch's") {
    for_each_lane_type<float>([]<class Lane>() {
        check_fp8<fp8_e4m3, Lane>(3, 7);
        check_fp8<fp8_e5m2, Lane>(2, 15);
    });
    const auto x = floats(golden::fp8_inputs);
    for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK(fp8_bits<fp8_e4m3>(x[i]) == golden::e4m3_bytes[i]);
        CHECK(fp8_bits<fp8_e5m2>(x[i]) == golden::e5m2_bytes[i]);
    }
}

TEST_CASE("tensors/head_formats: bytes with a scale for each head, or for each group of its lanes") {
    for_each_lane_type<float>([]<class Lane>() {
        const auto x = random_elements<float>({1, 1, 1, 90}, 3);
        for (const index_t group : {index_t{0}, index_t{30}}) {
            const std::size_t each = group == 0 ? 90 : 30;
            std::vector<float> scales(3, -1.0f), back(90);
            std::vector<std::int8_t> codes(90);
            const scaled_bytes<std::int8_t> format{.scales = {scales.data(), 0, 0, 0}, .lanes_of_scale = group};
            format.store_head<Lane>(x.data(), 90, codes.data(), {});
            format.load_head<Lane>(codes.data(), {}, back.data(), 90);
            for (std::size_t i = 0; i < 90; ++i) {
                float largest = 0.0f;
                for (std::size_t j = i / each * each; j < i / each * each + each; ++j) {
                    largest = std::max(largest, std::fabs(x[j]));
                }
                REQUIRE(scales[i / each] == largest / 127.0f);
                REQUIRE(codes[i] == static_cast<std::int8_t>(std::nearbyint(x[i] * (1.0f / scales[i / each]))));
                REQUIRE(back[i] == scales[i / each] * static_cast<float>(codes[i]));
            }
        }
        // A given scale is read; values out of range saturate.
        float scale = 0.5f;
        const std::vector<float> y{0.25f, -0.75f, 63.4f, 1e9f, -1e9f};
        std::vector<std::int8_t> codes(5);
        const scaled_bytes<std::int8_t> given{.scales = {&scale, 0, 0, 0}, .makes_scales = false};
        given.store_head<Lane>(y.data(), 5, codes.data(), {});
        CHECK(codes == std::vector<std::int8_t>{0, -2, 127, 127, -127});
        CHECK(scale == 0.5f);
        // A NaN does not hide a larger lane, at any place.
        for (std::size_t i = 0; i < 64; ++i) {
            std::vector<float> with_nan(64, 0.5f);
            with_nan[i] = std::numeric_limits<float>::quiet_NaN();
            with_nan[(i + 48) % 64] = -3.0f;
            std::vector<std::int8_t> made(64);
            scaled_bytes<std::int8_t>{.scales = {&scale, 0, 0, 0}}.store_head<Lane>(with_nan.data(), 64, made.data(),
                                                                                    {});
            REQUIRE(scale == 3.0f / 127.0f);
        }
        // Zeros have a scale too.
        const std::vector<float> none(32, 0.0f);
        std::vector<fp8_e4m3> zeros(32, fp8_e4m3::from_bits(1));
        scaled_bytes<fp8_e4m3>{.scales = {&scale, 0, 0, 0}}.store_head<Lane>(none.data(), 32, zeros.data(), {});
        CHECK(scale == 0x1p-126f);
        CHECK(zeros == std::vector<fp8_e4m3>(32));
    });
}
