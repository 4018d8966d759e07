// SPDX-License-Identifier: MIT
// Integer instructions against C++, in many lanes.
#include <algorithm>
#include <bit>

#include "ptx/snippet.hpp"

using namespace cordage_test::ptx;

namespace {

// Operands whose limits are among them.
std::vector<words> operands() {
    std::vector<words> all = any_words(512);
    constexpr std::array<u32, 6> limits{0, 1, ~0u, 0x8000'0000u, 0x7fff'ffffu, 31};
    for (std::size_t i = 0; i < 36; ++i) all[i][0] = limits[i % 6], all[i][1] = limits[i / 6];
    return all;
}

// `f(a, b, c)`, of words 0 to 2, is what the instructions leave in %r10.
template <class F>
void check(const std::string& instructions, const F& f) {
    const std::vector<words> in = operands();
    const snippet_run run = run_snippet(on_words(instructions), in);
    CAPTURE(instructions);
    REQUIRE(run.findings.empty());
    for (std::size_t i = 0; i < in.size(); ++i) {
        CAPTURE(in[i][0]);
        CAPTURE(in[i][1]);
        CAPTURE(in[i][2]);
        REQUIRE(run.out[i][0] == static_cast<u32>(f(in[i][0], in[i][1], in[i][2])));
    }
}

s32 s(u32 x) { return static_cast<s32>(x); }

}  // namespace

TEST_CASE("ptx/integers: sums, products and their upper halves") {
    check("add.s32 %r10, %r0, %r1;", [](u32 a, u32 b, u32) { return a + b; });
    check("sub.u32 %r10, %r0, %r1;", [](u32 a, u32 b, u32) { return a - b; });
    check("mul.lo.s32 %r10, %r0, %r1;", [](u32 a, u32 b, u32) { return a * b; });
    check("mul.hi.s32 %r10, %r0, %r1;", [](u32 a, u32 b, u32) { return s64{s(a)} * s(b) >> 32; });
    check("mul.hi.u32 %r10, %r0, %r1;", [](u32 a, u32 b, u32) { return u64{a} * b >> 32; });
    check("mad.lo.u32 %r10, %r0, %r1, %r2;", [](u32 a, u32 b, u32 c) { return a * b + c; });
    check("mad.hi.u32 %r10, %r0, %r1, %r2;", [](u32 a, u32 b, u32 c) { return (u64{a} * b >> 32) + c; });
    check("mul.wide.s32 %rd0, %r0, %r1; shr.u64 %rd0, %rd0, 17; cvt.u32.u64 %r10, %rd0;",
          [](u32 a, u32 b, u32) { return static_cast<u64>(s64{s(a)} * s(b)) >> 17; });
    check("cvt.u64.u32 %rd0, %r2; mad.wide.u32 %rd0, %r0, %r1, %rd0; shr.u64 %rd0, %rd0, 9; cvt.u32.u64 %r10, %rd0;",
          [](u32 a, u32 b, u32 c) { return (u64{a} * b + c) >> 9; });
    check("mov.b64 %rd0, {%r0, %r1}; mov.b64 %rd1, {%r1, %r2}; mul.hi.u64 %rd0, %rd0, %rd1; cvt.u32.u64 %r10, %rd0;",
          [](u32 a, u32 b, u32 c) { return static_cast<u128>(u64{b} << 32 | a) * (u64{c} << 32 | b) >> 64; });
    check("neg.s32 %r10, %r0;", [](u32 a, u32, u32) { return 0 - a; });
    check("abs.s32 %r10, %r0;", [](u32 a, u32, u32) { return s(a) < 0 ? 0 - a : a; });
}

