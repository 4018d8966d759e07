// SPDX-License-Identifier: MIT
#include "cordage/tensors/block_scaled.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "pair/lanes.hpp"
#include "rotate/dense.hpp"
#include "tensors/block_scaled_bytes.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// By bits: these tests are also compiled with fast-math, which assumes that there are no NaNs and no signs of 0, and
// sets the processor to take numbers below 2^-126 as 0.
bool is_nan(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7fff'ffffu) > 0x7f80'0000u; }
bool is_negative(float x) { return std::bit_cast<std::uint32_t>(x) >> 31 != 0; }
bool is_subnormal(float x) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7fff'ffffu;
    return magnitude != 0 && magnitude < 0x80'0000u;
}
bool flushes_subnormals() {
    const volatile float small = std::bit_cast<float>(1u);
    return small * 1.0f == 0.0f;
}

// The numbers of a code without sign, by the definition of the format.
double number_of(int code, int mantissa_bits, int bias) {
    const int exponent = code >> mantissa_bits, fraction = code & ((1 << mantissa_bits) - 1);
    return exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa_bits)
                         : std::ldexp((1 << mantissa_bits) + fraction, exponent - bias - mantissa_bits);
}
std::vector<double> numbers(fp8_e4m3) {
    std::vector<double> all;
    for (int code = 0; code <= 0x7e; ++code) all.push_back(number_of(code, 3, 7));
    return all;
}
std::vector<double> numbers(fp8_e5m2) {
    std::vector<double> all;
    for (int code = 0; code <= 0x7b; ++code) all.push_back(number_of(code, 2, 15));
    return all;
}
std::vector<double> numbers(fp4_e2m1_x2) { return {0, 0.5, 1, 1.5, 2, 3, 4, 6}; }

// The nearest of all numbers, of two equally near ones the even code.
int nearest(double x, const std::vector<double>& all) {
    int best = 0;
    for (int code = 1; code < static_cast<int>(all.size()); ++code) {
        const auto distance = [&](int c) { return std::fabs(std::fabs(x) - all[static_cast<std::size_t>(c)]); };
        if (distance(code) < distance(best) || (distance(code) == distance(best) && code % 2 == 0)) best = code;
    }
    return best;
}

template <class Code>
int code_of_lane(const std::vector<Code>& codes, std::size_t lane) {
    if constexpr (std::same_as<Code, fp4_e2m1_x2>) return codes[lane / 2].bits >> (4 * (lane % 2)) & 15;
    return codes[lane / static_cast<std::size_t>(tensors_detail::lanes_of_code<Code>)].bits;
}

// Lanes of all sizes: each group of `each` lanes has another largest magnitude, just at, below or above a step.
std::vector<float> lanes_of_all_sizes(std::size_t groups, std::size_t each, float largest_code) {
    auto x = random_elements<float>({1, 1, 1, static_cast<index_t>(groups * each)}, 17);
    for (std::size_t g = 0; g < groups; ++g) {
        const float step = std::ldexp(largest_code, static_cast<int>(g % 23) - 11) * (g % 2 == 0 ? 1.0f : 4.0f / 6.0f);
        float largest = 0.0f;
        for (std::size_t i = 0; i < each; ++i) largest = std::max(largest, std::fabs(x[g * each + i]));
        for (std::size_t i = 0; i < each; ++i) x[g * each + i] *= step / largest * (i % 3 == 0 ? 1.0f : 0.01f);
        const float to = g % 3 == 0 ? 0.0f : 1e30f;
        x[g * each + 3] = g % 3 == 2 ? -step : std::nextafter(step, to);
        if (g % 11 == 5)
            std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(g * each), each, g % 2 == 0 ? -0.0f : 0.0f);
    }
    return x;
}

