// SPDX-License-Identifier: MIT
// Who runs the slices of a kernel: this thread, or the host's own pool (threads.hpp: some threads); serves angles and
// rotation.
#pragma once

#include <algorithm>
#include <concepts>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage {

/// Runs everything on the calling thread. The default.
struct serial {
    index_t concurrency() const noexcept { return 1; }
    template <class Slice>
    void run(index_t slices, const Slice& slice) const {
        for (index_t ith = 0; ith < slices; ++ith) slice(ith);
    }
};

/// The host's own loop: loop(n, body) must call body(0) ... body(n-1), in any order, and return when all have returned.
///
///   loop_executor pool{[&](index_t n, auto&& body) { host_pool.run(n, body); },
///                     static_cast<index_t>(host_pool.size())};
template <class Loop>
struct loop_executor {
    Loop loop;
    index_t count;

    index_t concurrency() const noexcept { return count; }
    template <class Slice>
    void run(index_t slices, const Slice& slice) const {
        loop(slices, slice);
    }
};
template <class Loop>
loop_executor(Loop, index_t) -> loop_executor<Loop>;

template <class E>
concept executor = requires(const E& e, index_t n, void (*slice)(index_t)) {
    { e.concurrency() } -> std::convertible_to<index_t>;
    e.run(n, slice);
};
static_assert(executor<serial>);

/// Cuts [0, items) into as many equal parts as the executor has hands, none smaller than `grain`, and runs
/// body(begin, end) on each. Work of up to one grain stays on the calling thread. body must not throw.
template <executor Executor, class Body>
void for_each_range(const Executor& how, index_t items, index_t grain, const Body& body) {
    if (how.concurrency() < 1) fail<value_error>({"executor: concurrency ", how.concurrency(), " must be >= 1"});
    const index_t slices = std::min<index_t>(how.concurrency(), items / std::max<index_t>(grain, 1));
    if (slices <= 1) {
        body(index_t{0}, items);
        return;
    }
    how.run(slices, [&](index_t ith) { body(items * ith / slices, items * (ith + 1) / slices); });
}

}  // namespace cordage
