// SPDX-License-Identifier: MIT
// angles/table/<backend>/<positions>/tokens:N/pairs:64: a table of cos and sin from exact angles, beside a plain fill
// of the same memory, timed turn by turn: of_fill is the fill's time over its own. `error` is the worst of all entries
// against the angles in double.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "../bounds.hpp"
#include "../variants.hpp"
#include "cordage/kernels.hpp"

namespace {

using namespace cordage;

template <class P>
double worst_error(const exact_angles<P>& angles, const std::vector<float>& cos, const std::vector<float>& sin) {
    double worst = 0.0;
    for (index_t i = 0; i < angles.tokens() * angles.pairs(); ++i) {
        const auto expected = cos_sin_at<double>(angles, 0, i / angles.pairs(), i % angles.pairs());
        const auto at = static_cast<std::size_t>(i);
        worst = std::max({worst, std::fabs(static_cast<double>(cos[at]) - expected.cos),
                          std::fabs(static_cast<double>(sin[at]) - expected.sin)});
    }
    return worst;
}

template <class P, class Backend>
void table(benchmark::State& state, index_t tokens) {
    const basis b = make_basis(benchmarks::usual_config(), ntk_aware{}, 4.0);
    std::vector<P> position_ids(static_cast<std::size_t>(tokens));
    std::iota(position_ids.begin(), position_ids.end(), P(1'000'000));
    const exact_angles angles(b, position_ids);
    const auto count = static_cast<std::size_t>(tokens * b.pairs());
    std::vector<float> cos(count), sin(count);
    const std::size_t repeats = std::max<std::size_t>(4, (std::size_t{1} << 17) / count);
    benchmarks::rounds times;
    while (times.want_more()) {
        times.add("fill", benchmarks::seconds_of(repeats, [&] {
                      std::fill(cos.begin(), cos.end(), 1.0f);
                      std::fill(sin.begin(), sin.end(), 0.5f);
                  }));
        times.add("table", benchmarks::seconds_of(repeats, [&] {
                      backend::fill_range(Backend{}, angles, cos.data(), sin.data(), 0, tokens);
                  }));
    }
    for (auto _ : state) state.SetIterationTime(times.median("table"));
    state.counters["ns_per_pair"] = 1e9 * times.median("table") / static_cast<double>(count);
    state.counters["of_fill"] = times.ratio("fill", "table");
    state.counters["spread"] = times.spread("fill", "table");
    state.counters["error"] = worst_error(angles, cos, sin);
}

template <class P, class Backend>
void add(const std::string& name) {
    for (const index_t tokens : {32, 32768}) {
        const std::string full = "angles/table/" + name + "/tokens:" + std::to_string(tokens) + "/pairs:64";
        benchmark::RegisterBenchmark(full.c_str(), table<P, Backend>, tokens)->Apply(benchmarks::as_medians);
    }
}

const int registered = [] {
    add<std::int32_t, backend::fastest>("simd/int32");
    add<std::int64_t, backend::fastest>("simd/int64");
    add<double, backend::fastest>("simd/double");
    add<std::int32_t, backend::scalar>("scalar/int32");
    return 0;
}();

}  // namespace
