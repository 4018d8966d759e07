// SPDX-License-Identifier: MIT
// rotate/<direction>/<backend>/<dtype>/<pairing>/<policy>/<angles>/tokens:N/heads:N/head_dim:N, each beside two bounds
// timed alternately in the same process: a pass that moves the same bytes, as a loop of one vector (of_bound) and at
// its fastest (of_tight_bound). The counters are a bound's time over the kernel's own: 1 is the speed of that pass.
// Angles: exact and table as they are called; mrope, exact ones of three axes in interleaved sections; rows, exact ones
// of a batch of 4 with a t for each row.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "../bounds.hpp"
#include "../variants.hpp"
#include "cordage/kernels.hpp"
#include "cordage/positions/sections.hpp"

namespace {

using namespace cordage;

struct size {
    index_t tokens;
    index_t heads;
};

template <class T>
std::string dtype_name() {
    if constexpr (std::same_as<T, float>) return "fp32";
    if constexpr (std::same_as<T, double>) return "fp64";
    if constexpr (std::same_as<T, float16>) return "fp16";
    if constexpr (std::same_as<T, bfloat16>) return "bf16";
}
template <class Pairing>
std::string pairing_name() {
    return std::same_as<Pairing, half_split> ? "half_split" : "interleaved";
}
template <class Backend>
std::string backend_name() {
    return std::same_as<Backend, backend::scalar> ? "scalar" : "simd";
}

// What one benchmark turns: values near 1, at positions a million on, where float32 angles are long wrong.
template <class T>
struct fixture {
    heads_shape shape;
    std::vector<T> x, other;
    std::vector<std::int32_t> position_ids;
    basis frequencies;

    fixture(size s, const any_policy& policy)
        : shape{1, s.tokens, s.heads, benchmarks::usual_config().head_dim},
          x(static_cast<std::size_t>(s.tokens * s.heads * shape.head_dim), element_traits<T>::store(1)),
          other(x),
          position_ids(static_cast<std::size_t>(s.tokens)),
          frequencies(make_basis(benchmarks::usual_config(), policy, 4.0)) {
        std::iota(position_ids.begin(), position_ids.end(), 1'000'000);
    }
    heads_view<T> view() { return token_major(x.data(), shape); }
    heads_view<T> other_view() { return token_major(other.data(), shape); }
    std::size_t bytes() const { return x.size() * sizeof(T); }
};

// Times kernel() and both bounds turn by turn, each often enough that a clock can see it, and reports them.
template <benchmarks::traffic Traffic, class Kernel>
void run(benchmark::State& state, std::size_t bytes, index_t tokens, const Kernel& kernel) {
    constexpr double streams = Traffic == benchmarks::traffic::two_to_one ? 3.0 : 2.0;
    benchmarks::memory_bound<Traffic> bound(bytes);
    const std::size_t repeats = std::max<std::size_t>(1, (std::size_t{1} << 20) / bytes);
    double kernel_seconds = 0.0, naive_seconds = 0.0, tight_seconds = 0.0;
    for (auto _ : state) {
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < repeats; ++i) {
            kernel();
            benchmark::ClobberMemory();
        }
        const double mine = benchmarks::seconds_since(start) / static_cast<double>(repeats);
        state.SetIterationTime(mine);
        kernel_seconds += mine;
        naive_seconds += bound.naive_seconds(repeats);
        tight_seconds += bound.tight_seconds(repeats);
    }
    const auto turns = static_cast<double>(state.iterations());
    state.counters["bytes/s"] = benchmark::Counter(turns * static_cast<double>(bytes) * streams / kernel_seconds);
    state.counters["tokens/s"] = benchmark::Counter(turns * static_cast<double>(tokens) / kernel_seconds);
    state.counters["of_bound"] = benchmark::Counter(naive_seconds / kernel_seconds);
    state.counters["of_tight_bound"] = benchmark::Counter(tight_seconds / kernel_seconds);
}

// The same tokens with a position on each of three axes, as an image has them.
template <class T>
struct image_fixture : fixture<T> {
    std::vector<std::uint8_t> axis_of_pair = interleaved_axes({24, 20, 20});
    std::vector<std::int32_t> axis_ids;

    image_fixture(size s, const any_policy& policy) : fixture<T>(s, policy) {
        for (int axis = 0; axis < 3; ++axis) {
            for (const std::int32_t id : this->position_ids) axis_ids.push_back(id + 100 * axis);
        }
    }
    axis_angles<std::int32_t> angles() const {
        return {this->frequencies, axis_of_pair, axis_major(axis_ids.data(), 3, 1, this->shape.tokens)};
    }
};

// The same tokens as a batch of 4, each row at its own t.
template <class T>
struct mixed_fixture : fixture<T> {
    static constexpr index_t rows = 4;
    std::vector<basis> bases;
    std::vector<exact_angles<std::int32_t>> sources;

