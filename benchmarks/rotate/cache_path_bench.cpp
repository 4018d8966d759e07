// SPDX-License-Identifier: MIT
// From the projection to the cache: norm and rotation of q and k, and the store of k and v into scattered slots, in one
// call, beside three calls that do the same, the rotation alone, and a pass over the bytes that the one call moves.
#include <numeric>

#include "../bounds.hpp"
#include "../names.hpp"
#include "../variants.hpp"
#include "cordage/kernels.hpp"
#include "cordage/scaling/power_laws.hpp"

using namespace cordage;

namespace {

constexpr index_t heads = 32, kv_heads = 8, head_dim = 128, block_size = 16;

template <class T>
std::vector<T> elements(index_t count) {
    std::vector<T> all(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = element_traits<T>::store(static_cast<float>(i * 7 % 32) / 16.0f - 1.0f);
    }
    return all;
}

// Elements T from the projection, a cache of C in a format.
template <class T, class C, class Format>
struct cache_path {
    index_t tokens, blocks = rounded_up_quotient(tokens, block_size), slots = blocks * block_size;
    std::vector<T> q = elements<T>(tokens * heads * head_dim), k = elements<T>(tokens * kv_heads * head_dim), v = k,
                   k_between = k;
    std::vector<C> keys =
                       std::vector<C>(static_cast<std::size_t>(slots * kv_heads * elements_of_head<Format>(head_dim))),
                   values = keys;
    // A float for each head, or up to eight scales of one byte.
    std::vector<float> key_scales = std::vector<float>(static_cast<std::size_t>(2 * slots * kv_heads)),
                       value_scales = key_scales, weights = std::vector<float>(head_dim, 1.01f);
    std::vector<std::int32_t> slot_mapping = std::vector<std::int32_t>(static_cast<std::size_t>(tokens)),
                              position_ids = slot_mapping;
    basis frequencies = make_basis(benchmarks::usual_config(), ntk_aware{}, 4.0);
    rms_norm<float> norm{.weight = weights.data()};

