// SPDX-License-Identifier: MIT
// Shuffles, votes and matches between the lanes of a warp, and lanes that diverge and meet again.
#include <bit>

#include "ptx/snippet.hpp"

using namespace cordage_test::ptx;

namespace {

// `f(in, thread)` is what the instructions, which have words 0 and 1 in %r0 and %r1, leave in %r10 of each thread.
template <class F>
void check(const std::string& instructions, const F& f, std::size_t threads = 64) {
    const std::vector<words> in = any_words(threads);
    const snippet_run run = run_snippet(on_words(instructions), in);
    CAPTURE(instructions);
    REQUIRE(run.findings.empty());
    for (std::size_t i = 0; i < threads; ++i) {
        CAPTURE(i);
        REQUIRE(run.out[i][0] == static_cast<u32>(f(in, i)));
    }
}
using all_words = std::vector<words>;

}  // namespace

TEST_CASE("ptx/lanes: shuffles within a warp and within segments of it") {
    check("shfl.sync.bfly.b32 %r10, %r0, 9, 31, -1;", [](const all_words& in, std::size_t i) { return in[i ^ 9][0]; });
    check("shfl.sync.idx.b32 %r10, %r0, 5, 31, -1;",
          [](const all_words& in, std::size_t i) { return in[i / 32 * 32 + 5][0]; });
    check("shfl.sync.idx.b32 %r10, %r0, %r1, 6175, -1;",  // 8 lanes: 0x181f
          [](const all_words& in, std::size_t i) { return in[i / 8 * 8 + in[i][1] % 8][0]; });
    check("shfl.sync.down.b32 %r10, %r0, 5, 4127, -1;",  // 16 lanes: 0x101f
          [](const all_words& in, std::size_t i) { return in[i % 16 + 5 < 16 ? i + 5 : i][0]; });
    check("shfl.sync.up.b32 %r10|%p0, %r0, 3, 4096, -1; @!%p0 mov.u32 %r10, 77;",
          [](const all_words& in, std::size_t i) { return i % 16 >= 3 ? in[i - 3][0] : 77; });
}

TEST_CASE("ptx/lanes: sums of teams of 8, each with its own mask") {
    const std::string sums = R"(
        and.b32 %r4, %thread, 24; mov.u32 %r5, 255; shl.b32 %r5, %r5, %r4;
        shfl.sync.bfly.b32 %r6, %r0, 4, 6175, %r5; add.u32 %r0, %r0, %r6;
        shfl.sync.bfly.b32 %r6, %r0, 2, 6175, %r5; add.u32 %r0, %r0, %r6;
        shfl.sync.bfly.b32 %r6, %r0, 1, 6175, %r5; add.u32 %r10, %r0, %r6;)";
    check(sums, [](const all_words& in, std::size_t i) {
        u32 sum = 0;
        for (std::size_t k = i / 8 * 8; k < i / 8 * 8 + 8; ++k) sum += in[k][0];
        return sum;
    });
}

TEST_CASE("ptx/lanes: votes and matches") {
    const auto odd = [](const all_words& in, std::size_t i) {
        u32 lanes = 0;
        for (std::size_t k = 0; k < 32; ++k) lanes |= (in[i / 32 * 32 + k][0] & 1) << k;
        return lanes;
    };
    const std::string is_odd = "and.b32 %r4, %r0, 1; setp.ne.u32 %p0, %r4, 0; ";
    check(is_odd + "vote.sync.ballot.b32 %r10, %p0, -1;", odd);
    check(is_odd + "vote.sync.ballot.b32 %r10, !%p0, -1;",
          [&](const all_words& in, std::size_t i) { return ~odd(in, i); });
    check(is_odd +
              "vote.sync.any.pred %p1, %p0, -1; vote.sync.all.pred %p2, %p0, -1; selp.u32 %r10, 1, 0, %p1; @%p2 "
              "mov.u32 %r10, 2;",
          [&](const all_words&, std::size_t) { return 1; });
    check("and.b32 %r4, %r0, 3; match.any.sync.b32 %r10, %r4, -1;", [](const all_words& in, std::size_t i) {
        u32 lanes = 0;
        for (std::size_t k = 0; k < 32; ++k) lanes |= u32{in[i / 32 * 32 + k][0] % 4 == in[i][0] % 4} << k;
        return lanes;
    });
    check("shr.u32 %r4, %thread, 5; match.all.sync.b32 %r10|%p0, %r4, -1; @!%p0 mov.u32 %r10, 0;",
          [](const all_words&, std::size_t) { return ~0u; });
    check(
        "activemask.b32 %r10;", [](const all_words&, std::size_t i) { return i < 32 ? ~0u : 0xffu; }, 40);
}

TEST_CASE("ptx/lanes: lanes leave loops of different lengths and meet at a shuffle") {
    const std::string collatz = R"(
        and.b32 %r4, %thread, 7; mov.u32 %r5, 0;
      turn: setp.ge.u32 %p0, %r5, %r4; @%p0 bra done;
        and.b32 %r6, %r0, 1; setp.eq.u32 %p1, %r6, 0; @%p1 bra even;
        mad.lo.u32 %r0, %r0, 3, 1; bra next;
      even: shr.u32 %r0, %r0, 1;
      next: add.u32 %r5, %r5, 1; bra.uni turn;
      done: shfl.sync.idx.b32 %r10, %r0, 6, 31, -1; add.u32 %r10, %r10, %r0;)";
    check(collatz, [](const all_words& in, std::size_t i) {
        const auto after = [&](std::size_t thread) {
            u32 x = in[thread][0];
            for (std::size_t turn = 0; turn < thread % 8; ++turn) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
            return x;
        };
        return after(i) + after(i / 32 * 32 + 6);
    });
}

TEST_CASE("ptx/lanes: lanes that come to one shuffle by two ways wait for each other") {
    check(
        "setp.lt.u32 %p0, %thread, 40; @%p0 bra low; add.u32 %r0, %r0, 1; bra both; low: add.u32 %r0, %r0, 2;"
        "both: shfl.sync.bfly.b32 %r10, %r0, 8, 31, -1;",
        [](const all_words& in, std::size_t i) { return in[i ^ 8][0] + ((i ^ 8) < 40 ? 2 : 1); });
}

TEST_CASE("ptx/lanes: special registers") {
    check("mov.u32 %r10, %laneid; mov.u32 %r4, %lanemask_lt; popc.b32 %r4, %r4; mad.lo.u32 %r10, %r10, 100, %r4;",
          [](const all_words&, std::size_t i) { return 101 * (i % 32); });
    check("mov.u32 %r10, %ntid.x; mad.lo.u32 %r10, %r10, 10, %ctaid.x; add.u32 %r10, %r10, %nctaid.z;",
          [](const all_words&, std::size_t) { return 641; });
}
