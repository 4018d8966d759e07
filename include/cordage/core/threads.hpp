// SPDX-License-Identifier: MIT
// A thread pool for hosts without one. Not part of cordage.hpp: <thread> takes as long to compile as all kernels
// (docs/performance.md).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "cordage/core/executor.hpp"

namespace cordage {

/// A pool of the calling thread and `count - 1` workers. The workers are started by the first call that needs them and
/// end with this object.
///
///   const threads pool{4};
///   for (layer& l : layers) rotate_forward<half_split>(pool, angles, in_place(l.q), in_place(l.k));
///
/// Each idle thread, including the calling one, takes the next slice of a call, so that no slice waits for a thread
/// that wakes late. Between calls workers spin for 50 us, then sleep. Several threads may use a pool concurrently, and
/// a slice may use its own pool: if the pool is busy, a call runs its slices on its own thread. Slices must not throw.
/// If the system refuses to start a thread, the pool works with fewer. After a fork the child's calling thread does all
/// work; the child must not destroy the pool, since the destructor would wait for threads that do not exist there.
class threads {
 public:
    explicit threads(index_t count, index_t smallest_slice = usual_smallest_slice) noexcept
        : count_(count), smallest_slice_(smallest_slice) {}
    threads(const threads&) = delete;
    threads& operator=(const threads&) = delete;
    ~threads() {
        unclaimed_.store(closed);
        unclaimed_.notify_all();
        for (std::thread& other : others_) other.join();
    }

    /// Number of slices to cut a job into: four for each thread, which balances threads that start late.
    index_t concurrency() const noexcept { return count_ > 1 ? std::min(count_, most) * slices_each : count_; }

    index_t smallest_slice() const noexcept { return smallest_slice_; }

    template <class Slice>
    void run(index_t slices, const Slice& slice) const {
        if (slices < 2 || slices > most_slices || count_ < 2 || is_busy_.exchange(true, std::memory_order_acquire)) {
            serial{}.run(slices, slice);
            return;
        }
        start(std::min(slices, std::min(count_, most)) - 1);
        job_ = {[](const void* of, index_t ith) noexcept { (*static_cast<const Slice*>(of))(ith); }, &slice, slices};
        unfinished_.store(static_cast<int>(slices), std::memory_order_relaxed);
        unclaimed_.store(static_cast<int>(slices));
        if (slices > std::ssize(others_)) {
            unclaimed_.notify_all();
        } else {
            for (index_t i = 1; i < slices; ++i) unclaimed_.notify_one();
        }
        take_slices();
        spin_until([&] { return unfinished_.load(std::memory_order_acquire) == 0; });
        for (int left; (left = unfinished_.load(std::memory_order_acquire)) != 0;) unfinished_.wait(left);
        is_busy_.store(false, std::memory_order_release);
    }

 private:
    static constexpr index_t most = 1024, slices_each = 4, most_slices = index_t{1} << 30;
    static constexpr int closed = -1;  // value of unclaimed_ once the destructor runs

    struct job {
        void (*run)(const void* slice, index_t ith) noexcept;
        const void* slice;
        index_t slices;
    };

    void start(index_t wanted) const {
        const auto start_others = [&] {
            others_.reserve(static_cast<std::size_t>(wanted));
            while (std::ssize(others_) < wanted) others_.emplace_back([this] { serve(); });
        };
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
        try {
            start_others();
        } catch (const std::exception&) {  // the system has no more threads, or no memory for one
        }
#else
        start_others();
#endif
    }

    // Loop of a worker thread.
    void serve() const noexcept {
        for (;;) {
            take_slices();
            spin_until([&] { return unclaimed_.load(std::memory_order_relaxed) != 0; });
            unclaimed_.wait(0);
            if (unclaimed_.load(std::memory_order_relaxed) == closed) return;
        }
    }

    // The job is valid while a slice is claimed: run() returns only after the last slice has returned.
    void take_slices() const noexcept {
        for (int left = unclaimed_.load(std::memory_order_acquire); left > 0;) {
            if (!unclaimed_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) continue;
            job_.run(job_.slice, job_.slices - left);
            if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
            left = unclaimed_.load(std::memory_order_acquire);
        }
    }

    template <class Condition>
    static void spin_until(const Condition& is_met) noexcept {
        using clock = std::chrono::steady_clock;
        for (const auto end = clock::now() + std::chrono::microseconds(50); !is_met() && clock::now() < end;) {
            std::this_thread::yield();
        }
    }

    index_t count_, smallest_slice_;
    mutable std::vector<std::thread> others_;  // others_ and job_ are accessed only by the call that set is_busy_
    mutable job job_ = {};
    mutable std::atomic<bool> is_busy_ = false;
    mutable std::atomic<int> unclaimed_ = 0;   // slices of the job that no thread has taken, or closed
    mutable std::atomic<int> unfinished_ = 0;  // slices that have not returned
};
static_assert(executor<threads>);

}  // namespace cordage
