// SPDX-License-Identifier: MIT
// libmemory_limits.so: memory bounds over the same q and k, for the comparison. Copying bounds rotations into another
// tensor; reading, changing and writing back (rmw: signs) bounds those in place, as a loop of one vector, and of 8 with
// prefetch. All on one thread.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>
#include <xsimd/xsimd.hpp>

#include "../passes.hpp"
#include "entry.hpp"

namespace {

using namespace cordage;

// Memory for a copy, offset by half a page from its source: at equal page offsets loads wait for unrelated stores.
class room {
 public:
    explicit room(std::size_t bytes) : bytes_(bytes + page) {}
    void copy_from(const void* source, std::size_t bytes) {
        const auto offset = reinterpret_cast<std::uintptr_t>(source) - reinterpret_cast<std::uintptr_t>(bytes_.data());
        std::memcpy(bytes_.data() + (offset + page / 2) % page, source, bytes);
        asm volatile("" ::"r"(bytes_.data()) : "memory");  // keeps the copy, which is not read
    }

 private:
    static constexpr std::size_t page = 4096;
    std::vector<char, xsimd::aligned_allocator<char, 64>> bytes_;
};

template <class T>
class copy : public peers::tensors<T> {
 public:
    explicit copy(const rope_case& c)
        : peers::tensors<T>(c), to_q_(this->q_.size() * sizeof(T)), to_k_(this->k_.size() * sizeof(T)) {}
    void operator()() {
        to_q_.copy_from(this->q_.data(), this->q_.size() * sizeof(T));
        to_k_.copy_from(this->k_.data(), this->k_.size() * sizeof(T));
    }

 private:
    room to_q_, to_k_;
};

template <class T, std::size_t Unroll, std::size_t Ahead>
class in_place_pass : public peers::tensors<T> {
 public:
    using peers::tensors<T>::tensors;
    void operator()() {
        flip_signs(this->q_);
        flip_signs(this->k_);
    }

 private:
    static void flip_signs(auto& tensor) {
        auto* const bytes = reinterpret_cast<std::byte*>(tensor.data());
        benchmarks::pass<benchmarks::traffic::in_place, Unroll, Ahead>(bytes, nullptr, tensor.size() * sizeof(T));
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
    peers::entry<naive>("limit_rmw_inplace", rope_memory_limit),
    peers::entry<unrolled>("limit_rmw_inplace_unrolled", rope_memory_limit),
    peers::entry<unrolled_2_kb_ahead>("limit_rmw_inplace_unrolled_2k", rope_memory_limit),
    peers::entry<unrolled_4_kb_ahead>("limit_rmw_inplace_unrolled_4k", rope_memory_limit),
};

}  // namespace

extern "C" std::int32_t rope_peers(const rope_peer** first) {
    *first = entries.data();
    return static_cast<std::int32_t>(entries.size());
}
