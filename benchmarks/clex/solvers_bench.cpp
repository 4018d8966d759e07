// SPDX-License-Identifier: MIT
// clex/released/<solver>/<precision>/<forward | with_gradient>: solves of the reference problem, alternating with the
// programs compared. `speedup_over_X` is the median time of X over its own median.
#include <benchmark/benchmark.h>

#include <functional>

#include "../bounds.hpp"
#include "continuous_adjoint.hpp"
#include "cordage/clex/clex.hpp"
#include "plain_eigen.hpp"
#include "reference_problem.hpp"
#ifdef CORDAGE_BENCHMARK_BOOST
#include "boost_dopri5.hpp"
#endif

namespace {

using namespace cordage;
using benchmarks::the_problem;

struct rival {
    std::string counter;
    std::function<void()> work;
};

/// Runs the solver and its rivals alternately, each warmed up before it is timed.
void race(benchmark::State& state, const std::function<void()>& own, const std::vector<rival>& rivals) {
    benchmarks::rounds times;
    for (auto _ : state) {
        const double mine = benchmarks::seconds_of(1, own);
        state.SetIterationTime(mine);
        times.add("own", mine);
        for (const rival& r : rivals) times.add(r.counter, benchmarks::seconds_of(1, r.work));
    }
    for (const rival& r : rivals) state.counters[r.counter] = times.median(r.counter) / times.median("own");
}

/// The problem before the solve: everything determined by its weights alone is precomputed.
template <class Scalar, class Network>
struct ready {
    released_field<tanh_activation, Network> field;
    std::vector<Scalar> start, times, z = std::vector<Scalar>(the_problem().exact.size()), grad_z0, grad_parameters;
    std::vector<std::vector<Scalar>> grads;
    std::vector<gradient_seed<Scalar>> seeds;
    index_t evaluations = 0;

