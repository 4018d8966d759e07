// SPDX-License-Identifier: MIT
#include "cordage/positions/pose.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>

using namespace cordage;

namespace {

// What a sequence of positions says of its chunks: the skips before each position, and where they grow.
struct chunks_seen {
    std::vector<double> skips;
    std::vector<index_t> starts;

    explicit chunks_seen(const std::vector<double>& positions) {
        for (std::size_t i = 0; i < positions.size(); ++i) {
            skips.push_back(positions[i] - static_cast<double>(i));
            if (i > 0 && skips[i] != skips[i - 1]) starts.push_back(static_cast<index_t>(i));
        }
    }
};

}  // namespace

TEST_CASE("positions/pose: chunks of neighbours from 0 on, each moved at least as far as the one before, below t L") {
    std::mt19937_64 generator(41);
    for (const index_t chunks : {1, 2, 3, 8, 20, 32}) {  // 20: the longest chunks would use up all tokens
        double furthest = 0.0;
        for (int i = 0; i < 3000; ++i) {
            const auto p = pose_positions(generator, {.train_length = 32, .original_length = 32, .t = 3.5}, chunks);
            REQUIRE(p.size() == 32);
            REQUIRE(p.front() == 0.0);
            REQUIRE(p.back() < 112.0);
            const chunks_seen seen(p);
            REQUIRE(std::is_sorted(seen.skips.begin(), seen.skips.end()));
            REQUIRE(std::all_of(seen.skips.begin(), seen.skips.end(), [](double s) { return s == std::floor(s); }));
            REQUIRE(static_cast<index_t>(seen.starts.size()) < chunks);
            furthest = std::max(furthest, p.back());
        }
        CHECK(furthest == (chunks == 1 ? 31.0 : 111.0));
    }
}

TEST_CASE("positions/pose: with two chunks the first has 1 to half of the tokens, and every skip is equally likely") {
    std::mt19937_64 generator(42);
    constexpr int draws = 40'000;
    std::vector<double> lengths(9, 0.0), skips(12, 0.0);
    for (int i = 0; i < draws; ++i) {  // 8 tokens, 1 to 4 in the first chunk; skips 0 to 11
        const auto p = pose_positions(generator, {.train_length = 8, .original_length = 8, .t = 19.0 / 8});
        const chunks_seen seen(p);
        skips[static_cast<std::size_t>(seen.skips.back())] += 1.0;
        if (!seen.starts.empty()) lengths[static_cast<std::size_t>(seen.starts.front())] += 1.0;
    }
    for (const double count : skips) CHECK(std::fabs(count / draws - 1.0 / 12) < 4 * std::sqrt(11.0 / 144 / draws));
    const double moved = std::accumulate(lengths.begin(), lengths.end(), 0.0);
    for (std::size_t length = 1; length <= 8; ++length) {
        if (length <= 4) CHECK(std::fabs(lengths[length] / moved - 0.25) < 4 * std::sqrt(3.0 / 16 / moved));
        if (length > 4) CHECK(lengths[length] == 0.0);
    }
    // An odd number of tokens: up to the larger half.
    index_t longest = 0;
    for (int i = 0; i < 500; ++i) {
        const chunks_seen seen(pose_positions(generator, {.train_length = 7, .original_length = 7, .t = 4.0}));
        if (!seen.starts.empty()) longest = std::max(longest, seen.starts.front());
    }
    CHECK(longest == 4);
}

TEST_CASE("positions/pose: with as many chunks as tokens every token may be moved by itself") {
    std::mt19937_64 generator(43);
    std::size_t most = 0;
    for (int i = 0; i < 200; ++i) {
        const chunks_seen seen(pose_positions(generator, {.train_length = 5, .original_length = 5, .t = 1e6}, 5));
        most = std::max(most, seen.starts.size());
    }
    CHECK(most == 4);
}

TEST_CASE("positions/pose: without room nothing moves") {
    std::mt19937_64 generator(44);
    const std::vector<double> plain{0, 1, 2, 3, 4};
    CHECK(pose_positions(generator, {.train_length = 5, .original_length = 5, .t = 1.0}) == plain);
    CHECK(pose_positions(generator, {.train_length = 5, .original_length = 2, .t = 1.5}, 3) == plain);
    CHECK(pose_positions(generator, {.train_length = 5, .original_length = 2, .t = 100}, 1) == plain);
}

TEST_CASE("positions/pose: the same numbers on every platform") {
    std::mt19937_64 generator(2024);
    CHECK(pose_positions(generator, {.train_length = 6, .original_length = 8, .t = 4.0}) ==
          std::vector<double>{0, 1, 23, 24, 25, 26});
    CHECK(pose_positions(generator, {.train_length = 6, .original_length = 8, .t = 4.0}, 3) ==
          std::vector<double>{0, 1, 5, 6, 7, 8});
}

TEST_CASE("positions/pose: settings out of their domain are named") {
    std::mt19937_64 generator(45);
    CHECK_THROWS_WITH_AS(pose_positions(generator, {.train_length = 4, .original_length = 8}, 0),
                         "pose_positions: chunks 0 must be 1 to train_length 4", value_error);
    CHECK_THROWS_WITH_AS(pose_positions(generator, {.train_length = 4, .original_length = 8}, 5),
                         "pose_positions: chunks 5 must be 1 to train_length 4", value_error);
    CHECK_THROWS_WITH_AS(pose_positions(generator, {.train_length = 4, .original_length = 0}),
                         "pose_positions: original_length 0 must be finite and >= 1", value_error);
}
