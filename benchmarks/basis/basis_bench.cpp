// SPDX-License-Identifier: MIT
// basis/<policy>/rotary_dim:N: the time to make one basis at a given t.
#include <benchmark/benchmark.h>

#include "../variants.hpp"

namespace {

using namespace cordage;

const int registered = [] {
    for (const auto& variant : benchmarks::closed_forms()) {
        benchmark::RegisterBenchmark(("basis/" + variant.name + "/rotary_dim:128").c_str(),
                                     [policy = variant.policy](benchmark::State& state) {
                                         const rope_config config = benchmarks::usual_config();
                                         double t = 1.0;
                                         for (auto _ : state) {
                                             benchmark::DoNotOptimize(make_basis(config, policy, t));
                                             t = t < 16.0 ? t + 0.01 : 1.0;
                                         }
                                         state.SetItemsProcessed(state.iterations() * config.pairs());
                                     });
    }
    return 0;
}();

}  // namespace