    explicit cache_path(index_t count) : tokens(count) {
        std::iota(position_ids.begin(), position_ids.end(), 1'000'000);
        for (index_t i = 0; i < tokens; ++i) {  // whole blocks in another order
            const index_t block = (i / block_size * 7 + 3) % blocks;
            slot_mapping[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(block * block_size + i % block_size);
        }
    }

    auto angles() const { return exact_angles(frequencies, position_ids); }
    heads_view<T> dense(std::vector<T>& x, index_t count) {
        return token_major(x.data(), {1, tokens, count, head_dim});
    }
    auto cached(std::vector<C>& cache, std::vector<float>& scales) {
        Format format;
        if constexpr (requires { format.scales; }) {
            using scale = std::remove_pointer_t<decltype(format.scales.data)>;
            const index_t groups = format.lanes_of_scale == 0 ? 1 : head_dim / format.lanes_of_scale;
            format.scales = {reinterpret_cast<scale*>(scales.data()), block_size * kv_heads * groups, kv_heads * groups,
                             groups};
        }
        return in_slots(token_major(cache.data(), {blocks, block_size, kv_heads, head_dim}, format),
                        slot_mapping.data(), 1, tokens);
    }

    template <class Pairing>
    void one_call() {
        rotate_forward<Pairing>(angles(), in_place(dense(q, heads)).normalized(norm),
                                from_to(dense(k, kv_heads), cached(keys, key_scales)).normalized(norm),
                                from_to(dense(v, kv_heads), cached(values, value_scales)).unrotated());
    }
    template <class Pairing>
    void three_calls() {
        const auto all_q = in_place(dense(q, heads));
        rotate_forward<Pairing>(angles(), all_q.normalized(norm).unrotated(),
                                from_to(dense(k, kv_heads), dense(k_between, kv_heads)).normalized(norm).unrotated());
        rotate_forward<Pairing>(angles(), all_q, in_place(dense(k_between, kv_heads)));
        rotate_forward<Pairing>(angles(), from_to(dense(k_between, kv_heads), cached(keys, key_scales)).unrotated(),
                                from_to(dense(v, kv_heads), cached(values, value_scales)).unrotated());
    }
    template <class Pairing>
    void rotation_alone() {
        rotate_forward<Pairing>(angles(), in_place(dense(q, heads)), in_place(dense(k_between, kv_heads)));
    }
    /// Bytes read and written: q twice, k and v once, and as much of the cache as they fill.
    index_t moved_bytes() const {
        const index_t written =
            tokens * kv_heads * elements_of_head<Format>(head_dim) * static_cast<index_t>(sizeof(C));
        return tokens * head_dim * static_cast<index_t>(sizeof(T)) * (2 * heads + 2 * kv_heads) + 2 * written;
    }
};

template <class T, class C, class Format, class Pairing>
void run(benchmark::State& state, index_t tokens) {
    cache_path<T, C, Format> path(tokens);
    const auto bytes = static_cast<std::size_t>(path.moved_bytes() / 2);  // a pass in place moves each byte twice
    benchmarks::aligned_bytes memory(bytes, 0);
    const std::size_t repeats = std::max<std::size_t>(4, (std::size_t{1} << 20) / bytes);
    benchmarks::rounds times;
    const auto add = [&](const char* name, const auto& body) {
        times.add(name, benchmarks::seconds_of(repeats, body));
    };
    while (times.want_more()) {
        add("one", [&] { path.template one_call<Pairing>(); });
        add("three", [&] { path.template three_calls<Pairing>(); });
        add("rotation", [&] { path.template rotation_alone<Pairing>(); });
        add("pass",
            [&] { benchmarks::pass<benchmarks::traffic::in_place, 8, 4096>(memory.data(), memory.data(), bytes); });
    }
    state.SetIterationTime(times.median("one"));
    state.SetLabel(benchmarks::where_they_lie(bytes));
    state.counters["bytes/s"] = static_cast<double>(path.moved_bytes()) / times.median("one");
    state.counters["of_tight_bound"] = times.ratio("pass", "one");
    state.counters["of_three_calls"] = times.ratio("one", "three");
    state.counters["of_rotation"] = times.ratio("one", "rotation");
    state.counters["spread"] = times.spread("pass", "one");
}

template <class T, class C, class Format, class Pairing = half_split>
void add(const char* format, index_t tokens) {
    const std::string name = "rotate/cache_path/simd/" + benchmarks::dtype_name<T>() + "_to_" + format + "/" +
                             benchmarks::pairing_name<Pairing>() + "/tokens:" + std::to_string(tokens) +
                             "/heads:32+8+8/head_dim:128";
    benchmarks::as_medians(benchmark::RegisterBenchmark(name.c_str(), [tokens](benchmark::State& state) {
        for (auto _ : state) run<T, C, Format, Pairing>(state, tokens);
    }));
}

const int registered = [] {
    for (const index_t tokens : {1, 128, 512, 4096}) {
        add<float, float, element_traits<float>>("fp32", tokens);
        add<float, bfloat16, element_traits<bfloat16>>("bf16", tokens);
        add<bfloat16, bfloat16, element_traits<bfloat16>>("bf16", tokens);
        add<bfloat16, bfloat16, element_traits<bfloat16>, interleaved>("bf16", tokens);
        add<bfloat16, fp8_e4m3, scaled_bytes<fp8_e4m3>>("fp8", tokens);
        add<bfloat16, std::int8_t, scaled_bytes<std::int8_t>>("int8", tokens);
        add<bfloat16, q8_0_block, q8_0>("q8_0", tokens);
        add<bfloat16, fp8_e4m3, mxfp8_e4m3>("mxfp8", tokens);
        add<bfloat16, fp4_e2m1_x2, mxfp4>("mxfp4", tokens);
        add<bfloat16, fp4_e2m1_x2, nvfp4>("nvfp4", tokens);
    }
    return 0;
}();

}  // namespace
