// SPDX-License-Identifier: MIT
// Counts what the test program allocates.
#pragma once

#include <cstddef>

namespace cordage_test {

/// Calls of operator new so far, by any thread.
std::size_t allocation_count() noexcept;

/// How often f() allocates.
template <class F>
std::size_t allocations_of(const F& f) {
    const std::size_t before = allocation_count();
    f();
    return allocation_count() - before;
}

}  // namespace cordage_test