template <class Lane, class Code>
void check_powers_of_two(scale_rounding rounding, index_t each) {
    const auto all = numbers(Code{});
    const std::size_t groups = std::min<std::size_t>(60, 2048 / static_cast<std::size_t>(each)),
                      lanes = groups * static_cast<std::size_t>(each);
    const auto x = lanes_of_all_sizes(groups, static_cast<std::size_t>(each), Code::largest);
    std::vector<Code> codes(lanes / static_cast<std::size_t>(mx_blocks<Code>::lanes_of_element));
    std::vector<e8m0> scales(groups);
    const mx_blocks<Code> format{{scales.data(), 0, 0, 0}, each, rounding};
    std::vector<float> back(lanes);
    format.template store_head<Lane>(x.data(), std::ssize(x), codes.data(), {});
    format.template load_head<Lane>(codes.data(), {}, back.data(), std::ssize(x));
    for (std::size_t g = 0; g < groups; ++g) {
        double largest = 0.0;
        const auto lane = [&](index_t i) { return g * static_cast<std::size_t>(each) + static_cast<std::size_t>(i); };
        for (index_t i = 0; i < each; ++i) largest = std::max(largest, std::fabs(static_cast<double>(x[lane(i)])));
        const double power = rounding == scale_rounding::up
                                 ? std::ceil(std::log2(largest / all.back()))
                                 : std::floor(std::log2(largest)) - std::floor(std::log2(all.back()));
        REQUIRE(scales[g].bits == (largest == 0.0 ? 0 : static_cast<int>(power) + 127));
        const double scale = std::ldexp(1.0, scales[g].bits - 127);
        for (index_t i = 0; i < each; ++i) {
            const int code = nearest(static_cast<double>(x[lane(i)]) / scale, all);
            const int sign = is_negative(x[lane(i)]) ? static_cast<int>(Code::sign) : 0;
            REQUIRE(code_of_lane(codes, lane(i)) == (code | sign));
            const double number = all[static_cast<std::size_t>(code)] * scale;
            REQUIRE(static_cast<double>(back[lane(i)]) == (sign != 0 ? -number : number));
        }
    }
}

// Codes and scales of torchao, byte for byte, but where it does not keep to the formats: it stores blocks whose scale
// is 2^-127 as if it were 2^-126 or 1. What stands beside a NaN is no number in fp4, and a NaN's sign in fp8 is any.
template <class Lane, class Format, class Code, std::size_t Codes, std::size_t Scales>
void check_golden(const Format& format, Code, const std::uint8_t (&codes_of)[Codes],
                  const std::uint8_t (&scales_of)[Scales]) {
    namespace golden = cordage_test::golden::block_scaled;
    std::vector<float> x;
    for (const std::uint32_t bits : golden::inputs) x.push_back(std::bit_cast<float>(bits));
    using scale = std::remove_pointer_t<decltype(format.scales.data)>;
    std::vector<scale> scales(Scales);
    std::vector<Code> codes(Codes);
    Format into = format;
    into.scales = {scales.data(), 0, 0, 0};
    into.template store_head<Lane>(x.data(), std::ssize(x), codes.data(), {});
    constexpr bool is_fp4 = std::same_as<Code, fp4_e2m1_x2>;
    const std::size_t each = Codes / Scales;
    std::size_t compared = 0;
    for (std::size_t g = 0; g < Scales; ++g) {
        CAPTURE(g);
        const std::size_t lanes = x.size() / Scales;
        const auto has = [&](const auto& is) {
            return std::any_of(x.begin() + static_cast<std::ptrdiff_t>(g * lanes),
                               x.begin() + static_cast<std::ptrdiff_t>((g + 1) * lanes), is);
        };
        const bool is_largest = std::same_as<scale, e8m0> && scales_of[g] == 254;  // its inverse is subnormal
        if (flushes_subnormals() && (has(is_subnormal) || is_largest)) continue;
        if constexpr (requires { into.least; }) {
            if (has(is_nan) && into.least > 0.0f) continue;  // DeepGEMM makes a power of two of NaN
        }
        REQUIRE(scales[g].bits == scales_of[g]);
        const bool has_nan = std::same_as<scale, e8m0> ? scales_of[g] == 255 : scales_of[g] == 127;
        if (std::same_as<scale, e8m0> && scales_of[g] == 0) continue;
        if (is_fp4 && has_nan) continue;
        for (std::size_t i = g * each; i < (g + 1) * each; ++i, ++compared) {
            const bool is_nan = !is_fp4 && (codes_of[i] & 0x7f) > (std::same_as<Code, fp8_e4m3> ? 0x7e : 0x7c);
            REQUIRE(codes[i].bits == (is_nan ? 0x7f : codes_of[i]));
        }
    }
    CHECK(compared > Codes / 2);
}

}  // namespace

