// SPDX-License-Identifier: MIT
// libmemory_limits.so: what memory allows over the same q and k, for the comparison. Copying bounds work from one
// tensor into another, x *= -1 work in place: as a loop of one vector, and of 8 with prefetch.
#include <array>
#include <cstring>

#include "entry.hpp"

namespace {

using namespace cordage;

template <class T>
class copy : public peers::tensors<T> {
 public:
    explicit copy(const rope_case& c) : peers::tensors<T>(c), to_(this->q_.size() + this->k_.size()) {}
    void operator()() {
        std::memcpy(to_.data(), this->q_.data(), this->q_.size() * sizeof(T));
        std::memcpy(to_.data() + this->q_.size(), this->k_.data(), this->k_.size() * sizeof(T));
        asm volatile("" ::"r"(to_.data()) : "memory");  // the copy is read by nobody, and must be made all the same
    }

 private:
    std::vector<T, xsimd::aligned_allocator<T, 64>> to_;
};

// Changes the signs of the `bytes` at x, `Unroll` vectors at a time, prefetching `Ahead` bytes.
template <std::size_t Unroll, std::size_t Ahead>
void change_signs(void* x, std::size_t bytes) {
    using vector = xsimd::batch<float>;
    auto* data = static_cast<float*>(x);
    constexpr std::size_t step = Unroll * vector::size, line = 64 / sizeof(float);
    for (std::size_t i = 0; i + step <= bytes / sizeof(float); i += step) {
        for (std::size_t l = 0; Ahead > 0 && l < step; l += line) {
            __builtin_prefetch(data + i + l + Ahead / sizeof(float), 1);
        }
        for (std::size_t u = i; u < i + step; u += vector::size) {
            (vector::load_aligned(data + u) * vector(-1.0f)).store_aligned(data + u);
        }
    }
}

template <class T, std::size_t Unroll, std::size_t Ahead>
class in_place_pass : public peers::tensors<T> {
 public:
    using peers::tensors<T>::tensors;
    void operator()() {
        change_signs<Unroll, Ahead>(this->q_.data(), this->q_.size() * sizeof(T));
        change_signs<Unroll, Ahead>(this->k_.data(), this->k_.size() * sizeof(T));
    }
};

template <class T>
using naive = in_place_pass<T, 1, 0>;
template <class T>
using unrolled = in_place_pass<T, 8, 0>;
template <class T>
using unrolled_2_kb_ahead = in_place_pass<T, 8, 2048>;
template <class T>
using unrolled_4_kb_ahead = in_place_pass<T, 8, 4096>;

constexpr std::array entries{
    peers::entry<copy>("limit_memcpy", rope_memory_limit),
    peers::entry<naive>("limit_inplace", rope_memory_limit),
    peers::entry<unrolled>("limit_inplace_unrolled", rope_memory_limit),
    peers::entry<unrolled_2_kb_ahead>("limit_inplace_unrolled_2k", rope_memory_limit),
    peers::entry<unrolled_4_kb_ahead>("limit_inplace_unrolled_4k", rope_memory_limit),
};

}  // namespace

extern "C" std::int32_t rope_peers(const rope_peer** first) {
    *first = entries.data();
    return static_cast<std::int32_t>(entries.size());
}
