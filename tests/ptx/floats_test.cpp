// SPDX-License-Identifier: MIT
// Instructions of floats and doubles against C++, and conversions against what they are defined by.
#include <bit>
#include <cmath>
#include <limits>

#include "ptx/snippet.hpp"

using namespace cordage_test::ptx;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), no_number = std::numeric_limits<float>::quiet_NaN();

u32 bits(float x) { return x != x ? 0x7fff'ffffu : std::bit_cast<u32>(x); }

// Numbers of many sizes, and all pairs of special ones.
std::vector<words> operands() {
    std::vector<words> all = any_words(512);
    for (words& w : all) {
        for (u32 i = 0; i < 3; ++i)
            w[i] = std::bit_cast<u32>(
                std::ldexp(static_cast<float>(static_cast<s32>(w[i])), -static_cast<int>(w[i + 3] % 60)));
    }
    const std::array special{0.0f, -0.0f, 1.0f, -2.5f, infinity, -infinity, no_number, 1e-41f, 3e38f};
    for (std::size_t i = 0; i < 81; ++i) {
        all[i][0] = std::bit_cast<u32>(special[i % 9]);
        all[i][1] = std::bit_cast<u32>(special[i / 9]);
    }
    return all;
}

// `f(a, b, c)` is what the instructions, which have a, b and c in %f0 to 2, leave in %r10.
template <class F>
void check(const std::string& instructions, const F& f) {
    const std::vector<words> in = operands();
    const snippet_run run =
        run_snippet(on_words("mov.b32 %f0, %r0; mov.b32 %f1, %r1; mov.b32 %f2, %r2;\n" + instructions), in);
    CAPTURE(instructions);
    REQUIRE(run.findings.empty());
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto at = [&](std::size_t k) { return std::bit_cast<float>(in[i][k]); };
        CAPTURE(at(0));
        CAPTURE(at(1));
        CAPTURE(at(2));
        REQUIRE(run.out[i][0] == f(at(0), at(1), at(2)));
    }
}
template <class F>
void check_float(const std::string& instructions, const F& f) {
    check(instructions + " mov.b32 %r10, %f10;", [&](float a, float b, float c) { return bits(f(a, b, c)); });
}
template <class F>
void check_bool(const std::string& comparison, const F& f) {
    check("setp." + comparison + ".f32 %p0, %f0, %f1; selp.u32 %r10, 1, 0, %p0;",
          [&](float a, float b, float) { return u32{f(a, b)}; });
}

float flushed_to_zero(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

}  // namespace

TEST_CASE("ptx/floats: arithmetic is rounded once, and every NaN is one") {
    check_float("add.rn.f32 %f10, %f0, %f1;", [](float a, float b, float) { return a + b; });
    check_float("sub.f32 %f10, %f0, %f1;", [](float a, float b, float) { return a - b; });
    check_float("mul.rn.f32 %f10, %f0, %f1;", [](float a, float b, float) { return a * b; });
    check_float("fma.rn.f32 %f10, %f0, %f1, %f2;", [](float a, float b, float c) { return std::fma(a, b, c); });
    check_float("div.rn.f32 %f10, %f0, %f1;", [](float a, float b, float) { return a / b; });
    check_float("rcp.rn.f32 %f10, %f0;", [](float a, float, float) { return 1 / a; });
    check_float("sqrt.rn.f32 %f10, %f0;", [](float a, float, float) { return std::sqrt(a); });
    check_float("neg.f32 %f10, %f0;", [](float a, float, float) { return -a; });
    check_float("abs.f32 %f10, %f0;", [](float a, float, float) { return std::fabs(a); });
    check_float(
        "cvt.f64.f32 %d0, %f0; cvt.f64.f32 %d1, %f1; fma.rn.f64 %d2, %d0, %d1, 0d3FF0000000000000; cvt.rn.f32.f64 "
        "%f10, %d2;",
        [](float a, float b, float) { return static_cast<float>(std::fma(double{a}, double{b}, 1.0)); });
    check_float("cvt.f64.f32 %d0, %f0; cvt.f64.f32 %d1, %f1; div.rn.f64 %d2, %d0, %d1; cvt.rn.f32.f64 %f10, %d2;",
                [](float a, float b, float) { return static_cast<float>(double{a} / double{b}); });
}

