// SPDX-License-Identifier: MIT
// The lanes of a head that one thread reads, rotates and writes: runs of neighbouring elements; serves the CUDA
// kernels.
#pragma once

#include <concepts>
#include <cstring>

#include "cordage/backend/cuda/elements.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/pair/rotate.hpp"

namespace cordage::backend {

/// What one instruction moves.
template <int Bytes>
using piece_of =
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::conditional_t<Bytes == 8, uint2, uint4>>>;

/// N neighbouring elements as they lie in memory, aligned to their size or to 16 bytes.
template <class T, int N>
struct run_of {
    static constexpr int bytes = N * static_cast<int>(sizeof(T));
    using piece = piece_of<(bytes < 16 ? bytes : 16)>;
    static constexpr int pieces = bytes / static_cast<int>(sizeof(piece));
    static_assert(pieces * sizeof(piece) == bytes);
    piece part[pieces];

    __device__ static run_of load(const T* from) {
        run_of r;
#pragma unroll
        for (int i = 0; i < pieces; ++i) r.part[i] = reinterpret_cast<const piece*>(from)[i];
        return r;
    }
    __device__ void store(T* to) const {
#pragma unroll
        for (int i = 0; i < pieces; ++i) reinterpret_cast<piece*>(to)[i] = part[i];
    }
    /// The elements as floats.
    __device__ void unpack(float* x) const
        requires piece_element<T>
    {
        if constexpr (std::same_as<T, bfloat16> && N % 2 == 0) {  // one instruction an element
            std::uint32_t words[N / 2];
            std::memcpy(words, part, bytes);
#pragma unroll
            for (int i = 0; i < N / 2; ++i) {
                x[2 * i] = lane_traits<float>::from_bits(words[i] << 16);
                x[2 * i + 1] = lane_traits<float>::from_bits(words[i] & 0xffff'0000u);
            }
        } else {
            T elements[N];
            std::memcpy(elements, part, bytes);
#pragma unroll
            for (int i = 0; i < N; ++i) x[i] = element_traits<T>::load(elements[i]);
        }
    }
    /// Floats as elements, to nearest, ties to even.
    __device__ static run_of packed(const float* x)
        requires piece_element<T>
    {
        run_of r;
        if constexpr (std::same_as<T, float>) {
            std::memcpy(r.part, x, bytes);
        } else {
            static_assert(N % 2 == 0);
            std::uint32_t words[N / 2];
#pragma unroll
            for (int i = 0; i < N / 2; ++i) words[i] = two_packed(x[2 * i], x[2 * i + 1]);
            std::memcpy(r.part, words, bytes);
        }
        return r;
    }

 private:
    __device__ static std::uint32_t two_packed(float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        std::uint32_t both;
        if constexpr (std::same_as<T, float16>) {
            asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
        } else {
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
        }
        return both;
#else
        return element_traits<T>::store(first).bits | std::uint32_t{element_traits<T>::store(second).bits} << 16;
#endif
    }
};

/// The factors of a norm for N lanes from `lane` on: its weights and what is added to them.
template <int N, class Norm>
__device__ void load_factors(const Norm& norm, std::int32_t lane, float* to) {
    const float added = norm.weight == nullptr ? 1.0f : norm.template weight_offset<float>();
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = 0.0f;
    if (norm.weight != nullptr) run_of<typename Norm::element, N>::load(norm.weight + lane).unpack(to);
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] += added;
}

/// The same pointer to global memory, from which the compiler computes others, instead of adding all offsets anew.
template <class T>
__device__ T* in_register(T* p) {
    std::size_t address = __cvta_generic_to_global(p);
    asm("" : "+l"(address));
    return static_cast<T*>(__cvta_global_to_generic(address));
}

/// Two numbers for each of N pairs: their elements, or their cos and sin.
template <int N>
struct pair_values {
    float first[N];
    float second[N];

