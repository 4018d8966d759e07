// SPDX-License-Identifier: MIT
// Properties of the processor that kernels depend on; serves the SIMD rotation.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"

namespace cordage::backend {

struct processor {
    index_t last_cache = 0;       ///< bytes of the last-level cache; 0: unknown
    index_t prefetched_from = 0;  ///< bytes of a call from which consecutive heads are prefetched by instructions
};

/// Bytes of the smallest last-level cache of server processors; tensors up to this size are taken to fit into it.
inline constexpr index_t least_last_cache = index_t{1} << 25;

/// The processor that the program runs on. Queried once: in a virtual machine a query takes some 15 us.
///
/// A rotation of consecutive heads takes 0.67 to 0.97 of the time without prefetches on Zen 4, its backward pass 0.64
/// to 0.96. On Zen 3 prefetches cost up to 7 % in the caches; from memory bfloat16 takes 0.79 to 0.83 of the time with
/// them. Other processors prefetch in all calls beyond the L1 cache.
template <class Arch>
CORDAGE_ONE_BODY const processor& this_processor() noexcept {
    static const processor found = [] {
        processor it;
#if defined(__x86_64__)
        unsigned a = 0, b = 0, c = 0, d = 0;
        constexpr unsigned cache_leaves[]{0x8000'001du, 4u};  // AMD, Intel
        for (const unsigned leaf : cache_leaves) {
            if (__get_cpuid_count(leaf, 3, &a, &b, &c, &d) == 0 || (a & 31) == 0) continue;
            it.last_cache = index_t{(b >> 22) + 1} * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * (index_t{c} + 1);
            break;
        }
        if (__get_cpuid(0, &a, &b, &c, &d) != 0) {
            const unsigned vendor[]{b, d, c};
            if (std::memcmp(vendor, "AuthenticAMD", sizeof vendor) == 0) {
                const bool has_avx512 = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 16 & 1) != 0;
                it.prefetched_from =
                    has_avx512 ? std::numeric_limits<index_t>::max() : std::max(it.last_cache, least_last_cache) / 2;
            }
        }
#endif
        return it;
    }();
    return found;
}

}  // namespace cordage::backend
