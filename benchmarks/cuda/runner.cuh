// SPDX-License-Identifier: MIT
// Times calls beside a copy of as many bytes, or beside an empty kernel, and collects the results.
#pragma once

#include <algorithm>
#include <cstdio>

#include "../rounds.hpp"
#include "description.cuh"
#include "results.hpp"
#include "timed_calls.cuh"

namespace cordage::benchmarks {

static __global__ void empty() {}

class runner {
 public:
    /// @param arena   memory through which calls cycle, so that their data is not in the caches
    /// @param filter  measures only names that contain this
    /// @param output  the file that every measurement is written to at once; empty: none
    /// @param seconds that a measurement takes at least
    runner(std::size_t arena, std::string filter, std::string output, double seconds)
        : arena_(arena), filter_(std::move(filter)), output_(std::move(output)), seconds_(seconds) {
        check("cudaStreamCreate", cudaStreamCreate(&stream_));
    }
    runner(const runner&) = delete;
    ~runner() { cudaStreamDestroy(stream_); }

    results& found() { return found_; }
    cudaStream_t stream() const { return stream_; }
    const device_array<std::byte>& arena() const { return arena_; }
    bool wants(const std::string& name) const { return name.find(filter_) != std::string::npos; }

    /// Number of sets of `bytes` each that fit into the arena, up to most_calls.
    int sets_of(std::size_t bytes) const {
        return static_cast<int>(std::min<std::size_t>(arena_.size() / bytes, most_calls));
    }

    /// Times call(memory of a set, its number), cycling through the sets, beside cudaMemcpyAsync within the device that
    /// reads and writes `moved` bytes, as nodes of a graph or from the host, whichever is faster.
    ///
    ///   seconds        of a call, the median over rounds        bytes_per_second   moved / seconds
    ///   copy_seconds   of a copy                                share_of_copy      median over rounds of copy / call
    ///   spread         of that share: range of half of the rounds
    template <class Call>
    void beside_copy(const std::string& name, std::size_t set_bytes, std::size_t moved, const Call& call) {
        const std::size_t half = moved / 2;
        const int sets = sets_of(set_bytes), copy_sets = sets_of(2 * half);
        if (sets < 2 || copy_sets < 2) throw value_error(message(name, ": arena must hold two sets of ", set_bytes));
        const graph_of_calls calls(stream_, std::max(sets, least_calls), [&](int i) {
            const int set = i % sets;
            call(arena_.data() + static_cast<std::size_t>(set) * set_bytes, set);
        });
        const auto copy = [&](int i) {
            std::byte* const from = arena_.data() + static_cast<std::size_t>(i % copy_sets) * 2 * half;
            check("cudaMemcpyAsync", cudaMemcpyAsync(from + half, from, half, cudaMemcpyDeviceToDevice, stream_));
        };
        const graph_of_calls copies(stream_, std::max(copy_sets, least_calls), copy);
        const stream_of_calls plain_copies(stream_, std::max(copy_sets, least_calls), copy);
        rounds times(seconds_);
        while (times.want_more()) {
            times.add("copy in a graph", copies.seconds_of_a_call());
            times.add("call", calls.seconds_of_a_call());
            times.add("copy", plain_copies.seconds_of_a_call());
        }
        const std::string best = times.median("copy") < times.median("copy in a graph") ? "copy" : "copy in a graph";
        const double seconds = times.median("call"), share = times.ratio(best, "call");
        std::fprintf(stderr, "%-84s %9.2f us %6.1f GB/s  %.3f of copy\n", name.c_str(), 1e6 * seconds,
                     1e-9 * static_cast<double>(moved) / seconds, share);
        add(name, {{"seconds", seconds},
                   {"bytes", static_cast<double>(moved)},
                   {"bytes_per_second", static_cast<double>(moved) / seconds},
                   {"copy_seconds", times.median(best)},
                   {"share_of_copy", share},
                   {"spread", times.spread(best, "call")}});
    }

    /// Times a chain of calls on the same memory beside a chain of as many empty kernels.
    ///
    ///   seconds   of a call, its node's share of the graph      empty_seconds   of an empty kernel's node
    template <class Call>
    void beside_empty_node(const std::string& name, const Call& call) {
        const graph_of_calls calls(stream_, chain, [&](int) { call(arena_.data()); });
        const graph_of_calls empties(stream_, chain, [&](int) {
            empty<<<1, 32, 0, stream_>>>();
            check("empty", cudaGetLastError());
        });
        rounds times(seconds_);
        while (times.want_more()) {
            times.add("empty", empties.seconds_of_a_call());
            times.add("call", calls.seconds_of_a_call());
        }
        const double seconds = times.median("call"), of_empty = times.median("empty");
        std::fprintf(stderr, "%-84s %9.3f us, empty node %.3f us\n", name.c_str(), 1e6 * seconds, 1e6 * of_empty);
        add(name, {{"seconds", seconds},
                   {"empty_seconds", of_empty},
                   {"over_empty_seconds", seconds - of_empty},
                   {"spread", times.spread("empty", "call")}});
    }

 private:
    static constexpr int least_calls = 8, most_calls = 256, chain = 100;

    void add(const std::string& name, const results::numbers& figures) {
        found_.add(name, figures);
        if (!output_.empty()) write(found_, output_);  // what is measured stays if a later call fails or time runs out
    }

    device_array<std::byte> arena_;
    std::string filter_, output_;
    double seconds_;
    cudaStream_t stream_ = nullptr;
    results found_;
};

}  // namespace cordage::benchmarks