TEST_CASE("tensors/block_scaled: bytes are torchao's and torch's") {
    namespace golden = cordage_test::golden::block_scaled;
    using enum scale_rounding;
    for_each_lane_type<float>([]<class Lane>() {
        check_golden<Lane>(mxfp8_e4m3{{}, 32, down}, fp8_e4m3{}, golden::mxfp8_e4m3_floor::codes,
                           golden::mxfp8_e4m3_floor::scales);
        check_golden<Lane>(mxfp8_e4m3{{}, 32, up}, fp8_e4m3{}, golden::mxfp8_e4m3_rceil::codes,
                           golden::mxfp8_e4m3_rceil::scales);
        check_golden<Lane>(mxfp8_e5m2{{}, 32, down}, fp8_e5m2{}, golden::mxfp8_e5m2_floor::codes,
                           golden::mxfp8_e5m2_floor::scales);
        check_golden<Lane>(mxfp8_e5m2{{}, 32, up}, fp8_e5m2{}, golden::mxfp8_e5m2_rceil::codes,
                           golden::mxfp8_e5m2_rceil::scales);
        check_golden<Lane>(mxfp4{{}, 32, down}, fp4_e2m1_x2{}, golden::mxfp4_floor::codes, golden::mxfp4_floor::scales);
        check_golden<Lane>(mxfp4{{}, 32, up}, fp4_e2m1_x2{}, golden::mxfp4_rceil::codes, golden::mxfp4_rceil::scales);
        check_golden<Lane>(nvfp4{}, fp4_e2m1_x2{}, golden::nvfp4::codes, golden::nvfp4::scales);
        check_golden<Lane>(nvfp4{{}, std::bit_cast<float>(golden::nvfp4_tensor_scale)}, fp4_e2m1_x2{},
                           golden::nvfp4_tensor::codes, golden::nvfp4_tensor::scales);
        check_golden<Lane>(mxfp8_e4m3{{}, 128, up, 1e-4f}, fp8_e4m3{}, golden::ue8m0_128::codes,
                           golden::ue8m0_128::scales);
        check_golden<Lane>(mxfp8_e4m3{{}, 64, up, 1e-4f}, fp8_e4m3{}, golden::ue8m0_64::codes,
                           golden::ue8m0_64::scales);
    });
}

TEST_CASE("tensors/block_scaled: a scale of one byte is a power of two, or NaN") {
    for (int bits = 0; bits < 255; ++bits) {
        const e8m0 scale{static_cast<std::uint8_t>(bits)};
        if (flushes_subnormals() && (bits == 0 || bits == 254)) continue;
        REQUIRE(static_cast<double>(scale.value()) == std::ldexp(1.0, bits - 127));
        REQUIRE(static_cast<double>(scale.inverse()) == std::ldexp(1.0, 127 - bits));
        const float x = scale.value(), more = std::nextafter(x, std::numeric_limits<float>::infinity()),
                    less = std::nextafter(x, 0.0f);
        REQUIRE(e8m0::above(x) == scale);
        REQUIRE(e8m0::above(more).bits == std::min(bits + 1, 254));
        REQUIRE(e8m0::above(less) == scale);
        if (bits == 0) continue;  // the powers of numbers below 2^-126 are not told apart
        REQUIRE(e8m0::below(x, 0) == scale);
        REQUIRE(e8m0::below(more, 0) == scale);
        REQUIRE(e8m0::below(less, 0).bits == bits - 1);
        REQUIRE(e8m0::below(x, 8).bits == std::max(bits - 8, 0));
    }
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(e8m0::above(infinity).bits == 254);
    CHECK(e8m0::below(infinity, 8).bits == 247);
    CHECK(e8m0::above(0.0f).bits == 0);
    for (const e8m0 made : {e8m0::above(nan), e8m0::below(nan, 2)}) {
        CHECK(made.is_nan());
        CHECK(is_nan(made.value()));
        CHECK(is_nan(made.inverse()));
    }
}

