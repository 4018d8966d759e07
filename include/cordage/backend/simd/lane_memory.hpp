// SPDX-License-Identifier: MIT
// Loads and stores of xsimd's float vectors, and of their words as bytes; serves the SIMD rotation.
#pragma once

#include <array>
#include <cstring>

#include "cordage/backend/simd/lane.hpp"
#include "cordage/tensors/lane_memory.hpp"

namespace cordage {

template <class Arch>
struct lane_memory<xsimd::batch<float, Arch>> {
    using real = xsimd::batch<float, Arch>;
    using word = xsimd::batch<std::uint32_t, Arch>;
    static constexpr auto size = static_cast<index_t>(real::size);

    static CORDAGE_ALWAYS_INLINE real load(const float* from) noexcept { return real::load_unaligned(from); }
    static CORDAGE_ALWAYS_INLINE void store(const real& x, float* to) noexcept { x.store_unaligned(to); }
    static CORDAGE_ALWAYS_INLINE word load_bytes(const std::uint8_t* from) noexcept {
#if XSIMD_WITH_AVX512F
        if constexpr (backend::simd_detail::is_avx512<Arch>) {
            return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
        } else
#endif
#if XSIMD_WITH_AVX2
            if constexpr (backend::simd_detail::is_avx2<Arch>) {
            return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
        } else
#endif
        {
            alignas(64) std::uint32_t words[real::size];
            for (std::size_t i = 0; i < real::size; ++i) words[i] = from[i];
            return word::load_aligned(words);
        }
    }
    static CORDAGE_ALWAYS_INLINE void store_bytes(const word& w, std::uint8_t* to) noexcept {
#if XSIMD_WITH_AVX512F
        if constexpr (backend::simd_detail::is_avx512<Arch>) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(w));
        } else
#endif
#if XSIMD_WITH_AVX2
            if constexpr (backend::simd_detail::is_avx2<Arch>) {
            const __m256i low =
                _mm256_shuffle_epi8(w, _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0,
                                                        4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
            const __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
            _mm_storel_epi64(reinterpret_cast<__m128i*>(to), both);
        } else
#endif
        {
            alignas(64) std::uint32_t words[real::size];
            w.store_aligned(words);
            for (std::size_t i = 0; i < real::size; ++i) to[i] = static_cast<std::uint8_t>(words[i]);
        }
    }
    static CORDAGE_ALWAYS_INLINE word truncated(const real& x) noexcept {
        return backend::simd_detail::bits_as<word>(xsimd::to_int(x));
    }
    static CORDAGE_ALWAYS_INLINE real max(const real& a, const real& b) noexcept {
#if XSIMD_WITH_NEON64
        return vmaxnmq_f32(a, b);  // the number if one is NaN
#else
        return xsimd::max(a, b);
#endif
    }
    static CORDAGE_ALWAYS_INLINE real min(const real& a, const real& b) noexcept {
#if XSIMD_WITH_NEON64
        return vminnmq_f32(a, b);
#else
        return xsimd::min(a, b);
#endif
    }
    static CORDAGE_ALWAYS_INLINE real magnitude(const real& x) noexcept {
        return lane_traits<real>::from_bits(lane_traits<real>::bits(x) & word(0x7fff'ffffu));
    }
    template <index_t Distance>
    static CORDAGE_ALWAYS_INLINE real swapped(const real& x) noexcept {
        static constexpr auto from = [] {
            std::array<std::uint32_t, real::size> lanes{};
            for (std::uint32_t i = 0; i < real::size; ++i) lanes[i] = i ^ static_cast<std::uint32_t>(Distance);
            return lanes;
        }();
        [[maybe_unused]] const word order = word::load_unaligned(from.data());
#if XSIMD_WITH_AVX512F
        if constexpr (backend::simd_detail::is_avx512<Arch>) {
            return _mm512_permutexvar_ps(order, x);
        } else
#endif
#if XSIMD_WITH_AVX2
            if constexpr (backend::simd_detail::is_avx2<Arch>) {
            return _mm256_permutevar8x32_ps(x, order);
        } else
#endif
        {
            alignas(64) float lanes[real::size], swapped_lanes[real::size];
            x.store_aligned(lanes);
            for (std::size_t i = 0; i < real::size; ++i) swapped_lanes[i] = lanes[from[i]];
            return real::load_aligned(swapped_lanes);
        }
    }
    static CORDAGE_ALWAYS_INLINE float largest(const real& x) noexcept {
#if XSIMD_WITH_AVX512F
        if constexpr (backend::simd_detail::is_avx512<Arch>) {
            return _mm512_reduce_max_ps(x);
        } else
#endif
#if XSIMD_WITH_AVX2
            if constexpr (backend::simd_detail::is_avx2<Arch>) {
            const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
            const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
        } else
#endif
        {
            alignas(64) float lanes[real::size];
            x.store_aligned(lanes);
            float all = lanes[0];
            for (std::size_t i = 1; i < real::size; ++i) all = lane_memory<float>::max(lanes[i], all);
            return all;
        }
    }
};

}  // namespace cordage