TEST_CASE("ptx/integers: quotients and rests, of other divisors than 0 and -1") {
    check("or.b32 %r1, %r1, 2; and.b32 %r1, %r1, -2; div.s32 %r10, %r0, %r1;",
          [](u32 a, u32 b, u32) { return b < 0xffff'fffeu ? s(a) / s((b | 2) & ~1u) : s(a) / -2; });
    check("or.b32 %r1, %r1, 1; div.u32 %r10, %r0, %r1;", [](u32 a, u32 b, u32) { return a / (b | 1); });
    check("or.b32 %r1, %r1, 1; rem.u32 %r10, %r0, %r1;", [](u32 a, u32 b, u32) { return a % (b | 1); });
    check(
        "cvt.s64.s32 %rd0, %r0; cvt.s64.s32 %rd1, %r1; or.b64 %rd1, %rd1, 1; rem.s64 %rd0, %rd0, %rd1; cvt.u32.u64 "
        "%r10, %rd0;",
        [](u32 a, u32 b, u32) { return s64{s(a)} % (s64{s(b)} | 1); });
}

TEST_CASE("ptx/integers: comparisons, the smaller and the larger") {
    check("min.s32 %r10, %r0, %r1;", [](u32 a, u32 b, u32) { return std::min(s(a), s(b)); });
    check("max.u32 %r10, %r0, %r1;", [](u32 a, u32 b, u32) { return std::max(a, b); });
    check("setp.lt.s32 %p0, %r0, %r1; selp.b32 %r10, %r2, 7, %p0;",
          [](u32 a, u32 b, u32 c) { return s(a) < s(b) ? c : 7; });
    check("setp.hi.u32 %p0, %r0, %r1; setp.ne.and.b32 %p1, %r0, 0, %p0; selp.u32 %r10, 1, 0, %p1;",
          [](u32 a, u32 b, u32) { return a > b && a != 0; });
    check("setp.ge.s32 %p0, %r0, %r1; setp.eq.or.s32 %p1, %r0, 1, %p0; @!%p1 mov.u32 %r10, 5; @%p1 mov.u32 %r10, 9;",
          [](u32 a, u32 b, u32) { return s(a) >= s(b) || a == 1 ? 9 : 5; });
    check(
        "setp.le.u32 %p0, %r0, %r1; setp.gt.s32 %p1, %r0, %r2; xor.pred %p2, %p0, %p1; not.pred %p3, %p2; selp.s32 "
        "%r10, 3, 4, %p3;",
        [](u32 a, u32 b, u32 c) { return (a <= b) == (s(a) > s(c)) ? 3 : 4; });
}

TEST_CASE("ptx/integers: shifts, also past the width") {
    check("and.b32 %r1, %r1, 63; shl.b32 %r10, %r0, %r1;",
          [](u32 a, u32 b, u32) { return (b & 63) > 31 ? 0 : a << (b & 63); });
    check("and.b32 %r1, %r1, 63; shr.u32 %r10, %r0, %r1;",
          [](u32 a, u32 b, u32) { return (b & 63) > 31 ? 0 : a >> (b & 63); });
    check("and.b32 %r1, %r1, 63; shr.s32 %r10, %r0, %r1;",
          [](u32 a, u32 b, u32) { return s(a) >> std::min(b & 63, 31u); });
    check("shf.l.wrap.b32 %r10, %r0, %r1, %r2;",
          [](u32 a, u32 b, u32 c) { return (u64{b} << 32 | a) << (c & 31) >> 32; });
    check("shf.r.clamp.b32 %r10, %r0, %r1, %r2;",
          [](u32 a, u32 b, u32 c) { return (u64{b} << 32 | a) >> std::min(c, 32u); });
    check("cvt.u16.u32 %h0, %r0; shr.s16 %h1, %h0, 3; cvt.u32.u16 %r10, %h1;",
          [](u32 a, u32, u32) { return static_cast<u16>(static_cast<s16>(a) >> 3); });
}

TEST_CASE("ptx/integers: bits and fields") {
    check("lop3.b32 %r10, %r0, %r1, %r2, 0xca;", [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); });
    check("lop3.b32 %r10, %r0, %r1, %r2, 150;", [](u32 a, u32 b, u32 c) { return a ^ b ^ c; });
    check("prmt.b32 %r10, %r0, %r1, 0x5140;",
          [](u32 a, u32 b, u32) { return (a & 0xff) | (b & 0xff) << 8 | (a & 0xff00) << 8 | (b & 0xff00) << 16; });
    check("prmt.b32 %r10, %r0, %r1, 0x888f;",
          [](u32 a, u32 b, u32) { return (s(a << 24) < 0 ? 0xffff'ff00u : 0) | (s(b) < 0 ? 0xffu : 0); });
    check("popc.b32 %r10, %r0;", [](u32 a, u32, u32) { return std::popcount(a); });
    check("clz.b32 %r10, %r0;", [](u32 a, u32, u32) { return std::countl_zero(a); });
    check("brev.b32 %r10, %r0; brev.b32 %r10, %r10; clz.b32 %r11, %r10; xor.b32 %r10, %r10, %r11;",
          [](u32 a, u32, u32) { return a ^ static_cast<u32>(std::countl_zero(a)); });
    check("brev.b32 %r10, %r0; clz.b32 %r10, %r10;", [](u32 a, u32, u32) { return std::countr_zero(a); });
    const auto field = [](u32 a, u32 first, u32 count, bool is_signed) {
        u32 result = 0;
        for (u32 bit = 0; bit < 32; ++bit) {
            const u32 last = count == 0 ? 0 : std::min(first + count - 1, 31u);
            const u32 beyond = is_signed && count > 0 ? a >> last & 1 : 0;
            result |= (bit < count && first + bit < 32 ? a >> (first + bit) & 1 : beyond) << bit;
        }
        return result;
    };
    for (const bool is_signed : {false, true}) {
        check(std::string("and.b32 %r1, %r1, 31; and.b32 %r2, %r2, 63; bfe.") + (is_signed ? "s32" : "u32") +
                  " %r10, %r0, %r1, %r2;",
              [&](u32 a, u32 b, u32 c) { return field(a, b & 31, c & 63, is_signed); });
    }
    check("bfi.b32 %r10, %r0, %r1, 5, 11;", [](u32 a, u32 b, u32) { return (b & ~(0x7ffu << 5)) | (a & 0x7ff) << 5; });
    check("bfi.b32 %r10, %r0, %r1, 28, 11;", [](u32 a, u32 b, u32) { return (b & 0x0fff'ffffu) | a << 28; });
    check("not.b32 %r10, %r0; and.b32 %r10, %r10, %r1;", [](u32 a, u32 b, u32) { return ~a & b; });
    check("mov.b64 %rd0, {%r0, %r1}; bfi.b64 %rd1, %rd0, 1, 20, 40; mov.b64 {_, %r10}, %rd1;",
          [](u32 a, u32 b, u32) { return ((((u64{b} << 32 | a) & 0xff'ffff'ffffu) << 20) | 1) >> 32; });
}
