// SPDX-License-Identifier: MIT
// What a kernel must not do is reported, with its place; and what it may do is not.
#include "ptx/snippet.hpp"

using namespace cordage_test::ptx;

namespace {

// One finding of this kind, whose text names these.
void check_fault(const snippet_run& run, const std::string& kind, const std::vector<std::string>& named) {
    REQUIRE(run.findings.size() == 1);
    const finding& f = run.findings[0];
    CHECK(f.kind == kind);
    for (const std::string& part : named) {
        CAPTURE(f.text());
        CAPTURE(part);
        CHECK(f.text().find(part) != std::string::npos);
    }
}
std::vector<words> threads(std::size_t count) { return std::vector<words>(count); }

constexpr const char* shared_words = ".shared .align 16 .b8 words[256];";
// %r0: the thread's word of shared memory; %r1: another thread's, of the other warp; %r2: of the next lane.
constexpr const char* places = R"(
    mov.u32 %r9, words; shl.b32 %r0, %thread, 2; add.u32 %r0, %r9, %r0; xor.b32 %r1, %thread, 32; shl.b32 %r1, %r1, 2;
    add.u32 %r1, %r9, %r1; xor.b32 %r2, %thread, 1; shl.b32 %r2, %r2, 2; add.u32 %r2, %r9, %r2;
)";
snippet_run run_on_shared(const std::string& body) { return run_snippet(places + body, threads(64), shared_words); }

}  // namespace