TEST_CASE("ptx/floats: .ftz reads and writes denormals as zeros") {
    check_float("mul.ftz.f32 %f10, %f0, %f1;",
                [](float a, float b, float) { return flushed_to_zero(flushed_to_zero(a) * flushed_to_zero(b)); });
    check_float("add.rn.ftz.f32 %f10, %f0, %f1;",
                [](float a, float b, float) { return flushed_to_zero(flushed_to_zero(a) + flushed_to_zero(b)); });
}

TEST_CASE("ptx/floats: the smaller and the larger, past NaNs or with .NaN") {
    const auto smaller = [](float a, float b) {
        if (a != a || b != b) return a != a ? b : a;
        return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
    };
    check_float("min.f32 %f10, %f0, %f1;", [&](float a, float b, float) { return smaller(a, b); });
    check_float("max.f32 %f10, %f0, %f1;", [&](float a, float b, float) { return -smaller(-a, -b); });
    check_float("max.NaN.f32 %f10, %f0, %f1;",
                [&](float a, float b, float) { return a != a || b != b ? no_number : -smaller(-a, -b); });
    check("copysign.f32 %f10, %f0, %f1; mov.b32 %r10, %f10;",
          [](float a, float b, float) { return std::bit_cast<u32>(std::copysign(b, a)); });
}

TEST_CASE("ptx/floats: comparisons, true or false for NaN") {
    check_bool("eq", [](float a, float b) { return a == b; });
    check_bool("ne", [](float a, float b) { return a < b || a > b; });
    check_bool("lt", [](float a, float b) { return a < b; });
    check_bool("ge", [](float a, float b) { return a >= b; });
    check_bool("neu", [](float a, float b) { return a != b; });
    check_bool("ltu", [](float a, float b) { return !(a >= b); });
    check_bool("geu", [](float a, float b) { return !(a < b); });
    check_bool("num", [](float a, float b) { return a == a && b == b; });
    check_bool("nan", [](float a, float b) { return a != a || b != b; });
}

TEST_CASE("ptx/floats: approximate functions are within the last bits") {
    const auto near = [](const char* name, const auto& f) {
        const std::vector<words> in = operands();
        const snippet_run run = run_snippet(on_words(std::string("mov.b32 %f0, %r0; abs.f32 %f0, %f0; ") + name +
                                                     ".f32 %f10, %f0; mov.b32 %r10, %f10;"),
                                            in);
        for (std::size_t i = 0; i < in.size(); ++i) {
            const float x = std::fabs(std::bit_cast<float>(in[i][0])), y = f(x),
                        found = std::bit_cast<float>(run.out[i][0]);
            CAPTURE(name);
            CAPTURE(x);
            REQUIRE((found == y || std::fabs(found - y) <= 2e-7f * std::fabs(y) || (y != y && found != found)));
        }
    };
    near("rsqrt.approx", [](float x) { return 1 / std::sqrt(x); });
    near("rcp.approx", [](float x) { return 1 / x; });
    near("ex2.approx", [](float x) { return std::exp2(x); });
    near("lg2.approx", [](float x) { return std::log2(x); });
    near("sqrt.approx", [](float x) { return std::sqrt(x); });
}

