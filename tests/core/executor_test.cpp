// SPDX-License-Identifier: MIT
#include "cordage/core/executor.hpp"

#include <doctest/doctest.h>

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cordage/core/threads.hpp"

#include "allocations.hpp"

using namespace cordage;

namespace {

// The ranges of for_each_range for items of this many bytes, in order of their beginnings.
template <class Executor>
std::vector<std::pair<index_t, index_t>> ranges(const Executor& how, index_t items, index_t bytes_of_item) {
    std::mutex guard;
    std::set<std::pair<index_t, index_t>> seen;
    for_each_range(how, items, bytes_of_item, [&](index_t begin, index_t end) {
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
        for_each_range(how, items, 4, [&](index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        for (const auto& count : visits) REQUIRE(count == 1);
    }
}

}  // namespace

TEST_CASE("core/executor: every item is visited once, whoever runs the slices") {
    check_every_item_is_visited_once(serial{});
    for (const index_t count : {1, 2, 3, 7, 32}) {
        const threads pool(count, 64);
        check_every_item_is_visited_once(pool);
    }
    index_t slices = 0;
    check_every_item_is_visited_once(loop_executor{counting_loop{&slices}, 5, 64});
    CHECK(slices > 0);
}

TEST_CASE("core/executor: slices are contiguous, nearly equal and never smaller than the executor's smallest slice") {
    index_t slices = 0;
    for (const auto& [bytes, grain] : {std::pair<index_t, index_t>{1, 64}, {16, 4}, {7, 10}, {64, 1}, {1000, 1}}) {
        for (const index_t items : {1, 64, 100, 127, 128, 640, 641, 10'000}) {
            const auto parts = ranges(loop_executor{counting_loop{&slices}, 4, 64}, items, bytes);
            CHECK(static_cast<index_t>(parts.size()) == std::clamp<index_t>(items / grain, 1, 4));
            index_t next = 0, smallest = items, largest = 0;
            for (const auto& [begin, end] : parts) {
                CHECK(begin == next);
                next = end;
                smallest = std::min(smallest, end - begin);
                largest = std::max(largest, end - begin);
            }
            CHECK(next == items);
            CHECK(largest - smallest <= 1);
            CHECK((parts.size() == 1 || smallest * bytes >= 64));
        }
    }
}

TEST_CASE("core/executor: work of less than two slices never leaves the calling thread") {
    index_t slices = 0;
    const loop_executor pool{counting_loop{&slices}, 8, 64};
    for (const index_t items : {0, 1, 64, 127}) CHECK(ranges(pool, items, 1).size() == 1);
    CHECK(slices == 0);
    CHECK(ranges(pool, 128, 1).size() == 2);
    CHECK(slices == 2);
    CHECK(ranges(loop_executor{counting_loop{&slices}, 8}, 127, index_t{1} << 14).size() == 1);  // 2 MB less 16 KB
    CHECK(ranges(loop_executor{counting_loop{&slices}, 8}, 128, index_t{1} << 14).size() == 2);
    constexpr index_t most = std::numeric_limits<index_t>::max();
    for (const index_t bytes : {index_t{0}, most}) {
        CHECK(ranges(loop_executor{counting_loop{&slices}, 8, most}, 1000, bytes).size() == (bytes == 0 ? 1 : 8));
        CHECK(ranges(loop_executor{counting_loop{&slices}, 8, 0}, 1000, bytes).size() == 8);
    }
    const auto here = std::this_thread::get_id();
    for_each_range(threads{8, 64}, 127, 1, [&](index_t, index_t) { CHECK(std::this_thread::get_id() == here); });
}

TEST_CASE("core/threads: workers of a pool run beside the calling thread, the same ones in every call") {
    std::mutex guard;
    std::set<std::thread::id> who;
    const threads pool(3, 1);
    for (int call = 0; call < 100; ++call) {
        std::atomic<int> running = 0;
        for_each_range(pool, 3, 1, [&](index_t, index_t) {
            ++running;
            while (running < 3) std::this_thread::yield();  // ends only if all three run at once
            const std::lock_guard lock(guard);
            who.insert(std::this_thread::get_id());
        });
    }
    CHECK(who.size() == 3);
    CHECK(who.count(std::this_thread::get_id()) == 1);
}

TEST_CASE("core/threads: sleeping workers wake for the next call, and the caller for its end") {
    const threads pool(2, 1);
    for (int call = 0; call < 5; ++call) {
        std::atomic<int> running = 0;
        const auto here = std::this_thread::get_id();
        const auto wait_for = [](std::chrono::milliseconds time) {  // busy: no test sleeps
            for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
            }
        };
        wait_for(std::chrono::milliseconds(2));  // longer than workers spin
        for_each_range(pool, 2, 1, [&](index_t, index_t) {
            ++running;
            while (running < 2) std::this_thread::yield();
            if (std::this_thread::get_id() != here) wait_for(std::chrono::milliseconds(2));
        });
        CHECK(running == 2);
    }
}

TEST_CASE("core/threads: a slice may call its own pool, and several threads one pool at a time") {
    const threads pool(3, 1);
    const auto sum_of_squares = [&] {
        std::atomic<index_t> sum = 0;
        for_each_range(pool, 20, 1, [&](index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i) {
                for_each_range(pool, i, 1, [&](index_t first, index_t last) { sum += (last - first) * i; });
            }
        });
        return sum.load();
    };
    CHECK(sum_of_squares() == 2470);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> hosts;
    for (int host = 0; host < 4; ++host) {
        hosts.emplace_back([&] {
            for (int call = 0; call < 200; ++call) wrong += sum_of_squares() == 2470 ? 0 : 1;
        });
    }
    for (std::thread& host : hosts) host.join();
    CHECK(wrong == 0);
}

TEST_CASE("core/threads: a pool without work, with more threads than slices or with one may end at any time") {
    for (int i = 0; i < 20; ++i) {
        {
            const threads idle(4);
        }
        const threads large(50, 1), alone(1, 1);
        index_t done_alone = 0;
        std::atomic<index_t> done = 0;
        for_each_range(large, 2, 1, [&](index_t begin, index_t end) { done += end - begin; });
        for_each_range(alone, 100, 1, [&](index_t begin, index_t end) { done_alone += end - begin; });
        CHECK(done == 2);
        CHECK(done_alone == 100);
    }
}

#if defined(__linux__) && !defined(CORDAGE_TEST_SANITIZED)
TEST_CASE("core/threads: the child of a fork does all slices alone") {
    const threads pool(3, 1);
    const auto sum = [&] {
        std::atomic<index_t> items = 0;
        for_each_range(pool, 100, 1, [&](index_t begin, index_t end) { items += end - begin; });
        return items.load();
    };
    REQUIRE(sum() == 100);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(sum() == 100 ? 0 : 1);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(sum() == 100);
}
#endif

#if defined(__linux__) && !defined(CORDAGE_TEST_SANITIZED)
TEST_CASE("core/threads: where no thread can be started the calling one does all of the work") {
    std::array<std::atomic<int>, 64> visits{};
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    const rlimit nothing_more{1, before.rlim_max};  // no memory for a stack
    REQUIRE(setrlimit(RLIMIT_AS, &nothing_more) == 0);
    for_each_range(threads{64, 1}, 64, 1, [&](index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
    });
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    for (const auto& count : visits) CHECK(count == 1);
}
#endif

TEST_CASE("core/executor: an exception of the host's own loop reaches the caller") {
    const auto broken = [](index_t, const auto&) { throw std::runtime_error("pool is gone"); };
    const loop_executor pool{broken, 4, 1};
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