TEST_CASE("ptx/faults: an access past a block names the block, the thread, the line and the kernel") {
    const snippet_run run = run_snippet("ld.global.u32 %r0, [%in+32];\n    st.global.u32 [%out], %r0;", threads(40));
    const std::string nearest = "in no known block; the nearest ends 0 bytes before it, a block of 1280 bytes ";
    check_fault(
        run, "out of bounds",
        {"read of 4 bytes", nearest + "to which the argument points at byte 0", "line 19: ld.global.u32 %r0, [%in+32]",
         "block (0, 0, 0), thread (39, 0, 0); 1 time", "kernel snippet"});
    check_fault(run_snippet("st.global.v2.u32 [%out+-8], {%thread, %thread};", threads(1)), "out of bounds",
                {"write of 8 bytes",
                 "in no known block; the nearest begins 8 bytes after it, a block of 32 bytes to which the argument "
                 "points at byte 8"});
    check_fault(run_snippet("mov.u64 %rd0, 4096; ld.u32 %r0, [%rd0];", threads(1)), "out of bounds",
                {"address 0x1000, in no known block; the nearest begins "});
}
// Once, it was called a byte of the block beside it.
TEST_CASE("ptx/faults: memory that was not given is in no known block, whatever lies near it") {
    module m(
        ".entry kernel(.param .u64 at)\n{ .reg .b32 %r; .reg .b64 %rd; ld.param.u64 %rd, [at]; "
        "ld.global.u32 %r, [%rd]; ret; }");
    std::array<u32, 64> memory{};
    void* const forgotten = &memory[32];
    const auto run = [&](const global_memory& known) {
        return snippet_run{{}, launch(m.kernel("kernel"), {}, {std::as_bytes(std::span(&forgotten, 1))}, known)};
    };
    check_fault(run(global_memory({memory_block::of(&memory[0], 64)})), "out of bounds",
                {"in no known block; the nearest ends 64 bytes before it, a block of 64 bytes"});
    check_fault(run({}), "out of bounds", {"in no known block; there is none"});
}
TEST_CASE("ptx/faults: other memory has bounds too, and what is constant is not written") {
    check_fault(run_snippet("mov.u32 %r0, words; ld.shared.v2.u32 {%r1, %r2}, [%r0+256];", threads(1), shared_words),
                "out of bounds", {"byte 256 of shared memory, which has 256 bytes"});
    check_fault(run_snippet(".local .b8 own[8]; mov.u64 %rd0, own; st.local.u32 [%rd0+8], 1;", threads(1)),
                "out of bounds", {"byte 8 of local memory"});
    check_fault(run_snippet("mov.b64 %rd0, snippet_in; ld.param.u32 %r0, [%rd0+16];", threads(1)), "out of bounds",
                {"byte 16 of the argument"});
    check_fault(run_snippet("st.global.u32 [primes], 4;", threads(1), ".const .u32 primes[1] = {2};"), "out of bounds",
                {"primes, which is constant"});
}
TEST_CASE("ptx/faults: a vector's address must be a multiple of its bytes") {
    check_fault(run_snippet("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in+8];", threads(32)), "misaligned",
                {"read of 16 bytes", "byte 8 of a block", "thread (0, 0, 0); 32 times"});
    CHECK(run_snippet("ld.global.v2.u32 {%r0, %r1}, [%in+8];", threads(32)).findings.empty());
}
TEST_CASE("ptx/faults: reads of what nothing wrote") {
    std::vector<u32> memory(8, 1);
    std::vector<u8> written(32, 1);
    written[13] = 0;
    void* const first = memory.data();
    const auto run = [&](const std::string& body) {
        module m(".entry kernel(.param .u64 at)\n{ .reg .b32 %r<4>; .reg .b64 %rd<2>; ld.param.u64 %rd0, [at];\n" +
                 body + " ret; }");
        return snippet_run{{},
                           launch(m.kernel("kernel"), {}, {std::as_bytes(std::span(&first, 1))},
                                  global_memory({memory_block::of(memory.data(), 32, written.data())}))};
    };
    CHECK(run("ld.global.v2.u32 {%r0, %r1}, [%rd0+16];").findings.empty());
    CHECK(run(".pragma \"used_bytes_mask 4095\"; ld.global.v4.u32 {%r0, %r1, %r2, _}, [%rd0];").findings.empty());
    check_fault(run("ld.global.u32 %r0, [%rd0+12];"), "uninitialised", {"read of 4 bytes", "byte 12 of a block of 32"});
    CHECK(run("st.global.u8 [%rd0+13], 5; ld.global.u32 %r0, [%rd0+12];").findings.empty());
    CHECK(run("ld.global.u32 %r0, [%rd0+12];").findings.empty());  // a kernel before wrote it

    check_fault(
        run_on_shared(
            "setp.ne.u32 %p0, %thread, 7; @%p0 st.shared.u32 [%r0], %thread; bar.sync 0; ld.shared.u32 %r4, [%r1];"),
        "uninitialised", {"byte 28 of shared memory", "thread (39, 0, 0); 1 time"});
    check_fault(
        run_snippet(".local .b8 own[8]; mov.u64 %rd0, own; st.local.u32 [%rd0], 1; ld.local.v2.u32 {%r0, %r1}, [%rd0];",
                    threads(1)),
        "uninitialised", {"byte 0 of local memory"});
}
TEST_CASE("ptx/faults: shared memory of one block is not initialised for the next") {
    module m(std::string(".entry kernel()\n{ .reg .pred %p; .reg .b32 %r<4>;") + shared_words +
             "mov.u32 %r0, %ctaid.x; setp.eq.u32 %p, %r0, 0; @%p st.shared.u32 [words], 1; ld.shared.u32 %r1, [words]; "
             "ret; }");
    check_fault({{}, launch(m.kernel("kernel"), {{2, 1, 1}, {}}, {}, {})}, "uninitialised", {"block (1, 0, 0)"});
}
TEST_CASE("ptx/faults: races between warps are found without a barrier, and only then") {
    const std::string write = "st.shared.u32 [%r0], %thread;", read = "ld.shared.u32 %r4, [%r1];",
                      barrier = "bar.sync 0;";
    CHECK(run_on_shared(write + barrier + read).findings.empty());
    // The warp that runs first reads what is not there yet.
    const snippet_run missing = run_on_shared(write + read);
    REQUIRE(missing.findings.size() == 2);
    CHECK(missing.findings[0].kind == "uninitialised");
    CHECK(missing.findings[1].kind == "race");
    check_fault(run_on_shared(write + barrier + read + write), "race",
                {"read after write of byte 0", "threads 0 and 32"});
    const std::string second_warp = "setp.ge.u32 %p0, %thread, 32; @%p0 ";
    check_fault(run_on_shared(write + barrier + read + second_warp + write), "race",
                {"write after read of byte 128", "with no barrier between threads 0 and 32"});
    CHECK(run_on_shared(write + barrier + read + barrier + write).findings.empty());
    check_fault(run_on_shared("st.shared.u32 [words], %thread;"), "race", {"write after write of byte 0"});
    CHECK(run_on_shared("st.shared.u32 [words], 5;").findings.empty());  // the same by all
}
TEST_CASE("ptx/faults: what one block writes no other may access, unless it writes the same") {
    const auto run = [](const std::string& body) {
        return run_snippet("mov.u32 %r0, %ctaid.x;" + body, threads(1), "", 0, 3);
    };
    check_fault(run("st.global.u32 [%out], %r0;"), "race between blocks",
                {"write of 4 bytes", "byte 0 of a block of 32 bytes", "which block (0, 0, 0) wrote", "2 times"});
    check_fault(run("setp.eq.u32 %p0, %r0, 0; @%p0 st.global.u32 [%out], 5; @!%p0 ld.global.u32 %r1, [%out];"),
                "race between blocks", {"read of 4 bytes", "which block (0, 0, 0) wrote"});
    const snippet_run both = run("ld.global.u32 %r1, [%in]; setp.eq.u32 %p0, %r0, 2; @%p0 st.global.u32 [%in], 5;");
    check_fault(both, "race between blocks", {"write of 4 bytes", "which several blocks read"});
    CHECK(run("st.global.u32 [%out], 7;").findings.empty());
    CHECK(run("red.global.add.u32 [%out], 7;").findings.empty());
    CHECK(run("mul.wide.u32 %rd0, %r0, 4; add.s64 %rd0, %out, %rd0; ld.global.u32 %r1, [%rd0]; st.global.u32 [%rd0], "
              "%r0;")
              .findings.empty());
}

