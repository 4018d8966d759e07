// SPDX-License-Identifier: MIT
// Cached keys moved to other positions, by one delta or each by its own, in place, in scattered slots, and down their
// cache by 16 slots; beside a pass over the same bytes, and beside the same keys in fp32 in place.
#include <algorithm>
#include <numeric>
#include <random>

#include "../bounds.hpp"
#include "../names.hpp"
#include "../variants.hpp"
#include "cordage/kernels.hpp"
#include "cordage/scaling/power_laws.hpp"

using namespace cordage;

namespace {

constexpr index_t heads = 8, head_dim = 128, shift = 16;

enum class where { in_place, scattered, down };

template <class T, class Format>
struct keys {
    index_t tokens, slots = tokens + shift;
    std::vector<T> cache = std::vector<T>(static_cast<std::size_t>(slots * heads * elements_of_head<Format>(head_dim)));
    std::vector<std::int32_t> old_ids = std::vector<std::int32_t>(static_cast<std::size_t>(tokens)), new_ids = old_ids,
                              shuffled = old_ids, upper = old_ids, lower = old_ids;
    basis frequencies = make_basis(benchmarks::usual_config(), ntk_aware{}, 4.0);

    keys(index_t count, bool is_one_delta) : tokens(count) {
        std::iota(old_ids.begin(), old_ids.end(), 100'000);
        for (std::size_t i = 0; i < new_ids.size(); ++i) {
            new_ids[i] = old_ids[i] - 5000 + (is_one_delta ? 0 : static_cast<std::int32_t>(i * 7 % 97));
        }
        std::iota(upper.begin(), upper.end(), static_cast<std::int32_t>(shift));
        std::iota(lower.begin(), lower.end(), 0);
        shuffled = lower;
        std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(3));
    }
    auto view() { return token_major(cache.data(), {1, slots, heads, head_dim}, Format{}); }
    template <class Pairing>
    void move(where how) {
        const auto angles = exact_angles(frequencies, new_ids) - exact_angles(frequencies, old_ids);
        if (how == where::in_place) {
            auto dense = view();
            dense.shape.tokens = tokens;
            rebase<Pairing>(angles, in_place(dense));
        } else if (how == where::scattered) {
            rebase<Pairing>(angles, in_place(in_slots(view(), shuffled.data(), 1, tokens)));
        } else {
            rebase<Pairing>(
                angles, from_to(in_slots(view(), upper.data(), 1, tokens), in_slots(view(), lower.data(), 1, tokens)));
        }
    }
    std::size_t bytes() const {
        return static_cast<std::size_t>(tokens * heads * elements_of_head<Format>(head_dim)) * sizeof(T);
    }
};

template <class T, class Format, class Pairing>
void run(benchmark::State& state, index_t tokens, bool is_one_delta, where how) {
    keys<T, Format> all(tokens, is_one_delta);
    keys<float, element_traits<float>> of_floats(tokens, is_one_delta);
    benchmarks::aligned_bytes memory(all.bytes(), 0);
    const std::size_t repeats = std::max<std::size_t>(2, (std::size_t{1} << 21) / all.bytes());
    benchmarks::rounds times;
    const auto add = [&](const char* name, const auto& body) {
        times.add(name, benchmarks::seconds_of(repeats, body));
    };
    while (times.want_more()) {
        add("move", [&] { all.template move<Pairing>(how); });
        add("in place", [&] { all.template move<Pairing>(where::in_place); });
        add("fp32", [&] { of_floats.template move<Pairing>(where::in_place); });
        add("pass", [&] {
            benchmarks::pass<benchmarks::traffic::in_place, 8, 4096>(memory.data(), memory.data(), all.bytes());
        });
    }
    state.SetIterationTime(times.median("move"));
    state.counters["bytes/s"] = 2.0 * static_cast<double>(all.bytes()) / times.median("move");
    state.counters["of_tight_bound"] = times.ratio("pass", "move");
    state.counters["of_in_place"] = times.ratio("move", "in place");
    state.counters["of_fp32"] = times.ratio("move", "fp32");
    state.counters["spread"] = times.spread("pass", "move");
}

template <class T, class Format, class Pairing = half_split>
void add(const char* format, index_t tokens, bool is_one_delta, where how) {
    const char* const place = how == where::in_place ? "in_place" : how == where::scattered ? "scattered" : "down";
    const std::string name = std::string("rotate/move/simd/") + format + "/" + benchmarks::pairing_name<Pairing>() +
                             "/" + (is_one_delta ? "one_delta" : "deltas") + "/" + place +
                             "/tokens:" + std::to_string(tokens) + "/heads:8/head_dim:128";
    benchmarks::as_medians(benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        for (auto _ : state) run<T, Format, Pairing>(state, tokens, is_one_delta, how);
    }));
}

const int registered = [] {
    for (const index_t tokens : {512, 4096, 16384}) {
        for (const where how : {where::in_place, where::scattered, where::down}) {
            for (const bool is_one_delta : {true, false}) {
                add<float, element_traits<float>>("fp32", tokens, is_one_delta, how);
                add<bfloat16, element_traits<bfloat16>>("bf16", tokens, is_one_delta, how);
                add<q8_0_block, q8_0>("q8_0", tokens, is_one_delta, how);
            }
        }
    }
    return 0;
}();

}  // namespace
