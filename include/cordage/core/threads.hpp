// SPDX-License-Identifier: MIT
// An executor for hosts without a pool of their own. Included by itself: <thread> costs a compiler as much as all
// kernels do (docs/performance.md).
#pragma once

#include <exception>
#include <thread>
#include <vector>

#include "cordage/core/executor.hpp"

namespace cordage {

/// Starts up to count-1 threads beside the calling one and joins them before it returns.
struct threads {
    index_t count = 1;

    index_t concurrency() const noexcept { return count; }
    template <class Slice>
    void run(index_t slices, const Slice& slice) const {
        std::vector<std::jthread> others;
        others.reserve(static_cast<std::size_t>(slices - 1));
        index_t started = 1;
        const auto start_others = [&] {
            for (; started < slices; ++started) others.emplace_back([&slice, ith = started] { slice(ith); });
        };
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
        try {
            start_others();
        } catch (const std::exception&) {  // no more threads to be had, or no memory for one: this one takes the rest
        }
#else
        start_others();
#endif
        slice(0);
        for (index_t ith = started; ith < slices; ++ith) slice(ith);
    }
};
static_assert(executor<threads>);

}  // namespace cordage
