// SPDX-License-Identifier: MIT
// Replaces malloc in this program by glibc's with a counter.
#include "allocations.hpp"

#include <atomic>
#include <cstddef>

namespace {
std::atomic<long> count = 0;
}

long cordage_test::allocation_count() noexcept { return count.load(std::memory_order_relaxed); }

#if defined(__GLIBC__) && !defined(CORDAGE_TEST_SANITIZED)
extern "C" void* __libc_malloc(std::size_t size);  // NOLINT(bugprone-reserved-identifier): it is glibc's
extern "C" void* malloc(std::size_t size) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    return __libc_malloc(size);
}
#endif