TEST_CASE("tensors/block_scaled: MXFP8 and MXFP4 are the nearest numbers at the power of two of their group") {
    for_each_lane_type<float>([]<class Lane>() {
        for (const scale_rounding rounding : {scale_rounding::down, scale_rounding::up}) {
            for (const index_t each : {32, 128, 6}) {
                check_powers_of_two<Lane, fp8_e4m3>(rounding, each);
                check_powers_of_two<Lane, fp8_e5m2>(rounding, each);
                check_powers_of_two<Lane, fp4_e2m1_x2>(rounding, each);
            }
        }
    });
}

TEST_CASE("tensors/block_scaled: NVFP4 is the nearest number at a scale in e4m3 and a float of the tensor") {
    const auto codes_of = numbers(fp4_e2m1_x2{}), scales_of = numbers(fp8_e4m3{});
    for_each_lane_type<float>([&]<class Lane>() {
        for (const float of_tensor : {1.0f, 0.0034f, 0x1p-10f}) {
            const auto x = lanes_of_all_sizes(40, 16, 6.0f);
            std::vector<fp4_e2m1_x2> codes(x.size() / 2);
            std::vector<fp8_e4m3> scales(40);
            std::vector<float> back(x.size());
            const nvfp4 format{{scales.data(), 0, 0, 0}, of_tensor};
            format.store_head<Lane>(x.data(), std::ssize(x), codes.data(), {});
            format.load_head<Lane>(codes.data(), {}, back.data(), std::ssize(x));
            for (std::size_t g = 0; g < 40; ++g) {
                double largest = 0.0;
                for (std::size_t i = 0; i < 16; ++i) {
                    largest = std::max(largest, std::fabs(static_cast<double>(x[16 * g + i])));
                }
                const double wanted = std::clamp(largest / 6.0 / static_cast<double>(of_tensor), 0x1p-6, 448.0);
                const double scale = scales_of[scales[g].bits];
                // The scale before it is rounded has an error of two roundings in float.
                REQUIRE(std::fabs(scale - wanted) <= (1.0 / 16 + 1e-6) * wanted);
                for (std::size_t i = 16 * g; i < 16 * g + 16; ++i) {
                    const double number = static_cast<double>(x[i]) / (scale * static_cast<double>(of_tensor));
                    const int code = code_of_lane(codes, i), without_sign = code & 7;
                    REQUIRE((code >= 8) == is_negative(x[i]));
                    const double found = codes_of[static_cast<std::size_t>(without_sign)];
                    const double best = codes_of[static_cast<std::size_t>(nearest(number, codes_of))];
                    REQUIRE(std::fabs(found - std::fabs(number)) <= std::fabs(best - std::fabs(number)) + 1e-5);
                    REQUIRE(back[i] ==
                            doctest::Approx((code >= 8 ? -found : found) * scale * static_cast<double>(of_tensor)));
                }
            }
        }
    });
}

