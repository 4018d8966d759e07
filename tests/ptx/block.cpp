// SPDX-License-Identifier: MIT
#include "ptx/block.hpp"

#include <algorithm>

#include "ptx/warp_run.hpp"

namespace cordage_test::ptx {

namespace {

// By the names of special_registers; the block's index is put when it runs.
void put_special_registers(warp& w) {
    const size3 &size = w.launch->threads, &blocks = w.launch->blocks;
    for (u32 lane = 0; lane < 32; ++lane) {
        const u32 thread = w.first_thread + lane, own = 1u << lane, below = own - 1;
        const std::array<u32, special_registers.size()> values{thread % size.x,
                                                               thread / size.x % size.y,
                                                               thread / (size.x * size.y),
                                                               size.x,
                                                               size.y,
                                                               size.z,
                                                               0,
                                                               0,
                                                               0,
                                                               blocks.x,
                                                               blocks.y,
                                                               blocks.z,
                                                               lane,
                                                               w.first_thread / 32,
                                                               static_cast<u32>((size.count() + 31) / 32),
                                                               own,
                                                               below,
                                                               below | own,
                                                               ~(below | own),
                                                               ~below};
        for (u32 k = 0; k < values.size(); ++k) put(w.at(128 * k), static_cast<int>(lane), values[k]);
    }
}

void begin(warp& w) {
    const u64 threads = w.launch->threads.count() - w.first_thread;
    w.alive = threads >= 32 ? ~0u : (1u << threads) - 1;
    w.at_barrier = w.held = 0;
    w.is_stuck = false;
    w.next.fill(0);
    std::ranges::fill(w.local_written, u8{0});
    const size3& block = w.launch->block;
    for_each_lane(~0u, [&](int lane) {
        u32 which = block_index;
        for (const u32 index : {block.x, block.y, block.z}) put(w.at(128 * which++), lane, index);
    });
}

// The barrier is one for all threads of the block, so all that are left must have come to the same one.
void check_barrier(launch_state& launch, const std::vector<warp>& warps) {
    u32 common = no_operand;
    for (const warp& w : warps) {
        for_each_lane(w.at_barrier, [&](int lane) {
            const u32 at = w.barrier[static_cast<std::size_t>(lane)];
            if (common == no_operand) common = at;
            if (at == common) return;
            launch.report("barrier", launch.kernel.code[at], w, lane, "threads of a block wait at different barriers");
        });
    }
}

}  // namespace

std::vector<warp> warps_of(launch_state& launch) {
    const kernel_code& kernel = launch.kernel;
    std::vector<warp> warps;
    for (u32 first = 0; first < launch.threads.count(); first += 32) {
        warp w{&launch,
               first,
               std::vector<std::byte>(kernel.register_bytes),
               std::vector<u32>(kernel.predicates),
               std::vector<std::byte>(32 * kernel.local_bytes),
               std::vector<u8>(32 * kernel.local_bytes)};
        for (const constant& c : kernel.constants) {
            if (c.width == 0) {
                w.predicates[c.offset] = c.value != 0 ? ~0u : 0;
            } else {
                for_each_lane(~0u, [&](int lane) { put_bits(w.at(c.offset), lane, c.width, c.value); });
            }
        }
        put_special_registers(w);
        warps.push_back(std::move(w));
    }
    return warps;
}

void run_block(launch_state& launch, std::vector<warp>& warps, u64 most_steps) {
    launch.shared.begin_block();
    for (warp& w : warps) begin(w);
    for (bool is_done = false; !is_done;) {
        for (warp& w : warps) run_warp(w, most_steps);
        check_barrier(launch, warps);
        is_done = true;
        for (warp& w : warps) {
            is_done = is_done && w.at_barrier == 0;
            w.at_barrier = 0;
        }
        launch.shared.block_barrier();
    }
}

}  // namespace cordage_test::ptx
