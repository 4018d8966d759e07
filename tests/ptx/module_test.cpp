// SPDX-License-Identifier: MIT
// What is no PTX that this interpreter runs, or no launch of it, is one clear error.
#include "ptx/snippet.hpp"

using namespace cordage_test::ptx;

namespace {

void check_error(const std::string& body, const std::string& text) {
    CAPTURE(body);
    CHECK_THROWS_WITH_AS(run_snippet(body, std::vector<words>(1)), text.c_str(), error);
}

}  // namespace

TEST_CASE("ptx/module: an unknown instruction is named with its line") {
    check_error("add.u32 %r0, %r1, %r2;\n  dp4a.u32.u32 %r0, %r1, %r2, %r3;",
                "PTX, line 20: unknown instruction: dp4a.u32.u32 %r0, %r1, %r2, %r3");
    check_error("@%p0 add.rz.f32 %f0, %f1, %f2;", "PTX, line 19: unknown instruction: @%p0 add.rz.f32 %f0, %f1, %f2");
    check_error("cvt.rz.f32.f64 %f0, %d0;", "PTX, line 19: unknown instruction: cvt.rz.f32.f64 %f0, %d0");
    check_error("bar.sync 1;", "PTX, line 19: unknown instruction: bar.sync 1");
    check_error("call.uni (%r0), other, (%r1);", "PTX, line 19: unknown instruction: call.uni (%r0), other, (%r1)");
}
TEST_CASE("ptx/module: operands that do not fit their instruction") {
    check_error("add.u32 %r0, %r1;", "PTX, line 19: wrong number of operands: add.u32 %r0, %r1");
    check_error("add.u32 %r0, %r1, %rd0;", "PTX, line 19: a register of another width: %rd0");
    check_error("add.u32 %r0, %r1, %r90;", "PTX, line 19: unknown register: %r90");
    check_error("add.u32 %r0, %r1, other;", "PTX, line 19: not a number: other");
    check_error("bra other;", "PTX, line 19: unknown label: other");
    check_error("ld.global.v2.u32 {%r0, %r1, %r2}, [%in];",
                "PTX, line 19: wrong number of elements: ld.global.v2.u32 {%r0, %r1, %r2}, [%in]");
    check_error("ld.global.u32 %r0, %in;", "PTX, line 19: not an address: ld.global.u32 %r0, %in");
}
TEST_CASE("ptx/module: a name is that of the innermost scope") {
    const snippet_run run = run_snippet(
        "mov.u32 %r0, 1; { .reg .b32 %r0; mov.u32 %r0, 2; st.global.u32 [%out], %r0; }\n"
        "st.global.u32 [%out+4], %r0; // a comment; mov.u32 %r0, 3;\n/* { */",
        std::vector<words>(1));
    CHECK(run.out[0][0] == 2);
    CHECK(run.out[0][1] == 1);
}
TEST_CASE("ptx/module: an argument must have the size of the kernel's parameter") {
    module m(".entry kernel(.param .align 8 .b8 value[2016]) { ret; }");
    const std::vector<std::byte> bytes(1120);
    CHECK_THROWS_WITH_AS(launch(m.kernel("kernel"), {}, {bytes}, {}),
                         "PTX: parameter 0 has 1120 bytes on the host and 2016 in the kernel: kernel", error);
    CHECK_THROWS_WITH_AS(launch(m.kernel("kernel"), {}, {}, {}), "PTX: 0 arguments for 1 parameters: kernel", error);
}
TEST_CASE("ptx/module: a block has at most the threads that the kernel allows") {
    module m(".entry kernel()\n.maxntid 16, 4, 1\n.minnctapersm 2\n{ ret; }");
    CHECK(launch(m.kernel("kernel"), {{}, {64, 1, 1}}, {}, {}).empty());
    CHECK_THROWS_WITH_AS(launch(m.kernel("kernel"), {{}, {65, 1, 1}}, {}, {}),
                         "PTX: 65 threads in a block must be 1 to 64: kernel", error);
}
TEST_CASE("ptx/module: kernels are found by the beginning of their C++ name") {
    module m(".entry _Z3runIiEvT_() { ret; } .entry _Z3runIfEvT_() { ret; } .entry other() { ret; }");
    CHECK(m.find("void run<float>(") == "_Z3runIfEvT_");
    CHECK(m.find("other") == "other");
    CHECK(m.find("void run<double>(").empty());
    CHECK_THROWS_WITH_AS(m.find("void run<"), "PTX: several kernels have names that begin with void run<", error);
    CHECK(m.kernel("void run<float>(").name == "void run<float>(float)");
    CHECK_THROWS_WITH_AS(
        m.kernel("void run<double>("),
        "PTX: no kernel 'void run<double>('; there are: void run<float>(float), void run<int>(int), other", error);
    CHECK_THROWS_WITH_AS(m.kernel(""),
                         "PTX: no kernel ''; there are: void run<float>(float), void run<int>(int), other", error);
    CHECK_THROWS_WITH_AS(module("").kernel("none"), "PTX: no kernel 'none'; there are: none", error);
    CHECK_THROWS_WITH_AS(module::of_file("none.ptx"), "PTX: cannot read none.ptx", error);
}
