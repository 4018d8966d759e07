// SPDX-License-Identifier: MIT
// angles/table/<backend>/<fp32 | fp64>/<source>/tokens:N/pairs:64: a table of cos and sin from exact angles, beside a
// plain fill of the same memory, timed alternately: of_fill is the fill's time over its own. `error` is the largest
// error of all entries against the angles in double. Sources: integer positions, fractional ones, three axes (M-RoPE)
// of both, and a user's own struct of both.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../bounds.hpp"
#include "../variants.hpp"
#include "cordage/kernels.hpp"

namespace {

using namespace cordage;

template <class Source, class Real>
double worst_error(const Source& angles, const std::vector<Real>& cos, const std::vector<Real>& sin) {
    double worst = 0.0;
    for (index_t i = 0; i < angles.tokens() * angles.pairs(); ++i) {
        const auto expected = cos_sin_at<double>(angles, 0, i / angles.pairs(), i % angles.pairs());
        const auto at = static_cast<std::size_t>(i);
        worst = std::max({worst, std::fabs(static_cast<double>(cos[at]) - expected.cos),
                          std::fabs(static_cast<double>(sin[at]) - expected.sin)});
    }
    return worst;
}

template <class Backend, class Real, class Source>
void table(benchmark::State& state, const Source& angles) {
    const index_t tokens = angles.tokens();
    const auto count = static_cast<std::size_t>(tokens * angles.pairs());
    std::vector<Real> cos(count), sin(count);
    const std::size_t repeats = std::max<std::size_t>(4, (std::size_t{1} << 17) / count);
    benchmarks::rounds times;
    while (times.want_more()) {
        times.add("fill", benchmarks::seconds_of(repeats, [&] {
                      std::fill(cos.begin(), cos.end(), Real(1.0));
                      std::fill(sin.begin(), sin.end(), Real(0.5));
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

const basis& the_basis() {
    static const basis b = make_basis(benchmarks::usual_config(), ntk_aware{}, 4.0);
    return b;
}

/// [axes, tokens] positions from a million on, `step` apart.
template <class P>
std::vector<P> positions(index_t count, double step) {
    std::vector<P> ids;
    for (index_t i = 0; i < count; ++i) ids.push_back(static_cast<P>(1e6 + step * static_cast<double>(i)));
    return ids;
}

/// A source as a user writes it.
template <class P>
struct own_angles {
    const basis& b;
    std::span<const P> ids;

    index_t batch() const { return 1; }
    index_t tokens() const { return std::ssize(ids); }
    index_t pairs() const { return b.pairs(); }
    double attention_factor(index_t, index_t) const { return b.attention_factor(); }
    std::uint64_t phase(index_t, index_t token, index_t pair) const { return b.phase(pair, at(token)); }
    P at(index_t token) const { return ids[static_cast<std::size_t>(token)] + P(3); }
};

template <class Backend, class Real, class P>
void exact_of(benchmark::State& state, index_t tokens, double step) {
    const auto ids = positions<P>(tokens, step);
    table<Backend, Real>(state, exact_angles(the_basis(), ids));
}
template <class Backend, class Real, class P>
void axes_of(benchmark::State& state, index_t tokens, double step) {
    const auto ids = positions<P>(3 * tokens, step);
    const auto axis_of_pair = interleaved_axes({24, 20, 20});
    table<Backend, Real>(state, axis_angles(the_basis(), axis_of_pair, axis_major(ids.data(), 3, 1, tokens)));
}
template <class Backend, class Real, class P>
void own_of(benchmark::State& state, index_t tokens, double step) {
    const auto ids = positions<P>(tokens, step);
    table<Backend, Real>(state, own_angles<P>{the_basis(), ids});
}

template <class Backend, class Real>
void add(const std::string& name) {
    const auto add_source = [&](const char* source, auto run, double step) {
        for (const index_t tokens : {32, 32768}) {
            const std::string full = "angles/table/" + name + "/" + source + "/tokens:" + std::to_string(tokens);
            benchmark::RegisterBenchmark((full + "/pairs:64").c_str(), run, tokens, step)
                ->Apply(benchmarks::as_medians);
        }
    };
    add_source("int32", exact_of<Backend, Real, std::int32_t>, 1.0);
    add_source("int64", exact_of<Backend, Real, std::int64_t>, 1.0);
    add_source("fractional", exact_of<Backend, Real, double>, 0.37);
    add_source("axes_int32", axes_of<Backend, Real, std::int32_t>, 1.0);
    add_source("axes_fractional", axes_of<Backend, Real, double>, 0.37);
    add_source("own_int32", own_of<Backend, Real, std::int32_t>, 1.0);
    add_source("own_fractional", own_of<Backend, Real, double>, 0.37);
}

const int registered = [] {
    add<backend::fastest, float>("simd/fp32");
    add<backend::fastest, double>("simd/fp64");
    add<backend::scalar, float>("scalar/fp32");
    return 0;
}();

}  // namespace
