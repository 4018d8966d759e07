// SPDX-License-Identifier: MIT
// The cache path in one call: RMSNorm of q and k, rotation, q in place, k and v into the slots of a cache in one of its
// formats. Prompts larger than the caches, and decode steps as nodes of a graph.
#include <algorithm>
#include <random>

#include "benches.hpp"
#include "runner.cuh"
#include "workload.cuh"

namespace cordage::benchmarks {

namespace {

constexpr index_t block_size = 16;

std::size_t rounded_up(index_t bytes) { return static_cast<std::size_t>(rounded_up_quotient(bytes, 256) * 256); }

/// q, k and v of T, and a cache of keys and of values of elements Y, in one set of memory.
template <class T, class Y, class Format>
class cache_layout {
 public:
    explicit cache_layout(index_t tokens) : tokens_(tokens) {}

    std::size_t bytes() const {
        return part_bytes(heads) + 2 * part_bytes(kv_heads) + 2 * (cache_bytes() + scale_bytes());
    }
    /// Bytes read and written: q twice, all else once, and the scales.
    std::size_t moved() const {
        const auto of = [&](index_t count) { return static_cast<std::size_t>(tokens_ * count); };
        const auto head = static_cast<index_t>(sizeof(T)) * head_dim;
        const auto cached = static_cast<index_t>(sizeof(Y)) * elements_of_head<Format>(head_dim);
        return of(2 * heads * head + 2 * kv_heads * (head + cached + (has_scales ? 4 : 0)));
    }

    auto q(std::byte* set) const { return view(set, heads); }
    auto k(std::byte* set) const { return view(set + part_bytes(heads), kv_heads); }
    auto v(std::byte* set) const { return view(set + part_bytes(heads) + part_bytes(kv_heads), kv_heads); }
    auto keys(std::byte* set) const { return cache(set + part_bytes(heads) + 2 * part_bytes(kv_heads)); }
    auto values(std::byte* set) const {
        return cache(set + part_bytes(heads) + 2 * part_bytes(kv_heads) + cache_bytes() + scale_bytes());
    }

 private:
    static constexpr bool has_scales = requires(Format f) { f.scales; };

    index_t slots() const { return rounded_up_quotient(tokens_, block_size) * block_size; }
    std::size_t part_bytes(index_t count) const {
        return rounded_up(tokens_ * count * head_dim * static_cast<index_t>(sizeof(T)));
    }
    std::size_t cache_bytes() const {
        return rounded_up(slots() * kv_heads * elements_of_head<Format>(head_dim) * static_cast<index_t>(sizeof(Y)));
    }
    std::size_t scale_bytes() const { return has_scales ? rounded_up(slots() * kv_heads * 4) : 0; }
    heads_view<T> view(std::byte* memory, index_t count) const {
        return token_major(reinterpret_cast<T*>(memory), {1, tokens_, count, head_dim});
    }
    auto cache(std::byte* memory) const {
        Format format{};
        if constexpr (has_scales) {
            format.scales = {reinterpret_cast<float*>(memory + cache_bytes()), block_size * kv_heads, kv_heads, 1};
        }
        return token_major(reinterpret_cast<Y*>(memory), {slots() / block_size, block_size, kv_heads, head_dim},
                           format);
    }
    index_t tokens_;
};

/// Blocks of the cache in random order, with their slots in order.
std::vector<std::int32_t> slots_of(index_t tokens) {
    std::vector<std::int32_t> blocks = positions_from(0, rounded_up_quotient(tokens, block_size)), slots;
    std::ranges::shuffle(blocks, std::mt19937(1));
    for (index_t token = 0; token < tokens; ++token) {
        slots.push_back(blocks[static_cast<std::size_t>(token / block_size)] * static_cast<std::int32_t>(block_size) +
                        static_cast<std::int32_t>(token % block_size));
    }
    return slots;
}

template <class T, class Y, class Format, class Pairing>
void measure(runner& run, const std::string& format_name, index_t tokens, bool decodes) {
    const std::string name = "rotate/cache/cuda/" + dtype_name<T>() + "_to_" + format_name + "/" +
                             pairing_name<Pairing>() + "/exact" + (decodes ? "/graph_node" : "") +
                             "/tokens:" + std::to_string(tokens) + "/heads:32+8+8/head_dim:128";
    if (!run.wants(name)) return;
    const exact_workload work(tokens);
    const cache_layout<T, Y, Format> layout(tokens);
    const std::vector<std::int32_t> slots = slots_of(tokens);
    const device_array<std::int32_t> slot_mapping{std::span<const std::int32_t>(slots)};
    const std::vector<float> ones(static_cast<std::size_t>(head_dim), 1.0f);
    const device_array<float> weights{std::span<const float>(ones)};
    const rms_norm<> norm{.weight = weights.data()};
    const auto call = [&](std::byte* set) {
        rotate_forward<Pairing>(
            on(run.stream()), work.angles(0), in_place(layout.q(set)).normalized(norm),
            from_to(layout.k(set), in_slots(layout.keys(set), slot_mapping.data(), 1, tokens)).normalized(norm),
            from_to(layout.v(set), in_slots(layout.values(set), slot_mapping.data(), 1, tokens)).unrotated());
    };
    if (decodes) {
        run.beside_empty_node(name, call);
    } else {
        run.beside_copy(name, layout.bytes(), layout.moved() + work.bytes() + sizeof(std::int32_t) * slots.size(),
                        [&](std::byte* set, int) { call(set); });
    }
}

template <class T, class Y, class Format>
void measure_format(runner& run, const std::string& format_name) {
    fill<T>(run.arena());
    for (const index_t tokens : {1, 8, 64, 256}) measure<T, Y, Format, half_split>(run, format_name, tokens, true);
    for (const index_t tokens : {512, 4096, 16'384}) {
        measure<T, Y, Format, half_split>(run, format_name, tokens, false);
        measure<T, Y, Format, interleaved>(run, format_name, tokens, false);
    }
}

}  // namespace

void measure_cache(runner& run) {
    measure_format<float, float, element_traits<float>>(run, "fp32");
    measure_format<bfloat16, bfloat16, element_traits<bfloat16>>(run, "bf16");
    measure_format<bfloat16, fp8_e4m3, scaled_bytes<fp8_e4m3>>(run, "fp8_e4m3");
    measure_format<bfloat16, std::int8_t, scaled_bytes<std::int8_t>>(run, "int8");
    measure_format<bfloat16, q8_0_block, q8_0>(run, "q8_0");
}

}  // namespace cordage::benchmarks
