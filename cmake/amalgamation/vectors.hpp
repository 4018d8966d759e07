// SPDX-License-Identifier: MIT
// Vectors by the compiler's own vector types (GCC, clang), which stand for xsimd's in the one file: what backend/simd
// asks of xsimd, with the same results, and no more. Within cordage the name xsimd means these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cordage/core/macros.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if !defined(XSIMD_VERSION_MAJOR)
#define XSIMD_VERSION_MAJOR 8
#if defined(__AVX__)
#define XSIMD_WITH_AVX 1
#endif
#if defined(__AVX2__)
#define XSIMD_WITH_AVX2 1
#endif
#if defined(__AVX512F__)
#define XSIMD_WITH_AVX512F 1
#endif
#if defined(__FMA__)
#define XSIMD_WITH_FMA3_SSE 1
#endif
#if defined(__FMA__) && defined(__AVX2__)
#define XSIMD_WITH_FMA3_AVX2 1
#endif
#if defined(__aarch64__)
#define XSIMD_WITH_NEON64 1
#endif
#endif

namespace cordage::xsimd {

// Instruction sets, each built on those that it contains; `bytes` of a vector.
struct any_vectors {
    static constexpr std::size_t bytes = 16;
};
struct neon64 : any_vectors {};
struct sse2 : any_vectors {};
struct sse4_1 : sse2 {};
struct sse4_2 : sse4_1 {};
struct avx {
    static constexpr std::size_t bytes = 32;
};
struct avx2 : avx {};
struct avx512f {
    static constexpr std::size_t bytes = 64;
};
struct avx512bw : avx512f {};
template <class Arch>  // with fused multiply-add
struct fma3 : Arch {};

#if defined(__AVX512BW__)
using default_arch = avx512bw;
#elif defined(__AVX512F__)
using default_arch = avx512f;
#elif defined(__AVX2__) && defined(__FMA__)
using default_arch = fma3<avx2>;
#elif defined(__AVX2__)
using default_arch = avx2;
#elif defined(__AVX__) && defined(__FMA__)
using default_arch = fma3<avx>;
#elif defined(__AVX__)
using default_arch = avx;
#elif defined(__SSE4_2__)
using default_arch = sse4_2;
#elif defined(__SSE4_1__)
using default_arch = sse4_1;
#elif defined(__SSE2__)
using default_arch = sse2;
#elif defined(__aarch64__)
using default_arch = neon64;
#else
using default_arch = any_vectors;
#endif

template <class T>
using as_unsigned_integer_t = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T, std::size_t Bytes>
struct vector_of {
    typedef T type __attribute__((vector_size(Bytes)));
#if defined(__x86_64__)  // whose intrinsics take all integers as these
    typedef std::conditional_t<std::is_integral_v<T>, long long, T> register_type
        __attribute__((vector_size(Bytes), may_alias));
#else
    typedef type register_type;
#endif
};

/// A vector of lanes of T, float, double or an integer of 32 or 64 bits.
template <class T, class Arch>
struct batch {
    using value_type = T;
    using arch_type = Arch;
    using lanes_type = typename vector_of<T, Arch::bytes>::type;
    using register_type = typename vector_of<T, Arch::bytes>::register_type;
    static constexpr std::size_t size = Arch::bytes / sizeof(T);

    register_type data;

    batch() = default;
    CORDAGE_ALWAYS_INLINE batch(T x) noexcept : data((register_type)(x - lanes_type{})) {}
    CORDAGE_ALWAYS_INLINE batch(const register_type& lanes) noexcept : data(lanes) {}
    CORDAGE_ALWAYS_INLINE operator register_type() const noexcept { return data; }
    CORDAGE_ALWAYS_INLINE lanes_type lanes() const noexcept { return (lanes_type)data; }
    static CORDAGE_ALWAYS_INLINE batch of(const lanes_type& lanes) noexcept { return (register_type)lanes; }

    static CORDAGE_ALWAYS_INLINE batch load_unaligned(const T* x) noexcept {
        batch v;
        __builtin_memcpy(&v.data, x, Arch::bytes);
        return v;
    }
    static CORDAGE_ALWAYS_INLINE batch load_aligned(const T* x) noexcept { return load_unaligned(x); }
    CORDAGE_ALWAYS_INLINE void store_unaligned(T* x) const noexcept { __builtin_memcpy(x, &data, Arch::bytes); }
    CORDAGE_ALWAYS_INLINE void store_aligned(T* x) const noexcept { store_unaligned(x); }
    CORDAGE_ALWAYS_INLINE T get(std::size_t lane) const noexcept { return lanes()[lane]; }