TEST_CASE("ptx/floats: to integers by any rounding, saturating") {
    const auto saturated = [](double x) {
        if (x != x) return s32{0};
        return static_cast<s32>(std::fmin(std::fmax(x, -2147483648.0), 2147483647.0));
    };
    check("cvt.rzi.s32.f32 %r10, %f0;",
          [&](float a, float, float) { return static_cast<u32>(saturated(std::trunc(a))); });
    check("cvt.rni.s32.f32 %r10, %f0;",
          [&](float a, float, float) { return static_cast<u32>(saturated(std::nearbyint(a))); });
    check("cvt.rmi.s32.f32 %r10, %f0;",
          [&](float a, float, float) { return static_cast<u32>(saturated(std::floor(a))); });
    check("cvt.rpi.s32.f32 %r10, %f0;",
          [&](float a, float, float) { return static_cast<u32>(saturated(std::ceil(a))); });
    check("cvt.f64.f32 %d0, %f0; cvt.rzi.u64.f64 %rd0, %d0; mov.b64 {_, %r10}, %rd0;", [](float a, float, float) {
        if (!(a > 0)) return 0u;
        return static_cast<u32>((a >= 0x1p64f ? ~u64{0} : static_cast<u64>(a)) >> 32);
    });
    check_float("cvt.rni.f32.f32 %f10, %f0;", [](float a, float, float) { return std::nearbyint(a); });
    check_float("cvt.sat.f32.f32 %f10, %f0;", [](float a, float, float) { return a > 0 ? std::fmin(a, 1.0f) : 0.0f; });
    check_float("cvt.rn.f32.s32 %f10, %r0;",
                [](float a, float, float) { return static_cast<float>(std::bit_cast<s32>(a)); });
    check_float("mov.b64 %rd0, {%r0, %r1}; cvt.rn.f32.u64 %f10, %rd0;", [](float a, float b, float) {
        return static_cast<float>(u64{std::bit_cast<u32>(b)} << 32 | std::bit_cast<u32>(a));
    });
    check("cvt.s32.s8 %r10, %r0;",
          [](float a, float, float) { return static_cast<u32>(s32{static_cast<s8>(std::bit_cast<u32>(a))}); });
}

