// SPDX-License-Identifier: MIT
// Three trivial benchmarks with different counters, like those of cordage_bench.
#include <benchmark/benchmark.h>

namespace {

void count(benchmark::State& state, const char* name, double value) {
    for (auto _ : state) state.SetIterationTime(1e-6);
    state.counters["common"] = 1.0;
    state.counters[name] = value;
}

const int registered = [] {
    const auto add = [](const char* name, const char* counter, double value) {
        benchmark::RegisterBenchmark(name, count, counter, value)->UseManualTime()->Iterations(1);
    };
    add("first", "bytes/s", 2.5);
    add("second", "evaluations", 7.0);
    add("third", "bytes/s", 4.5);
    return 0;
}();

}  // namespace