    __device__ cos_sin<float> angle(int i) const { return {first[i], second[i]}; }
    __device__ lane_pair<float> pair(int i) const { return {first[i], second[i]}; }
    __device__ void set(int i, const lane_pair<float>& to) { first[i] = to.first, second[i] = to.second; }
    /// Calls f(x) for every lane, a reference.
    template <class F>
    __device__ void for_each(const F& f) {
#pragma unroll
        for (int i = 0; i < N; ++i) f(first[i]), f(second[i]);
    }
};

/// y = R x of N pairs, given m cos and m sin.
template <int N>
__device__ pair_values<N> rotated(const pair_values<N>& at, const pair_values<N>& x) {
    pair_values<N> y;
#pragma unroll
    for (int i = 0; i < N; ++i) y.set(i, cordage::rotated(at.angle(i), x.pair(i)));
    return y;
}

/// N neighbouring pairs, pairs [unit * N, unit * N + N) of a head, as runs of neighbouring lanes:
///
///   half_split   [r r r r . . . . s s s s . . . .]   two runs of N lanes
///   interleaved  [r r r r r r r r . . . . . . . .]   one run of 2 N lanes
template <pairing Pairing, int N>
struct runs_of_pairs {
    static constexpr bool is_half_split = std::same_as<Pairing, half_split>;
    static constexpr int count = is_half_split ? 2 : 1;
    static constexpr int length = is_half_split ? N : 2 * N;  // lanes of a run

    /// Lane of the head's rotated ones at which a run begins.
    __device__ static std::int32_t lane(int run, std::int32_t unit, std::int32_t pairs) {
        return run * pairs + unit * length;
    }
    /// Pairs of lanes that load(run, to) writes, a run of them.
    template <class Load>
    __device__ static pair_values<N> pairs_of(const Load& load) {
        float lanes[2 * N];
#pragma unroll
        for (int r = 0; r < count; ++r) load(r, lanes + r * length);
        return pairs(lanes);
    }
    /// The lanes in the order of the runs, from and to pairs.
    __device__ static pair_values<N> pairs(const float (&lanes)[2 * N]) {
        pair_values<N> v;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            v.first[i] = lanes[is_half_split ? i : 2 * i];
            v.second[i] = lanes[is_half_split ? N + i : 2 * i + 1];
        }
        return v;
    }
    __device__ static void lanes(const pair_values<N>& v, float (&to)[2 * N]) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            to[is_half_split ? i : 2 * i] = v.first[i];
            to[is_half_split ? N + i : 2 * i + 1] = v.second[i];
        }
    }
};

/// The lanes of a head that a thread of a team holds: N rotated pairs, or 2 N other lanes.
template <pairing Pairing, int N>
struct held_lanes {
    using runs = runs_of_pairs<Pairing, N>;
    bool is_active;         // has lanes
    bool is_of_pairs;       // and they are among [first_lane, first_lane + 2 pairs)
    int lane[runs::count];  // at which its runs begin

    /// @param others  lanes of the head outside of the pairs, as far as they are held
    __device__ held_lanes(std::int32_t member, std::int32_t first_lane, std::int32_t pairs, std::int32_t others)
        : is_active(2 * member * N < 2 * pairs + others), is_of_pairs(member * N < pairs) {
#pragma unroll
        for (int r = 0; r < runs::count; ++r) {
            const std::int32_t other = 2 * (member * N - pairs) + r * runs::length;
            lane[r] = is_of_pairs          ? first_lane + runs::lane(r, member, pairs)
                      : !is_active         ? 0
                      : other < first_lane ? other
                                           : other + 2 * pairs;
        }
    }
    /// The same, counted from the thread's first lane.
    __device__ void from_first(int (&to)[runs::count]) const {
#pragma unroll
        for (int r = 0; r < runs::count; ++r) to[r] = lane[r] - lane[0];
    }
};

/// N pairs of elements T as they lie in memory.
template <class T, pairing Pairing, int N>
struct stored_pairs {
    using runs = runs_of_pairs<Pairing, N>;
    run_of<T, runs::length> run[runs::count];

    __device__ static stored_pairs load(const T* x, const int (&lane)[runs::count]) {
        stored_pairs s;
#pragma unroll
        for (int r = 0; r < runs::count; ++r) s.run[r] = run_of<T, runs::length>::load(x + lane[r]);
        return s;
    }
    __device__ void store(T* y, const int (&lane)[runs::count]) const {
#pragma unroll
        for (int r = 0; r < runs::count; ++r) run[r].store(y + lane[r]);
    }
    __device__ pair_values<N> values() const {
        return runs::pairs_of([&](int r, float* to) { run[r].unpack(to); });
    }
    __device__ static stored_pairs packed(const pair_values<N>& v) {
        stored_pairs s;
        float lanes[2 * N];
        runs::lanes(v, lanes);
#pragma unroll
        for (int r = 0; r < runs::count; ++r) s.run[r] = run_of<T, runs::length>::packed(lanes + r * runs::length);
        return s;
    }
};

}  // namespace cordage::backend
