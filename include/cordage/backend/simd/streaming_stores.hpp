// SPDX-License-Identifier: MIT
// Non-temporal stores, for tensors larger than the caches; serves the SIMD rotation.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "cordage/backend/simd/loops.hpp"
#include "cordage/backend/simd/processor.hpp"

namespace cordage::backend {

/// Whether the platform has non-temporal stores.
#if defined(__x86_64__)
inline constexpr bool has_streaming_stores = true;
#else
inline constexpr bool has_streaming_stores = false;
#endif

/// Whether tensors of this total size exceed the last-level cache: more than least_last_cache, and more than the
/// processor reports.
template <class Arch>
CORDAGE_ALWAYS_INLINE bool exceeds_caches(index_t bytes) noexcept {
    return bytes > least_last_cache && bytes > this_processor<Arch>().last_cache;
}

/// Number of heads whose pairs are all rotated before the next heads, if a call exceeds the caches: memory is read in
/// order, and parts of one cache line are not written at different times. On Zen 3 a rotation of fp32 in place takes
/// 0.74 to 0.83 (half_split) and 0.58 to 0.62 (interleaved) of the time of passes over all heads of a token.
inline constexpr index_t heads_together_in_memory = 4;

/// Ends the stores of a slice with a fence, so that later synchronisation publishes them.
CORDAGE_ALWAYS_INLINE void end_streaming_stores() noexcept {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

namespace simd_detail {

/// Copies whole lines of 64 bytes, in vectors of `Width` bytes, the width with which they were just stored: a wider
/// load would stall.
template <index_t Width, index_t Bytes>
CORDAGE_ALWAYS_INLINE void store_lines(const std::byte* from, void* to) noexcept {
    static_assert(Bytes % 64 == 0);
#if defined(__x86_64__)
    unrolled<Bytes / Width>([&](auto i) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const std::byte* const source = from + i * Width;
        std::byte* const target = static_cast<std::byte*>(to) + i * Width;
#if XSIMD_WITH_AVX512F
        if constexpr (Width == 64) {
            _mm512_stream_si512(reinterpret_cast<__m512i*>(target), _mm512_load_si512(source));
        } else
#endif
#if XSIMD_WITH_AVX
            if constexpr (Width == 32) {
            _mm256_stream_si256(reinterpret_cast<__m256i*>(target),
                                _mm256_load_si256(reinterpret_cast<const __m256i*>(source)));
        } else
#endif
        {
            static_assert(Width == 16);
            _mm_stream_si128(reinterpret_cast<__m128i*>(target),
                             _mm_load_si128(reinterpret_cast<const __m128i*>(source)));
        }
    });
#endif
}

/// Count vectors of pairs of a head between registers and cache lines. In half_split these are two pieces of lanes, the
/// second one `pairs` lanes after the first, else one piece.
template <class Layout, std::size_t Count, pairing Pairing, class T>
struct staged_pairs {
    using vector = typename Layout::vector;
    static constexpr index_t count = static_cast<index_t>(Count) * Layout::pairs_each;
    static constexpr bool is_split = std::same_as<Pairing, half_split>;
    static constexpr index_t piece = is_split ? count : 2 * count, bytes = piece * static_cast<index_t>(sizeof(T));
    /// Whether pieces are whole cache lines. Single vectors are not staged, to limit code size.
    static constexpr bool are_lines = has_streaming_stores && Count == Layout::most_in_registers && bytes % 64 == 0 &&
                                      std::has_single_bit(static_cast<std::size_t>(bytes) / Count);

    /// Whether the pieces of every head are aligned to cache lines.
    static CORDAGE_ALWAYS_INLINE bool begin_at_lines(const T* y, index_t head_stride, index_t pairs) noexcept {
        const index_t strides = (head_stride | (is_split ? pairs : 0)) * static_cast<index_t>(sizeof(T));
        return ((reinterpret_cast<std::uintptr_t>(y) | static_cast<std::uintptr_t>(strides)) & 63) == 0;
    }
    CORDAGE_ALWAYS_INLINE void store_streaming(T* y, index_t pairs) const noexcept {
        constexpr index_t width = std::clamp<index_t>(bytes / static_cast<index_t>(Count), 16, sizeof(vector));
        store_lines<width, bytes>(memory, y);
        if constexpr (is_split) store_lines<width, bytes>(memory + bytes, y + pairs);
    }
    CORDAGE_ALWAYS_INLINE T* lanes() noexcept { return reinterpret_cast<T*>(memory); }

    alignas(64) std::byte memory[2 * count * sizeof(T)];
};

}  // namespace simd_detail
}  // namespace cordage::backend