    ready()
        : field(the_problem().config, the_problem().weights),
          times(the_problem().times.begin(), the_problem().times.end()),
          grad_z0(64),
          grad_parameters(static_cast<std::size_t>(field.parameter_count())) {
        start.assign(the_problem().log_theta.begin(), the_problem().log_theta.end());
        for (std::size_t k = 0; k < times.size(); ++k) {
            const auto grad = std::span(the_problem().grads).subspan(64 * k, 64);
            grads.emplace_back(grad.begin(), grad.end());
        }
        for (std::size_t k = 0; k < times.size(); ++k) seeds.push_back({times[k], grads[k]});
    }
    auto fixed() {
        auto path =
            solve_fixed<linear_output<rk4_38>, Scalar>(field, {Scalar{1}, Scalar{16}}, start, equal_steps{1500});
        path.at(times, z);
        evaluations = path.statistics().evaluations;
        return path;
    }
    auto adaptive() {
        auto path = solve_adaptive<tsit5, Scalar>(field, {Scalar{1}, Scalar{16}}, start,
                                                  {.tolerance = {5e-5, 5e-5}, .first_step = 0.2});
        path.at(times, z);
        evaluations = path.statistics().evaluations;
        return path;
    }
    void gradient(const auto& path) {
        std::ranges::fill(grad_parameters, Scalar{0});
        discrete_adjoint(path, field, seeds, {grad_z0, grad_parameters});
    }
    double error() const {
        const std::vector<double> out(z.begin(), z.end());
        return the_problem().error_of<double>(out);
    }
    void report(benchmark::State& state) const {
        state.counters["evaluations"] = static_cast<double>(evaluations);
        state.counters["error"] = error();
    }
};

/// States in double, the network in Network.
template <class Network>
void fixed(benchmark::State& state, bool with_gradient) {
    ready<double, Network> own;
    ready<double, float> in_float;
    benchmarks::plain_eigen<float> eigen(the_problem());
    const auto run = [with_gradient](auto& solver) {
        const auto path = solver.fixed();
        if (with_gradient) solver.gradient(path);
    };
    std::vector<rival> rivals{{"speedup_over_eigen", [&] {
                                   if (with_gradient) {
                                       eigen.solve_with_gradient();
                                   } else {
                                       benchmark::DoNotOptimize(eigen.solve());
                                   }
                               }}};
    if constexpr (sizeof(Network) == sizeof(double)) {
        rivals.push_back({"speedup_over_float", [&] { run(in_float); }});
    }
    race(
        state, [&] { run(own); }, rivals);
    own.report(state);
    const auto& z = eigen.solve();
    state.counters["error_of_eigen"] = the_problem().error_of<float>({z.data(), static_cast<std::size_t>(z.size())});
}

/// States and network in one type.
template <class Scalar>
void adaptive(benchmark::State& state, bool with_gradient) {
    ready<Scalar, Scalar> own;
    ready<float, float> in_float;
    const auto run = [with_gradient](auto& solver) {
        const auto path = solver.adaptive();
        if (with_gradient) solver.gradient(path);
    };
    std::vector<rival> rivals;
    if (with_gradient) rivals.push_back({"speedup_over_forward", [&] { own.adaptive(); }});
    if constexpr (sizeof(Scalar) == sizeof(double)) rivals.push_back({"speedup_over_float", [&] { run(in_float); }});
    benchmarks::plain_eigen<float> eigen(the_problem());
    if (!with_gradient) {
        rivals.push_back({"speedup_over_eigen", [&] { benchmark::DoNotOptimize(eigen.solve()); }});
    } else {
        rivals.push_back({"speedup_over_eigen", [&] { eigen.solve_with_gradient(); }});
    }
#ifdef CORDAGE_BENCHMARK_BOOST
    benchmarks::boost_dopri5 boost(the_problem());
    if (!with_gradient) {
        rivals.push_back({"speedup_over_boost", [&] { benchmark::DoNotOptimize(boost.solve(1e-6)); }});
    }
#endif
    race(
        state, [&] { run(own); }, rivals);
    own.report(state);
#ifdef CORDAGE_BENCHMARK_BOOST
    state.counters["error_of_boost"] = the_problem().error_of<double>(boost.solve(1e-6));
    state.counters["evaluations_of_boost"] = static_cast<double>(boost.evaluations());
#endif
}

/// The continuous gradient beside the discrete one.
void continuous(benchmark::State& state) {
    ready<double, float> own;
    const auto path = own.adaptive();
    race(state,
         [&] {
             std::ranges::fill(own.grad_parameters, 0.0);
             benchmarks::continuous_adjoint(path, own.field, own.seeds, {own.grad_z0, own.grad_parameters},
                                            {.tolerance = {5e-5, 5e-5}});
         },
         {{"speedup_over_discrete", [&] { own.gradient(path); }}});
}

/// The policy itself, with checks and conversion of the weights.
template <class Policy>
void policy(benchmark::State& state, clex_options options) {
    race(state, [&] { benchmark::DoNotOptimize(Policy(the_problem().config, the_problem().weights, options)); }, {});
}

const int registered = [] {
    const auto add = [](const std::string& name, auto&&... work) {
        benchmark::RegisterBenchmark(("clex/released/" + name).c_str(), work...)
            ->UseManualTime()
            ->Iterations(41)  // median of this many runs
            ->Unit(benchmark::kMicrosecond);
    };
    for (const bool with_gradient : {false, true}) {
        const std::string what = with_gradient ? "/with_gradient" : "/forward";
        add("rk4_38:0.01/float" + what, fixed<float>, with_gradient);
        add("rk4_38:0.01/double" + what, fixed<double>, with_gradient);
        add("tsit5:5e-5/float" + what, adaptive<float>, with_gradient);
        add("tsit5:5e-5/double" + what, adaptive<double>, with_gradient);
    }
    add("tsit5:5e-5/float/continuous_gradient", continuous);
    add("rk4_38:0.01/float/policy", policy<clex_released<tanh_activation, float>>, released_options(16.0, 0.01));
    add("tsit5:5e-5/float/policy", policy<clex<released_field<tanh_activation, float>>>,
        clex_options{.tolerance = {5e-5, 5e-5}});
    return 0;
}();

}  // namespace
