// SPDX-License-Identifier: MIT
#include "cordage/core/executor.hpp"

#include <doctest/doctest.h>

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <vector>

#include "cordage/core/threads.hpp"

#include "allocations.hpp"

using namespace cordage;

namespace {

// The ranges that for_each_range makes, in order of their beginnings.
template <class Executor>
std::vector<std::pair<index_t, index_t>> ranges(const Executor& how, index_t items, index_t grain) {
    std::mutex guard;
    std::set<std::pair<index_t, index_t>> seen;
    for_each_range(how, items, grain, [&](index_t begin, index_t end) {
        const std::lock_guard lock(guard);
        seen.insert({begin, end});
    });
    return {seen.begin(), seen.end()};
}

// A host's pool that takes slices from the last to the first, and counts them.
struct counting_loop {
    index_t* slices;
    template <class Body>
    void operator()(index_t n, const Body& body) const {
        *slices += n;
        while (n-- > 0) body(n);
    }
};

template <class Executor>
void check_every_item_is_visited_once(const Executor& how) {
    for (const index_t items : {0, 1, 2, 63, 64, 65, 127, 128, 129, 1000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(items));
        for_each_range(how, items, 16, [&](index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        for (const auto& count : visits) REQUIRE(count == 1);
    }
}

}  // namespace

TEST_CASE("core/executor: every item is visited once, whoever runs the slices") {
    check_every_item_is_visited_once(serial{});
    for (const index_t count : {1, 2, 3, 7, 32}) check_every_item_is_visited_once(threads{count});
    index_t slices = 0;
    check_every_item_is_visited_once(loop_executor{counting_loop{&slices}, 5});
    CHECK(slices > 0);
}

TEST_CASE("core/executor: slices follow each other, are nearly equal and never smaller than the grain") {
    for (const index_t items : {1, 64, 100, 127, 128, 640, 641, 10'000}) {
        const auto parts = ranges(threads{4}, items, 64);
        CHECK(static_cast<index_t>(parts.size()) == std::clamp<index_t>(items / 64, 1, 4));
        index_t next = 0, smallest = items, largest = 0;
        for (const auto& [begin, end] : parts) {
            CHECK(begin == next);
            next = end;
            smallest = std::min(smallest, end - begin);
            largest = std::max(largest, end - begin);
        }
        CHECK(next == items);
        CHECK(largest - smallest <= 1);
        CHECK((parts.size() == 1 || smallest >= 64));
    }
}

TEST_CASE("core/executor: work of less than two grains never leaves the calling thread") {
    index_t slices = 0;
    const loop_executor pool{counting_loop{&slices}, 8};
    for (const index_t items : {0, 1, 64, 127}) CHECK(ranges(pool, items, 64).size() == 1);
    CHECK(slices == 0);
    CHECK(ranges(pool, 128, 64).size() == 2);
    CHECK(slices == 2);

    const auto here = std::this_thread::get_id();
    for_each_range(threads{8}, 127, 64, [&](index_t, index_t) { CHECK(std::this_thread::get_id() == here); });
}

TEST_CASE("core/executor: threads run beside the calling one and are joined on return") {
    std::mutex guard;
    std::set<std::thread::id> who;
    std::atomic<int> running = 0;
    for_each_range(threads{3}, 3, 1, [&](index_t, index_t) {
        ++running;
        while (running < 3) std::this_thread::yield();  // all three at once, or this never ends
        const std::lock_guard lock(guard);
        who.insert(std::this_thread::get_id());
    });
    CHECK(who.size() == 3);
    CHECK(who.count(std::this_thread::get_id()) == 1);
}

#if defined(__linux__) && !defined(CORDAGE_TEST_SANITIZED)
TEST_CASE("core/executor: where no thread can be started the calling one does all of the work") {
    std::array<std::atomic<int>, 64> visits{};
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    const rlimit nothing_more{1, before.rlim_max};  // no memory for a stack
    REQUIRE(setrlimit(RLIMIT_AS, &nothing_more) == 0);
    for_each_range(threads{64}, 64, 1, [&](index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
    });
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    for (const auto& count : visits) CHECK(count == 1);
}
#endif

TEST_CASE("core/executor: an exception of the host's own loop reaches the caller") {
    const auto broken = [](index_t, const auto&) { throw std::runtime_error("pool is gone"); };
    const loop_executor pool{broken, 4};
    CHECK_THROWS_WITH_AS(ranges(pool, 100, 1), "pool is gone", std::runtime_error);
}

TEST_CASE("core/executor: fewer than one hand is refused before anything runs") {
    for (const index_t count : {0, -3}) {
        bool ran = false;
        CHECK_THROWS_AS(for_each_range(threads{count}, 10, 1, [&](index_t, index_t) { ran = true; }), value_error);
        CHECK_FALSE(ran);
    }
    CHECK_THROWS_WITH(ranges(threads{0}, 10, 1), "executor: concurrency 0 must be >= 1");
}
