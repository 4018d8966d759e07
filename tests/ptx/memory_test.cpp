// SPDX-License-Identifier: MIT
// Loads and stores of every space and size, the launch's argument, variables, atomics, and blocks with barriers.
#include <cstring>

#include "ptx/snippet.hpp"

using namespace cordage_test::ptx;

namespace {

std::vector<u32> first_words(const snippet_run& run) {
    std::vector<u32> all;
    for (const words& w : run.out) all.push_back(w[0]);
    return all;
}

}  // namespace

TEST_CASE("ptx/memory: vectors of all sizes are moved by their elements") {
    const std::vector<words> in = any_words(40);
    for (const char* move :
         {"ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%in]; st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};"
          "ld.v4.f32 {%f0, %f1, %f2, %f3}, [%in + 16]; st.v4.f32 [%out+16], {%f0, %f1, %f2, %f3};",
          "ld.global.nc.L1::no_allocate.v2.u64 {%rd0, %rd1}, [%in]; st.global.v2.b64 [%out], {%rd0, %rd1};"
          "ld.global.v2.f64 {%d0, %d1}, [%in+16]; st.global.cs.v2.f64 [%out+16], {%d0, %d1};",
          "ld.global.v4.u16 {%h0, %h1, %h2, %h3}, [%in]; st.global.v4.b16 [%out], {%h0, %h1, %h2, %h3};"
          "ld.global.v4.u16 {%h0, %h1, %h2, %h3}, [%in+8]; st.global.v4.b16 [%out+8], {%h0, %h1, %h2, %h3};"
          "ld.global.b64 %rd0, [%in+16]; st.global.u64 [%out+16], %rd0; ld.global.v2.u32 {%r0, %r1}, [%in+24];"
          "st.global.v2.b32 [%out+24], {%r0, %r1};"}) {
        const snippet_run run = run_snippet(move, in);
        CAPTURE(move);
        CHECK(run.findings.empty());
        CHECK(run.out == in);
    }
}

TEST_CASE("ptx/memory: narrow elements fill a wider register by their sign") {
    std::vector<words> in(1);
    in[0][0] = 0x8081'fffeu;
    const snippet_run run = run_snippet(
        "ld.global.s8 %r0, [%in+3]; st.global.u32 [%out], %r0; ld.global.u8 %r0, [%in+3]; st.global.u32 [%out+4], %r0;"
        "ld.global.s16 %r0, [%in]; st.global.u32 [%out+8], %r0; ld.global.u8 %h0, [%in+2]; st.global.u8 [%out+12], %h0;"
        "ld.global.s8 %h0, [%in+2]; cvt.u32.u16 %r0, %h0; st.global.u32 [%out+16], %r0; st.global.u16 [%out+20], %r0;",
        in);
    CHECK(run.findings.empty());
    CHECK(run.out[0] == words{0xffff'ff80u, 0x80, 0xffff'fffeu, 0x81, 0xff81, 0xff81, 0, 0});
}