TEST_CASE("ptx/floats: to types of 16 and 8 bits, nearest, ties to even, and back") {
    // The code, below the one of infinity, whose number is nearest.
    const auto nearest = [](float x, const std::vector<double>& numbers) {
        std::size_t best = 0;
        for (std::size_t code = 0; code < numbers.size(); ++code) {
            const double d = std::fabs(numbers[code] - std::fabs(x)), least = std::fabs(numbers[best] - std::fabs(x));
            if (d < least || (d == least && code % 2 == 0)) best = code;
        }
        return static_cast<u32>(best);
    };
    const auto numbers = [](int exponent_bits, int mantissa_bits, std::size_t count) {
        std::vector<double> all(count);
        const int one = 1 << mantissa_bits, bias = (1 << (exponent_bits - 1)) - 1;
        for (std::size_t code = 0; code < count; ++code) {
            const int exponent = static_cast<int>(code) >> mantissa_bits, rest = static_cast<int>(code) % one;
            all[code] = std::ldexp(exponent == 0 ? rest : rest + one, std::max(exponent, 1) - bias - mantissa_bits);
        }
        return all;
    };
    const auto e4m3 = numbers(4, 3, 0x7f), e5m2 = numbers(5, 2, 0x7c);
    const auto byte = [&](float x, const std::vector<double>& of) {
        if (x != x) return 0x7fu;
        return nearest(std::fmin(std::fabs(x), static_cast<float>(of.back())), of) | (std::signbit(x) ? 0x80u : 0);
    };
    const auto pair = [](const char* type) {
        return std::string("cvt.rn.satfinite.") + type + ".f32 %h0, %f0, %f1; cvt.u32.u16 %r10, %h0;";
    };
    check(pair("e4m3x2"), [&](float a, float b, float) { return byte(a, e4m3) << 8 | byte(b, e4m3); });
    check(pair("e5m2x2"), [&](float a, float b, float) { return byte(a, e5m2) << 8 | byte(b, e5m2); });
    const auto brain = [](float x) {
        if (x != x) return 0x7fffu;
        const float away = std::bit_cast<float>(std::bit_cast<u32>(x) & 0xffff'0000u),
                    up = std::bit_cast<float>((std::bit_cast<u32>(x) & 0xffff'0000u) + 0x1'0000u);
        const u32 code = std::bit_cast<u32>(away) >> 16;
        if (std::isinf(x)) return code;
        const double below = std::fabs(double{x} - away),
                     above = std::fabs((std::isinf(up) ? std::copysign(0x1p128, double{up}) : double{up}) - x);
        return below < above || (below == above && code % 2 == 0) ? code : code + 1;
    };
    check("cvt.rn.bf16x2.f32 %r10, %f0, %f1;", [&](float a, float b, float) { return brain(a) << 16 | brain(b); });
    check("cvt.rn.bf16.f32 %h0, %f0; cvt.f32.bf16 %f1, %h0; mov.b32 %r10, %f1;",
          [&](float a, float, float) { return brain(a) << 16; });
    // All halves and all bytes, each a thread's word 0.
    std::vector<words> in(1024);
    const auto half = numbers(5, 10, 0x7c00);
    for (u32 first = 0; first < 0x7c00; first += 1024) {
        for (u32 i = 0; i < 1024; ++i) in[i][0] = first + i;
        const snippet_run run = run_snippet(
            on_words("cvt.u16.u32 %h0, %r0; cvt.f32.f16 %f0, %h0; cvt.rn.f16.f32 %h1, %f0; cvt.u32.u16 %r11, %h1;"
                     "st.global.u32 [%out + 4], %r11; mov.b32 %r10, %f0;"),
            in);
        for (u32 i = 0; i < 1024; ++i) {
            REQUIRE(std::bit_cast<float>(run.out[i][0]) == static_cast<float>(half[first + i]));
            REQUIRE(run.out[i][1] == first + i);
        }
    }
    for (const auto& [type, of] : {std::pair{"e4m3x2", &e4m3}, std::pair{"e5m2x2", &e5m2}}) {
        for (u32 i = 0; i < 1024; ++i) in[i][0] = i % 256;
        const snippet_run run =
            run_snippet(on_words(std::string("cvt.u16.u32 %h0, %r0; cvt.rn.f16x2.") + type +
                                 " %r11, %h0; mov.b32 {%h1, _}, %r11; cvt.f32.f16 %f0, %h1; mov.b32 %r10, %f0;"),
                        in);
        for (u32 i = 0; i < 256; ++i) {
            const float found = std::bit_cast<float>(run.out[i][0]);
            const u32 magnitude = i & 127;
            if (magnitude < of->size())
                REQUIRE(found == std::copysign(static_cast<float>((*of)[magnitude]), i >= 128 ? -1.0f : 1.0f));
            if (magnitude == 127) REQUIRE(found != found);
        }
    }
}

TEST_CASE("ptx/floats: a product and a sum without .rn become one instruction, as an assembler may make them") {
    check_float("mul.f32 %f3, %f0, %f1; add.f32 %f10, %f3, %f2;",
                [](float a, float b, float c) { return std::fma(a, b, c); });
    check_float("mul.f32 %f3, %f0, %f1; add.f32 %f10, %f2, %f3;",
                [](float a, float b, float c) { return std::fma(a, b, c); });
    check_float("mul.f32 %f3, %f0, %f1; sub.f32 %f10, %f2, %f3;",
                [](float a, float b, float c) { return std::fma(-a, b, c); });
    check_float("mul.f32 %f3, %f0, %f1; sub.f32 %f10, %f3, %f2;",
                [](float a, float b, float c) { return std::fma(a, b, -c); });
    const auto by_two = [](float a, float b, float c) {
        const volatile float product = a * b;
        return product + c;
    };
    check_float("mul.rn.f32 %f3, %f0, %f1; add.f32 %f10, %f3, %f2;", by_two);
    check_float("mul.f32 %f3, %f0, %f1; add.rn.f32 %f10, %f3, %f2;", by_two);
    check_float("mul.f32 %f3, %f0, %f1; bra next; next: add.f32 %f10, %f3, %f2;", by_two);  // not within straight code
    check_float("mul.f32 %f3, %f0, %f1; mov.f32 %f0, %f2; add.f32 %f10, %f3, %f2;", by_two);  // its factor is gone
}
