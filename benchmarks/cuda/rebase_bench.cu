// SPDX-License-Identifier: MIT
// Cached keys of 8 heads rotated to another basis, in blocks of 16 tokens in random order: in place, and moved to free
// blocks of the cache.
#include <algorithm>
#include <random>

#include "benches.hpp"
#include "runner.cuh"
#include "workload.cuh"

namespace cordage::benchmarks {

namespace {

template <class T, class Pairing>
void measure(runner& run, index_t tokens, bool moves) {
    constexpr index_t block = 16;
    const std::string name = (moves ? "rotate/move_paged/cuda/" : "rotate/rebase_paged/cuda/") + dtype_name<T>() + "/" +
                             pairing_name<Pairing>() + "/exact/tokens:" + std::to_string(tokens) +
                             "/heads:8/head_dim:128";
    if (!run.wants(name)) return;
    const index_t blocks = tokens / block;
    const basis from = usual_basis();
    std::vector<double> slower(from.inv_freq().begin(), from.inv_freq().end());
    for (double& theta : slower) theta /= 2.0;
    const basis to(slower);
    const std::vector<std::uint64_t> from_words = device_words(from), to_words = device_words(to);
    const device_array<std::uint64_t> old_basis{std::span<const std::uint64_t>(from_words)};
    const device_array<std::uint64_t> new_basis{std::span<const std::uint64_t>(to_words)};
    std::vector<std::int32_t> order = positions_from(0, blocks);
    std::ranges::shuffle(order, std::mt19937(1));
    const device_array<std::int32_t> table{std::span<const std::int32_t>(order)};
    std::ranges::shuffle(order, std::mt19937(2));
    for (std::int32_t& entry : order) entry += static_cast<std::int32_t>(blocks);  // of a cache twice as large
    const device_array<std::int32_t> new_table{std::span<const std::int32_t>(order)};
    const std::vector<std::int32_t> positions = positions_from(0, tokens);
    const device_array<std::int32_t> ids{std::span<const std::int32_t>(positions)};
    const std::size_t size = static_cast<std::size_t>(tokens * kv_heads * head_dim) * sizeof(T);
    run.beside_copy(name, moves ? 2 * size : size,
                    2 * size + sizeof(std::int32_t) * ((moves ? 2 : 1) * order.size() + positions.size()),
                    [&](std::byte* keys, int) {
                        const position_view<std::int32_t> where(ids.data(), 1, tokens, 0);
                        const device_angles<std::int32_t> then(device_basis(old_basis.data(), head_dim / 2), where);
                        const device_angles<std::int32_t> now(device_basis(new_basis.data(), head_dim / 2), where);
                        const auto cache = token_major(reinterpret_cast<T*>(keys),
                                                       {moves ? 2 * blocks : blocks, block, kv_heads, head_dim});
                        const auto listed = [&](const device_array<std::int32_t>& by) {
                            return in_blocks(cache, by.data(), 1, tokens, blocks);
                        };
                        if (moves) {
                            rebase<Pairing>(on(run.stream()), now - then,
                                            from_to(listed(table), listed(new_table)).to_free_slots());
                        } else {
                            rebase<Pairing>(on(run.stream()), now - then, in_place(listed(table)));
                        }
                    });
}

template <class T>
void measure_type(runner& run) {
    fill<T>(run.arena());
    for (const index_t tokens : {4096, 65'536}) {
        for (const bool moves : {false, true}) {
            measure<T, half_split>(run, tokens, moves);
            measure<T, interleaved>(run, tokens, moves);
        }
    }
}

}  // namespace

void measure_rebase(runner& run) {
    measure_type<bfloat16>(run);
    measure_type<float>(run);
}

}  // namespace cordage::benchmarks
