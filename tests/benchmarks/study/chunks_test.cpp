// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "smollm2/windows.hpp"

using namespace demo;

namespace {

std::vector<token> counted(std::size_t count) {
    std::vector<token> tokens(count);
    std::iota(tokens.begin(), tokens.end(), token{0});
    return tokens;
}

}  // namespace

TEST_CASE("study/chunks: positions are those of the chunks, with gaps between them up to the context") {
    generator draw = stream(1, 2);
    const chunk_shape shape{8, 256, 16};
    for (int trial = 0; trial < 50; ++trial) {
        const chunk_window w = draw_chunks(draw, counted(1024), 65536, shape);
        CHECK(w.tokens == counted(1024));
        CHECK(w.position_ids.front() == 0);
        CHECK(w.position_ids.back() == 65535);
        CHECK(w.position_ids[15] == 15);
        CHECK(w.position_ids[1024 - 256] == 65536 - 256);
        int jumps = 0;
        for (std::size_t i = 1; i < w.position_ids.size(); ++i) {
            CHECK(w.position_ids[i] > w.position_ids[i - 1]);
            if (w.position_ids[i] > w.position_ids[i - 1] + 1) ++jumps;
        }
        CHECK(jumps <= 7);
        CHECK(jumps >= 6);  // a gap may be 0
    }
}

TEST_CASE("study/chunks: a context of the window's own length has no gaps, and a smaller one is refused") {
    generator draw = stream(1, 2);
    const chunk_shape shape{2, 4, 1};
    CHECK(draw_chunks(draw, counted(8), 8, shape).position_ids == std::vector<index_t>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK_THROWS_AS(draw_chunks(draw, counted(8), 7, shape), std::runtime_error);
    CHECK_THROWS_AS(draw_chunks(draw, counted(5), 100, shape), std::runtime_error);
}

TEST_CASE("study/chunks: the copy at the end stands before the last tokens, too") {
    generator draw = stream(3, 4);
    const chunk_shape shape{4, 64, 8};
    for (int trial = 0; trial < 50; ++trial) {
        const chunk_window w = draw_with_copy(draw, counted(500), 256, 32, 4096, shape);
        const auto copy = w.tokens.end() - 32, before = w.tokens.end() - 64;
        CHECK(std::search(w.tokens.begin(), before, copy, w.tokens.end()) != before);
    }
    CHECK_THROWS_AS(draw_with_copy(draw, counted(255), 256, 32, 4096, shape), std::runtime_error);
    CHECK_THROWS_AS(draw_with_copy(draw, counted(500), 256, 65, 4096, shape), std::runtime_error);
}

TEST_CASE("study/chunks: token files are little-endian, and a missing one is refused") {
    CHECK_THROWS_AS(read_tokens("no/such.u16"), std::runtime_error);
}

TEST_CASE("study/chunks: a number beyond 32 bits has a stream of its own, a smaller one that of old records") {
    CHECK(stream(1, std::uint64_t{256} << 32 | 3)() != stream(1, 3)());
    CHECK(stream(1, std::uint64_t{256} << 32 | 3)() != stream(1, std::uint64_t{512} << 32 | 3)());
    CHECK(stream(std::uint64_t{1} << 32, 3)() != stream(0, std::uint64_t{1} << 32 | 3)());
    std::seed_seq two{17U, 3U};
    CHECK(stream(17, 3)() == generator(two)());
}