    mixed_fixture(size s, const any_policy& policy) : fixture<T>(s, policy) {
        this->shape = {rows, s.tokens / rows, s.heads, this->shape.head_dim};
        std::vector<const basis*> chosen;
        for (const double t : {1.0, 2.0, 4.0, 8.0}) bases.push_back(make_basis(benchmarks::usual_config(), policy, t));
        for (const basis& b : bases) chosen.push_back(&b);
        sources = exact_angles_of_rows(
            chosen, position_view<std::int32_t>(this->position_ids.data(), 1, this->shape.tokens, 0));
    }
    row_angles<exact_angles<std::int32_t>> angles() const { return row_angles(sources); }
};

template <class T, class Pairing, class Backend>
void add(const benchmarks::variant& variant, size s) {
    const auto name = [&](const char* direction, const char* angles) {
        return std::string("rotate/") + direction + "/" + backend_name<Backend>() + "/" + dtype_name<T>() + "/" +
               pairing_name<Pairing>() + "/" + variant.name + "/" + angles + "/tokens:" + std::to_string(s.tokens) +
               "/heads:" + std::to_string(s.heads) + "/head_dim:128";
    };
    const auto enter = [](const std::string& full, auto body) {
        benchmark::RegisterBenchmark(full.c_str(), body)->UseManualTime()->Unit(benchmark::kMicrosecond);
    };
    const any_policy policy = variant.policy;
    enter(name("forward", "exact"), [=](benchmark::State& state) {
        fixture<T> f(s, policy);
        run<benchmarks::traffic::in_place>(state, f.bytes(), s.tokens, [&] {
            rotate_forward<Pairing, Backend>(exact_angles(f.frequencies, f.position_ids), in_place(f.view()));
        });
    });
    enter(name("forward", "table"), [=](benchmark::State& state) {
        fixture<T> f(s, policy);
        const cos_sin_table<float> table(exact_angles(f.frequencies, f.position_ids));
        run<benchmarks::traffic::in_place>(state, f.bytes(), s.tokens,
                                           [&] { rotate_forward<Pairing, Backend>(table.view(), in_place(f.view())); });
    });
    enter(name("backward", "exact"), [=](benchmark::State& state) {
        fixture<T> f(s, policy);
        std::vector<double> grad(static_cast<std::size_t>(f.frequencies.pairs()));
        run<benchmarks::traffic::two_to_one>(state, f.bytes(), s.tokens, [&] {
            rotate_backward<Pairing, Backend>(exact_angles(f.frequencies, f.position_ids),
                                              rotation_gradients{.inv_freq = grad},
                                              grad_through(f.view(), f.other_view(), f.view()));
        });
    });
    const auto enter_source = [&]<class Fixture>(const char* angles, std::type_identity<Fixture>) {
        enter(name("forward", angles), [=](benchmark::State& state) {
            Fixture f(s, policy);
            run<benchmarks::traffic::in_place>(
                state, f.bytes(), s.tokens, [&] { rotate_forward<Pairing, Backend>(f.angles(), in_place(f.view())); });
        });
        enter(name("backward", angles), [=](benchmark::State& state) {
            Fixture f(s, policy);
            const auto source = f.angles();
            std::vector<double> grad(static_cast<std::size_t>(source.bases() * source.pairs()));
            run<benchmarks::traffic::two_to_one>(state, f.bytes(), s.tokens, [&] {
                rotate_backward<Pairing, Backend>(f.angles(), rotation_gradients{.inv_freq = grad},
                                                  grad_through(f.view(), f.other_view(), f.view()));
            });
        });
    };
    enter_source("mrope", std::type_identity<image_fixture<T>>{});
    if (s.tokens >= mixed_fixture<T>::rows) enter_source("rows", std::type_identity<mixed_fixture<T>>{});
}

const int registered = [] {
    // Every variant by name at one shape, then every shape, type and backend for one variant.
    for (const auto& variant : benchmarks::closed_forms()) {
        add<float, half_split, backend::fastest>(variant, {512, 32});
    }
    const benchmarks::variant one{"ntk_aware", ntk_aware{}};
    for (const size s : {size{1, 40}, size{32, 32}, size{128, 8}, size{512, 32}, size{4096, 32}}) {
        if (s.tokens != 512) add<float, half_split, backend::fastest>(one, s);  // 512 is there already
        add<float, interleaved, backend::fastest>(one, s);
        add<float16, half_split, backend::fastest>(one, s);
        add<float16, interleaved, backend::fastest>(one, s);
        add<bfloat16, half_split, backend::fastest>(one, s);
        add<bfloat16, interleaved, backend::fastest>(one, s);
    }
    add<double, half_split, backend::fastest>(one, {512, 32});
    add<float, half_split, backend::scalar>(one, {128, 8});
    add<double, half_split, backend::scalar>(one, {128, 8});
    add<float16, half_split, backend::scalar>(one, {128, 8});
    add<bfloat16, half_split, backend::scalar>(one, {128, 8});
    return 0;
}();

}  // namespace
