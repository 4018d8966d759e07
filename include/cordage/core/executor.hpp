// SPDX-License-Identifier: MIT
// Executors, which run the slices of a kernel: on the calling thread or in the host's own pool (threads.hpp has a
// pool); serves angles and rotation.
#pragma once

#include <algorithm>
#include <concepts>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage {

/// Default minimum bytes of a slice. To wake a sleeping thread takes as long as to rotate about twice this many bytes
/// (benchmark rotate/forward/.../threads:2).
inline constexpr index_t usual_smallest_slice = index_t{1} << 20;

/// Runs everything on the calling thread. The default.
struct serial {
    index_t concurrency() const noexcept { return 1; }
    template <class Slice>
    void run(index_t slices, const Slice& slice) const {
        for (index_t ith = 0; ith < slices; ++ith) slice(ith);
    }
};

/// Runs slices by the host's own loop: loop(n, body) must call body(0) ... body(n-1), in any order, and return when all
/// have returned. A job is cut into at most `count` slices of at least `bytes_of_slice` bytes.
///
///   loop_executor pool{[&](index_t n, auto&& body) { host_pool.run(n, body); },
///                     static_cast<index_t>(host_pool.size())};
template <class Loop>
struct loop_executor {
    Loop loop;
    index_t count;
    index_t bytes_of_slice = usual_smallest_slice;

    index_t concurrency() const noexcept { return count; }
    index_t smallest_slice() const noexcept { return bytes_of_slice; }
    template <class Slice>
    void run(index_t slices, const Slice& slice) const {
        loop(slices, slice);
    }
};
template <class Loop>
loop_executor(Loop, index_t) -> loop_executor<Loop>;
template <class Loop>
loop_executor(Loop, index_t, index_t) -> loop_executor<Loop>;

/// concurrency() returns the most slices that are useful; run(n, slice) calls slice(0) ... slice(n - 1),
/// which do not throw. An optional smallest_slice() returns the minimum bytes of a slice.
template <class E>
concept executor = requires(const E& e, index_t n, void (*slice)(index_t)) {
    { e.concurrency() } -> std::convertible_to<index_t>;
    e.run(n, slice);
};
static_assert(executor<serial>);

/// Where slice `ith` of [0, items) begins, of slices that differ by at most one item; items for ith = slices.
constexpr index_t begin_of_slice(index_t items, index_t slices, index_t ith) noexcept {
    return items / slices * ith + std::min(ith, items % slices);
}

/// Cuts [0, items) into at most how.concurrency() equal slices, each of at least the smallest slice's bytes, and runs
/// body(begin, end) on each; a single slice runs on the calling thread. body must not throw.
/// @throws value_error  unless the executor's concurrency is at least 1
template <executor Executor, class Body>
void for_each_range(const Executor& how, index_t items, index_t bytes_of_item, const Body& body) {
    if (how.concurrency() < 1) fail<value_error>({"executor: concurrency ", how.concurrency(), " must be >= 1"});
    index_t slices = 1;
    if (items > 1) {  // one item, as in a decode step, skips the divisions
        index_t smallest = usual_smallest_slice;
        if constexpr (requires { how.smallest_slice(); }) smallest = how.smallest_slice();
        const index_t grain = (std::max<index_t>(smallest, 1) - 1) / std::max<index_t>(bytes_of_item, 1) + 1;
        slices = std::min<index_t>(how.concurrency(), items / grain);
    }
    if (slices <= 1) {
        body(index_t{0}, items);
        return;
    }
    how.run(slices,
            [&](index_t ith) { body(begin_of_slice(items, slices, ith), begin_of_slice(items, slices, ith + 1)); });
}

}  // namespace cordage