TEST_CASE("ptx/memory: the argument is read at its place, by ld.param and by a generic address") {
    struct three {
        double x;
        std::uint16_t y;
        u32 z[2];
    };
    module m(R"(.visible .entry kernel(.param .align 8 .b8 value[24], .param .u64 .ptr .global .align 4 to)
{
    .reg .b16 %h<2>; .reg .b32 %r<4>; .reg .b64 %rd<6>;
    ld.param.u64 %rd0, [to]; ld.param.u16 %h0, [value+8]; cvt.u32.u16 %r0, %h0; st.global.u32 [%rd0], %r0;
    mov.b64 %rd1, value; cvta.param.u64 %rd2, %rd1; ld.u32 %r1, [%rd2+12]; ld.param.u32 %r2, [%rd1+16];
    st.global.v2.u32 [%rd0+8], {%r1, %r2}; ld.u64 %rd3, [%rd2]; st.global.u64 [%rd0+16], %rd3;
    ret;
})");
    const three value{2.5, 7, {8, 9}};
    std::array<u32, 6> out{};
    void* const to = out.data();
    const auto findings =
        launch(m.kernel("kernel"), {}, {std::as_bytes(std::span(&value, 1)), std::as_bytes(std::span(&to, 1))},
               global_memory({memory_block::of(out.data(), sizeof(out))}));
    CHECK(findings.empty());
    CHECK(out == std::array<u32, 6>{7, 0, 8, 9, 0, 0x4004'0000u});
}

TEST_CASE("ptx/memory: local memory is each thread's own, also by a generic address") {
    const snippet_run run = run_snippet(R"(
        .local .align 16 .b8 depot[32];
        .reg .b64 %SP, %SPL;
        mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;
        st.local.u32 [%SPL], %thread; add.u32 %r0, %thread, 5; st.u32 [%SP+4], %r0;
        and.b32 %r1, %thread, 1; mul.wide.u32 %rd0, %r1, 4; add.s64 %rd1, %SP, %rd0;
        ld.u32 %r2, [%rd1]; st.global.u32 [%out], %r2;)",
                                        std::vector<words>(4));
    CHECK(run.findings.empty());
    CHECK(first_words(run) == std::vector<u32>{0, 6, 2, 8});
}

TEST_CASE("ptx/memory: shared memory of the kernel, and that of the launch behind it, in order by barriers") {
    const std::string reversed = R"(
        .shared .align 4 .b8 own[256];
        mov.u32 %r0, own; mov.u32 %r1, of_launch; shl.b32 %r2, %thread, 2;
        add.u32 %r3, %r0, %r2; st.shared.u32 [%r3], %thread;
        bar.sync 0;
        sub.u32 %r4, 252, %r2; add.u32 %r5, %r0, %r4; ld.shared.u32 %r6, [%r5];
        add.u32 %r7, %r1, %r2; cvt.u64.u32 %rd0, %r7; cvta.shared.u64 %rd0, %rd0; st.u32 [%rd0], %r6;
        barrier.sync 0;
        add.u32 %r7, %r1, %r4; ld.shared.u32 %r8, [%r7]; sub.u32 %r9, %r1, %r0; shl.b32 %r9, %r9, 8; add.u32 %r8, %r8, %r9;
        st.global.u32 [%out], %r8;)";
    const snippet_run run =
        run_snippet(reversed, std::vector<words>(64), ".extern .shared .align 16 .b8 of_launch[];", 256);
    CHECK(run.findings.empty());
    for (u32 i = 0; i < 64; ++i) REQUIRE(run.out[i][0] == i + 65536);
}

TEST_CASE("ptx/memory: variables have their values, and atomics add without races") {
    const std::string before = R"(
.const .align 4 .u32 primes[4] = {2, 3, 5, 0x7};
.global .align 8 .f64 half = 0d3FE0000000000000;
.global .align 4 .u32 counter;
.shared .align 8 .f64 total;)";
    const snippet_run run = run_snippet(R"(
        and.b32 %r0, %thread, 3; mul.wide.u32 %rd0, %r0, 4; mov.u64 %rd1, primes; add.s64 %rd1, %rd1, %rd0;
        ld.const.u32 %r1, [%rd1]; ld.global.f64 %d0, [half];
        mov.u32 %r2, total; setp.eq.u32 %p0, %thread, 0; mov.f64 %d1, 0d0000000000000000; @%p0 st.shared.f64 [total], %d1;
        bar.sync 0;
        red.shared.add.f64 [total], %d0; atom.global.add.u32 %r3, [counter], %r1; red.global.max.s32 [counter], 0;
        bar.sync 0;
        ld.shared.f64 %d2, [%r2]; cvt.rzi.u32.f64 %r4, %d2; atom.global.exch.b32 %r5, [counter], 17; bar.sync 0;
        ld.global.u32 %r6, [counter]; mad.lo.u32 %r4, %r4, 100, %r6; st.global.u32 [%out], %r4;)",
                                        std::vector<words>(64), before);
    CHECK(run.findings.empty());
    CHECK(first_words(run) == std::vector<u32>(64, 3217));
}

TEST_CASE("ptx/memory: every block of a grid runs, with its index") {
    module m(R"(.entry kernel(.param .u64 to)
{
    .reg .b32 %r<10>; .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [to]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.z; mov.u32 %r3, %tid.y;
    mad.lo.u32 %r4, %r2, 3, %r1; mad.lo.u32 %r4, %r4, 2, %r0; mad.lo.u32 %r4, %r4, 5, %r3; mul.wide.u32 %rd1, %r4, 4;
    add.s64 %rd1, %rd0, %rd1; ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, %r4; st.global.u32 [%rd1], %r5;
    ret;
})");
    std::vector<u32> out(120);
    void* const to = out.data();
    CHECK(launch(m.kernel("kernel"), {{2, 3, 4}, {1, 5, 1}}, {std::as_bytes(std::span(&to, 1))},
                 global_memory({memory_block::of(out.data(), 480)}))
              .empty());
    for (u32 i = 0; i < 120; ++i) REQUIRE(out[i] == i);
}
