// SPDX-License-Identifier: MIT
// Counts heap allocations of the test program. With other C libraries than glibc, and under sanitizers with their own
// malloc, nothing can be counted and tests skip: TEST_CASE("..." * doctest::skip(cannot_count)).
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CORDAGE_TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CORDAGE_TEST_SANITIZED
#endif
#if defined(__has_include)
#if __has_include(<features.h>)
#include <features.h>
#endif
#endif

namespace cordage_test {

#if defined(__GLIBC__) && !defined(CORDAGE_TEST_SANITIZED)
inline constexpr bool cannot_count = false;
#else
inline constexpr bool cannot_count = true;
#endif

/// Calls of malloc so far, by any thread; operator new makes one each.
long allocation_count() noexcept;

/// Number of allocations made by f().
template <class F>
long allocations_of(const F& f) {
    const long before = allocation_count();
    f();
    return allocation_count() - before;
}

/// Keeps a compiler from removing an allocation that is not used: `keep(vector.data())`.
inline void keep(const void* memory) noexcept { asm volatile("" : : "r"(memory) : "memory"); }

}  // namespace cordage_test
