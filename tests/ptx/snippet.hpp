// SPDX-License-Identifier: MIT
// Kernels of a few hand-written instructions, and the memory that they run on.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "ptx/launch.hpp"
#include "ptx/module.hpp"

namespace cordage_test::ptx {

/// A kernel `snippet` of two pointers, %in and %out, each advanced by 32 bytes a thread; %thread is the thread's
/// number. Registers: %p0 - 9, %h0 - 19 (16 bits), %r0 - 49, %f0 - 19, %rd0 - 19, %d0 - 19.
inline std::string snippet(const std::string& body, const std::string& before = "") {
    return ".version 8.0\n.target sm_90\n.address_size 64\n" + before + R"(
.visible .entry snippet(.param .u64 snippet_in, .param .u64 snippet_out)
{
    .reg .pred %p<10>;
    .reg .b16 %h<20>;
    .reg .b32 %r<50>, %thread;
    .reg .f32 %f<20>;
    .reg .b64 %rd<20>, %in, %out, %step;
    .reg .f64 %d<20>;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %step, %thread, 32;
    ld.param.u64 %in, [snippet_in];
    ld.param.u64 %out, [snippet_out];
    add.s64 %in, %in, %step;
    add.s64 %out, %out, %step;
)" + body + "\n    ret;\n}\n";
}

using words = std::array<u32, 8>;  // a thread's 32 bytes

struct snippet_run {
    std::vector<words> out;
    std::vector<finding> findings;
};

/// Runs a snippet in blocks of in.size() threads. What it does not write of `out` stays 0.
inline snippet_run run_snippet(const std::string& body, std::vector<words> in, const std::string& before = "",
                               std::size_t shared_bytes = 0, u32 blocks = 1) {
    module m(snippet(body, before));
    snippet_run run{std::vector<words>(in.size()), {}};
    const std::array<void*, 2> pointers{in.data(), run.out.data()};
    const auto bytes = std::as_bytes(std::span(pointers));
    std::vector<memory_block> memory = m.variables();
    memory.push_back(memory_block::of(in.data(), in.size() * sizeof(words)));
    memory.push_back(memory_block::of(run.out.data(), in.size() * sizeof(words)));
    run.findings = launch(m.kernel("snippet"), {{blocks, 1, 1}, {static_cast<u32>(in.size()), 1, 1}, shared_bytes},
                          {bytes.first(8), bytes.last(8)}, global_memory(memory), 100'000);
    return run;
}

/// Threads of any bits, the same in every run.
inline std::vector<words> any_words(std::size_t threads) {
    std::vector<words> all(threads);
    u64 state = 1;
    for (words& one : all) {
        for (u32& word : one) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            word = static_cast<u32>(state >> 32);
        }
    }
    return all;
}

/// Loads a thread's words 0 to 3 into %r0 - 3 and stores %r10 as word 0.
inline std::string on_words(const std::string& instructions) {
    return "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%in];\n" + instructions + "\nst.global.b32 [%out], %r10;";
}

}  // namespace cordage_test::ptx
