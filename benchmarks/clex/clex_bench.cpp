// SPDX-License-Identifier: MIT
// clex/<what>/<field>/<solver>/rotary_dim:128: the cost of solving, evaluating and differentiating CLEX's basis.
#include <benchmark/benchmark.h>

#include "../variants.hpp"
#include "cordage/clex/clex.hpp"
#include "cordage/clex/initial_weights.hpp"

namespace {

using namespace cordage;

// Weights of a trained model's magnitude: with W_down = 0 the field would need few steps.
clex_weights some_weights() {
    clex_weights weights = clex_initial_weights(benchmarks::usual_config(), 1, 7);
    for (std::size_t i = 0; i < weights.down.size(); ++i) weights.down[i] = 0.0015 * weights.up[i % weights.up.size()];
    return weights;
}

template <class Policy>
Policy solved(clex_options options) {
    return Policy(benchmarks::usual_config(), some_weights(), options);
}

template <class Policy>
void solve(benchmark::State& state, clex_options options) {
    index_t evaluations = 0;
    for (auto _ : state) {
        const Policy policy = solved<Policy>(options);
        evaluations = policy.path().statistics().evaluations;
        benchmark::DoNotOptimize(policy);
    }
    state.counters["evaluations"] = static_cast<double>(evaluations);
}

template <class Policy>
void solve_with_gradient(benchmark::State& state, clex_options options) {
    const std::vector<double> grad(64, 1.0);
    for (auto _ : state) {
        const Policy policy = solved<Policy>(options);
        const clex_seed seed{options.t_max, grad};
        benchmark::DoNotOptimize(policy.gradient({&seed, 1}));
    }
}

template <class Policy>
void read(benchmark::State& state, clex_options options) {
    const Policy policy = solved<Policy>(options);
    double t = 1.0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(make_basis(benchmarks::usual_config(), policy, t));
        t = t < 15.9 ? t + 0.01 : 1.0;
    }
}

template <class Policy>
void add(const std::string& name, clex_options options) {
    const std::string size = "/" + name + "/rotary_dim:128";
    benchmark::RegisterBenchmark(("clex/solve" + size).c_str(), solve<Policy>, options)->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("clex/solve_with_gradient" + size).c_str(), solve_with_gradient<Policy>, options)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("clex/basis" + size).c_str(), read<Policy>, options)->Unit(benchmark::kMicrosecond);
}

const int registered = [] {
    const clex_options loose{.t_max = 16.0, .tolerance = {1e-6, 1e-6}}, tight{.t_max = 16.0};
    add<clex<>>("paper/tsit5:1e-6", loose);
    add<clex<>>("paper/tsit5:1e-10", tight);
    add<clex<log_length_field<>>>("log_length/tsit5:1e-6", loose);
    add<clex<paper_field<>, rk4_38>>("paper/rk4_38:1500", {.t_max = 16.0, .fixed_steps = 1500});
    return 0;
}();

}  // namespace