TEST_CASE("tensors/block_scaled: a NaN or an infinity in a group, and a smallest largest magnitude") {
    const float nan = std::bit_cast<float>(0xffc0'0000u), infinity = std::numeric_limits<float>::infinity();
    for_each_lane_type<float>([&]<class Lane>() {
        std::vector<float> x(128, 1.0f), back(128);
        x[5] = nan, x[40] = -infinity, x[70] = 1e-9f;
        std::fill_n(x.begin() + 64, 32, 1e-9f);
        std::vector<fp8_e4m3> codes(128);
        std::vector<e8m0> scales(4);
        for (const scale_rounding rounding : {scale_rounding::down, scale_rounding::up}) {
            const mxfp8_e4m3 format{{scales.data(), 0, 0, 0}, 32, rounding, 1e-4f};
            format.store_head<Lane>(x.data(), 128, codes.data(), {});
            format.load_head<Lane>(codes.data(), {}, back.data(), 128);
            const bool is_up = rounding == scale_rounding::up;
            CHECK(scales[0].is_nan());
            CHECK(is_nan(back[0]));
            CHECK(codes[5].bits == 0x7f);
            CHECK(codes[6].bits == (is_up ? 0x7f : 0));
            CHECK(scales[1].bits == (is_up ? 254 : 247));
            // 2^-127, by which lanes are multiplied, may be 0, and infinity times it a NaN.
            CHECK(codes[40].bits == (is_up && flushes_subnormals() ? 0x7f : 0xfe));
            CHECK(codes[41].bits == 0);
            CHECK(scales[2].bits == (is_up ? 127 - 22 : 127 - 14 - 8));  // of 1e-4: 2^-13.29, and / 448 2^-22.1
            CHECK(back[70] == doctest::Approx(1e-9).epsilon(0.07));
            CHECK(back[100] == 1.0f);
        }
        std::vector<fp8_e4m3> of_groups(8);
        std::vector<fp4_e2m1_x2> fours(64);
        const nvfp4 format{{of_groups.data(), 0, 0, 0}};
        format.store_head<Lane>(x.data(), 128, fours.data(), {});
        format.load_head<Lane>(fours.data(), {}, back.data(), 128);
        CHECK(of_groups[0].bits == 0x7f);
        CHECK(is_nan(back[0]));
        CHECK(code_of_lane(fours, 5) == 7);
        CHECK(of_groups[2].bits == 0x7e);
        CHECK(back[40] == -448.0f * 6.0f);
        CHECK(back[120] == 6.0f * 0.171875f);
        std::vector<fp4_e2m1_x2> copy(64);
        CHECK(format.copy_head(format, fours.data(), {}, copy.data(), {}, 128));
        CHECK(copy == fours);
        nvfp4 other = format;
        other.tensor_scale = 2.0f;
        CHECK_FALSE(other.copy_head(format, fours.data(), {}, copy.data(), {}, 128));
    });
}

TEST_CASE("tensors/block_scaled: fields that do not fit are named") {
    e8m0 scale{127};
    fp8_e4m3 small{};
    const auto message_of = [](const auto& format, index_t head_dim) -> std::string {
        try {
            format.check("rotate_forward", "y", head_dim);
        } catch (const std::exception& e) {
            return e.what();
        }
        return "none";
    };
    CHECK(message_of(mxfp8_e4m3{{&scale, 0, 0, 0}}, 64) == "none");
    CHECK(message_of(nvfp4{{&small, 0, 0, 0}}, 64) == "none");
    CHECK(message_of(mxfp8_e4m3{}, 64) == "rotate_forward: y's scales.data nullptr must point to the scales");
    CHECK(message_of(mxfp4{{&scale, 0, 0, 0}}, 80) ==
          "rotate_forward: y's lanes_of_scale 32 must be even and divide head_dim 80, or be 0");
    CHECK(message_of(mxfp4{{&scale, 0, 0, 0}, 5}, 80) ==
          "rotate_forward: y's lanes_of_scale 5 must be even and divide head_dim 80, or be 0");
    CHECK(message_of(mxfp8_e5m2{{&scale, 0, 0, 0}, 32, scale_rounding::up, -1.0f}, 64) ==
          "rotate_forward: y's least -1 must be finite and not negative");
    CHECK(message_of(mxfp8_e5m2{{&scale, 0, 0, 0}, 32, scale_rounding::up, -0.0f}, 64) ==
          "rotate_forward: y's least -0 must be finite and not negative");
    for (const float wrong :
         {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 0x1p-149f}) {
        CHECK(message_of(nvfp4{{&small, 0, 0, 0}, wrong}, 64).starts_with("rotate_forward: y's tensor_scale "));
    }
}
