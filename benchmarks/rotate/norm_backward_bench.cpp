// SPDX-License-Identifier: MIT
// The backward pass of norm and rotation of q and k in one call, beside the rotation's backward pass alone and beside
// separate calls for the rotation and the norm.
#include <numeric>

#include "../bounds.hpp"
#include "../names.hpp"
#include "../variants.hpp"
#include "cordage/kernels.hpp"
#include "cordage/scaling/power_laws.hpp"

using namespace cordage;

namespace {

constexpr index_t heads = 32, kv_heads = 8, head_dim = 128;

// A tensor and its gradient, which is written in place.
template <class T>
struct tensor {
    heads_shape shape;
    std::size_t bytes = static_cast<std::size_t>(shape.tokens * shape.heads * shape.head_dim) * sizeof(T);
    benchmarks::aligned_bytes x{bytes, 0}, grad{bytes, 0};

    tensor(index_t tokens, index_t count) : shape{1, tokens, count, head_dim} { fill(x), fill(grad); }

    static void fill(benchmarks::aligned_bytes& memory) {
        T* const all = reinterpret_cast<T*>(memory.data());
        for (std::size_t i = 0; i < memory.size() / sizeof(T); ++i) {
            all[i] = element_traits<T>::store(static_cast<float>(i * 7 % 32) / 16.0f - 1.0f);
        }
    }
    auto operand() {
        const auto g = token_major(reinterpret_cast<T*>(grad.data()), shape);
        return grad_through(g, token_major(reinterpret_cast<T*>(x.data()), shape), g);
    }
};

template <class T, class Pairing>
void run(benchmark::State& state, index_t tokens) {
    tensor<T> q(tokens, heads), k(tokens, kv_heads);
    const basis frequencies = make_basis(benchmarks::usual_config(), ntk_aware{}, 4.0);
    std::vector<std::int32_t> position_ids(static_cast<std::size_t>(tokens));
    std::iota(position_ids.begin(), position_ids.end(), 1'000'000);
    const exact_angles angles(frequencies, position_ids);
    const std::vector<float> weights(head_dim, 1.01f);
    const rms_norm<> norm{.weight = weights.data()};
    std::vector<double> to_inv_freq(head_dim / 2), to_q_norm(head_dim), to_k_norm(head_dim);
    const rotation_gradients grads{.inv_freq = to_inv_freq};

    const std::size_t repeats = std::max<std::size_t>(4, (std::size_t{1} << 20) / q.bytes);
    benchmarks::rounds times;
    while (times.want_more()) {
        tensor<T>::fill(q.grad), tensor<T>::fill(k.grad);  // the gradient is scaled by r in each run
        times.add("one", benchmarks::seconds_of(repeats, [&] {
                      rotate_backward<Pairing>(angles, grads, q.operand().normalized(norm, to_q_norm),
                                               k.operand().normalized(norm, to_k_norm));
                  }));
        times.add("rotation", benchmarks::seconds_of(
                                  repeats, [&] { rotate_backward<Pairing>(angles, grads, q.operand(), k.operand()); }));
        times.add("two", benchmarks::seconds_of(repeats, [&] {
                      rotate_backward<Pairing>(angles, grads, q.operand(), k.operand());
                      rotate_backward<Pairing>(angles, q.operand().normalized(norm, to_q_norm).unrotated(),
                                               k.operand().normalized(norm, to_k_norm).unrotated());
                  }));
    }
    state.SetIterationTime(times.median("one"));
    state.counters["of_rotation"] = times.ratio("one", "rotation");
    state.counters["of_two_calls"] = times.ratio("one", "two");
    state.counters["spread"] = times.spread("one", "rotation");
}

template <class T, class Pairing>
void add(index_t tokens) {
    const std::string name = "rotate/norm_backward/simd/" + benchmarks::dtype_name<T>() + "/" +
                             benchmarks::pairing_name<Pairing>() + "/tokens:" + std::to_string(tokens) +
                             "/heads:32+8/head_dim:128";
    benchmarks::as_medians(benchmark::RegisterBenchmark(name.c_str(), [tokens](benchmark::State& state) {
        for (auto _ : state) run<T, Pairing>(state, tokens);
    }));
}

const int registered = [] {
    for (const index_t tokens : {1, 128, 512, 4096}) {
        add<float, half_split>(tokens);
        add<float, interleaved>(tokens);
        add<bfloat16, half_split>(tokens);
        add<bfloat16, interleaved>(tokens);
        add<float16, half_split>(tokens);
    }
    return 0;
}();

}  // namespace
