// SPDX-License-Identifier: MIT
// Memory bounds: passes over the same number of bytes as a kernel, timed alternately with it in one process.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "passes.hpp"
#include "rounds.hpp"

namespace cordage::benchmarks {

/// Memory for tensors: pages of one size for all, 64-byte aligned as in frameworks, plus `offset` bytes.
class aligned_bytes {
 public:
    aligned_bytes(std::size_t size, std::size_t offset)
        : memory_(size + offset + alignment), offset_(offset), size_(size) {}

    std::byte* data() {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        return memory_.data() + (alignment - address % alignment) % alignment + offset_;
    }
    std::size_t size() const { return size_; }

 private:
    static constexpr std::size_t alignment = 4096;
    std::vector<std::byte> memory_;
    std::size_t offset_, size_;
};

/// Seconds of one call, the mean of `repeats` after two that warm the caches.
template <class Body>
double seconds_of(std::size_t repeats, const Body& body) {
    for (int i = 0; i < 2; ++i) body();
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < repeats; ++i) {
        body();
        benchmark::ClobberMemory();
    }
    return seconds_since(start) / static_cast<double>(repeats);
}

/// Registers a benchmark whose single iteration is a median.
inline void as_medians(benchmark::internal::Benchmark* b) {
    b->UseManualTime()->Iterations(1)->Unit(benchmark::kMicrosecond);
}

/// The smallest cache that holds this many bytes, "L2", or "memory"; as Google Benchmark reports the machine.
inline std::string where_they_lie(std::size_t bytes) {
    for (const auto& cache : benchmark::CPUInfo::Get().caches) {
        if (cache.type != "Instruction" && bytes <= static_cast<std::size_t>(cache.size)) {
            return std::string(1, 'L').append(std::to_string(cache.level));
        }
    }
    return "memory";
}

/// Runs a kernel and passes over its bytes alternately, and reports its share of each pass's speed:
///
///   of_bound        a loop of one vector (naive)
///   of_tight_bound  the fastest of 8 vectors at a time with 0, 2 and 4 KB of prefetch
///   of_memcpy       if it writes to another tensor
///
/// The label is the cache that holds all of its tensors. Register with `as_medians`. Returns the kernel's seconds.
///
/// @param x, y        the kernel's memory, by `Traffic`; y may be empty for in_place
/// @param pass_bytes  of one pass; the kernel's own bytes of x, or another size to compare with
template <traffic Traffic, class Kernel>
double run_beside_bounds(benchmark::State& state, std::byte* x, std::byte* y, std::size_t bytes, std::size_t pass_bytes,
                         const Kernel& kernel) {
    const std::size_t repeats = std::max<std::size_t>(4, (std::size_t{1} << 20) / bytes);
    rounds times;
    const auto time_pass = [&](const std::string& name, auto body) {
        times.add(name, seconds_of(repeats, [&] { body(x, y, pass_bytes); }));
    };
    while (times.want_more()) {
        times.add("kernel", seconds_of(repeats, kernel));
        time_pass("naive", pass<Traffic, 1, 0>);
        time_pass("ahead 0", pass<Traffic, 8, 0>);
        time_pass("ahead 2", pass<Traffic, 8, 2048>);
        time_pass("ahead 4", pass<Traffic, 8, 4096>);
        if constexpr (Traffic == traffic::out_of_place) {
            time_pass("memcpy", [](std::byte* from, std::byte* to, std::size_t n) { std::memcpy(to, from, n); });
        }
    }
    const double kernel_seconds = times.median("kernel");
    for (auto _ : state) state.SetIterationTime(kernel_seconds);
    const auto tight = std::ranges::min(std::array{"ahead 0", "ahead 2", "ahead 4"}, {},
                                        [&](const char* name) { return times.median(name); });
    state.SetLabel(where_they_lie(Traffic == traffic::in_place ? bytes : 2 * bytes));
    constexpr double streams = Traffic == traffic::two_to_one ? 3.0 : 2.0;
    state.counters["bytes/s"] = streams * static_cast<double>(bytes) / kernel_seconds;
    state.counters["of_bound"] = times.ratio("naive", "kernel");
    state.counters["of_tight_bound"] = times.ratio(tight, "kernel");
    if constexpr (Traffic == traffic::out_of_place) state.counters["of_memcpy"] = times.ratio("memcpy", "kernel");
    state.counters["spread"] = times.spread(tight, "kernel");
    return kernel_seconds;
}

}  // namespace cordage::benchmarks