TEST_CASE("ptx/faults: lanes of a warp race too, unless bar.warp.sync orders them") {
    const std::string write = "st.shared.u32 [%r0], %thread;", read = "ld.shared.u32 %r4, [%r2];",
                      barrier = "bar.warp.sync -1;";
    CHECK(run_on_shared(write + barrier + read).findings.empty());
    CHECK(run_on_shared(write + barrier + read + barrier + read + barrier + write).findings.empty());
    check_fault(run_on_shared(write + read), "race", {"read after write of byte 4", "threads 1 and 0"});
    check_fault(run_on_shared(write + barrier + read + write), "race",
                {"write after read of byte 0", "threads 1 and 0"});
    // Teams of one lane each: no order between the lanes of a pair.
    check_fault(run_on_shared(write + "mov.u32 %r5, %lanemask_eq; bar.warp.sync %r5;" + read), "race",
                {"read after write"});
    const std::string team = "and.b32 %r5, %thread, 24; mov.u32 %r6, 255; shl.b32 %r6, %r6, %r5; bar.warp.sync %r6;";
    CHECK(run_on_shared(write + team + read + team + write).findings.empty());
}
TEST_CASE("ptx/faults: threads that wait at different barriers") {
    check_fault(
        run_snippet("setp.lt.u32 %p0, %thread, 32; @%p0 bra first; bar.sync 0; bra done; first: bar.sync 0; done:",
                    threads(64)),
        "barrier", {"different barriers"});
    CHECK(run_snippet("setp.lt.u32 %p0, %thread, 32; @%p0 bra done; bar.sync 0; done:", threads(64)).findings.empty());
}
TEST_CASE("ptx/faults: shuffles of lanes that do not take part") {
    const std::string half = "setp.ge.u32 %p0, %thread, 16; @%p0 bra done;";
    check_fault(run_snippet(half + "shfl.sync.bfly.b32 %r0, %thread, 16, 31, 65535; done:", threads(32)), "shuffle",
                {"lane 0 reads lane 16, which does not take part", "16 times"});
    check_fault(run_snippet(half + "shfl.sync.bfly.b32 %r0, %thread, 1, 31, 262143; done: bar.sync 0;", threads(32)),
                "shuffle", {"lanes of the mask of members do not come here"});
    check_fault(run_snippet("shfl.sync.bfly.b32 %r0, %thread, 1, 31, 65535;", threads(32)), "shuffle",
                {"a lane is not in its mask of members", "thread (16, 0, 0)"});
    CHECK(run_snippet(half + "shfl.sync.bfly.b32 %r0, %thread, 8, 31, 65535; done:", threads(32)).findings.empty());
    // Lanes that have ended need not come.
    CHECK(run_snippet(half + "shfl.sync.bfly.b32 %r0, %thread, 8, 31, -1; done:", threads(16)).findings.empty());
}
TEST_CASE("ptx/faults: votes of part of a warp") {
    check_fault(
        run_snippet("setp.lt.u32 %p0, %thread, 3; mov.u32 %r4, 255; vote.sync.any.pred %p1, %p0, %r4;", threads(8)),
        "vote", {"of part of a warp", "one after the other"});
    check_fault(run_snippet("match.any.sync.b32 %r0, %thread, 255;", threads(8)), "vote", {"of part of a warp"});
    CHECK(run_snippet("setp.lt.u32 %p0, %thread, 3; vote.sync.any.pred %p1, %p0, -1;", threads(8)).findings.empty());
}
TEST_CASE("ptx/faults: a kernel that does not end, and one that ends itself") {
    check_fault(run_snippet("again: bra again;", threads(3)), "endless", {"thread (0, 0, 0)"});
    check_fault(run_snippet("setp.eq.u32 %p0, %thread, 2; @%p0 trap;", threads(3)), "trap",
                {"thread (2, 0, 0); 1 time"});
}