    CORDAGE_ALWAYS_INLINE batch operator-() const noexcept { return of(-lanes()); }
    friend CORDAGE_ALWAYS_INLINE batch operator+(const batch& a, const batch& b) noexcept {
        return of(a.lanes() + b.lanes());
    }
    friend CORDAGE_ALWAYS_INLINE batch operator-(const batch& a, const batch& b) noexcept {
        return of(a.lanes() - b.lanes());
    }
    friend CORDAGE_ALWAYS_INLINE batch operator*(const batch& a, const batch& b) noexcept {
        return of(a.lanes() * b.lanes());
    }
    friend CORDAGE_ALWAYS_INLINE batch operator/(const batch& a, const batch& b) noexcept {
        return of(a.lanes() / b.lanes());
    }
    friend CORDAGE_ALWAYS_INLINE batch operator&(const batch& a, const batch& b) noexcept {
        return of(a.lanes() & b.lanes());
    }
    friend CORDAGE_ALWAYS_INLINE batch operator|(const batch& a, const batch& b) noexcept {
        return of(a.lanes() | b.lanes());
    }
    friend CORDAGE_ALWAYS_INLINE batch operator^(const batch& a, const batch& b) noexcept {
        return of(a.lanes() ^ b.lanes());
    }
    CORDAGE_ALWAYS_INLINE batch operator~() const noexcept { return of(~lanes()); }
    CORDAGE_ALWAYS_INLINE batch operator<<(int n) const noexcept { return of(lanes() << static_cast<T>(n)); }
    CORDAGE_ALWAYS_INLINE batch operator>>(int n) const noexcept { return of(lanes() >> static_cast<T>(n)); }
    CORDAGE_ALWAYS_INLINE batch& operator+=(const batch& b) noexcept { return *this = *this + b; }
    CORDAGE_ALWAYS_INLINE batch& operator*=(const batch& b) noexcept { return *this = *this * b; }
};

/// The second one where one is a NaN, as the processor has it.
template <class T, class Arch>
CORDAGE_ALWAYS_INLINE batch<T, Arch> min(const batch<T, Arch>& a, const batch<T, Arch>& b) noexcept {
    return batch<T, Arch>::of(a.lanes() < b.lanes() ? a.lanes() : b.lanes());
}
template <class T, class Arch>
CORDAGE_ALWAYS_INLINE batch<T, Arch> max(const batch<T, Arch>& a, const batch<T, Arch>& b) noexcept {
    return batch<T, Arch>::of(a.lanes() > b.lanes() ? a.lanes() : b.lanes());
}

/// a b + c, rounded once where Arch has it.
template <class T, class Arch>
CORDAGE_ALWAYS_INLINE batch<T, Arch> fma(const batch<T, Arch>& a, const batch<T, Arch>& b,
                                         const batch<T, Arch>& c) noexcept {
    [[maybe_unused]] constexpr bool is_float = std::is_same_v<T, float>;
#if defined(__FMA__)
    if constexpr (std::is_base_of_v<fma3<avx2>, Arch> || std::is_base_of_v<fma3<avx>, Arch>) {
        if constexpr (is_float)
            return _mm256_fmadd_ps(a, b, c);
        else
            return _mm256_fmadd_pd(a, b, c);
    } else if constexpr (std::is_base_of_v<fma3<sse4_2>, Arch>) {
        if constexpr (is_float)
            return _mm_fmadd_ps(a, b, c);
        else
            return _mm_fmadd_pd(a, b, c);
    } else
#elif defined(__aarch64__)
    if constexpr (is_float)
        return vfmaq_f32(c, a, b);
    else if constexpr (std::is_same_v<T, double>)
        return vfmaq_f64(c, a, b);
    else
#endif
        return a * b + c;
}

template <class T, class Arch>
CORDAGE_ALWAYS_INLINE batch<T, Arch> sqrt(const batch<T, Arch>& x) noexcept {
    [[maybe_unused]] constexpr bool is_float = std::is_same_v<T, float>;
#if defined(__AVX512F__)
    if constexpr (Arch::bytes == 64) {
        if constexpr (is_float)
            return _mm512_sqrt_ps(x);
        else
            return _mm512_sqrt_pd(x);
    } else
#endif
#if defined(__AVX__)
        if constexpr (Arch::bytes == 32) {
        if constexpr (is_float)
            return _mm256_sqrt_ps(x);
        else
            return _mm256_sqrt_pd(x);
    } else
#endif
    {
#if defined(__SSE2__)
        if constexpr (is_float)
            return _mm_sqrt_ps(x);
        else
            return _mm_sqrt_pd(x);
#else
        auto lanes = x.lanes();
        for (std::size_t i = 0; i < x.size; ++i) lanes[i] = static_cast<T>(__builtin_sqrt(lanes[i]));
        return batch<T, Arch>::of(lanes);
#endif
    }
}

template <class Arch>
CORDAGE_ALWAYS_INLINE batch<float, Arch> to_float(const batch<std::int32_t, Arch>& x) noexcept {
    return batch<float, Arch>::of(__builtin_convertvector(x.lanes(), typename batch<float, Arch>::lanes_type));
}
template <class Arch>
CORDAGE_ALWAYS_INLINE batch<std::int32_t, Arch> to_int(const batch<float, Arch>& x) noexcept {
    using result = batch<std::int32_t, Arch>;
    return result::of(__builtin_convertvector(x.lanes(), typename result::lanes_type));
}

/// The lane that each lane takes, Partner::get(lane, lanes).
template <class Word, class Partner>
struct lane_order {};
template <class Words, class Partner>
constexpr auto make_batch_constant() noexcept {
    return lane_order<Words, Partner>{};
}
template <class T, class Arch, class Word, class Partner>
CORDAGE_ALWAYS_INLINE batch<T, Arch> swizzle(const batch<T, Arch>& x, lane_order<batch<Word, Arch>, Partner>) noexcept {
    return [&]<std::size_t... I>(std::index_sequence<I...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
        return batch<T, Arch>::of(__builtin_shufflevector(
            x.lanes(), x.lanes(),
            static_cast<int>(Partner::get(static_cast<Word>(I), static_cast<Word>(sizeof...(I))))...));
    }(std::make_index_sequence<batch<T, Arch>::size>());
}

}  // namespace cordage::xsimd
