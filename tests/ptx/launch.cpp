// SPDX-License-Identifier: MIT
#include "ptx/launch.hpp"

#include <algorithm>

#include "ptx/block.hpp"
#include "ptx/text.hpp"

namespace cordage_test::ptx {

namespace {

std::vector<std::byte> parameters_of(const kernel_code& kernel,
                                     const std::vector<std::span<const std::byte>>& arguments) {
    const auto refuse = [&](const std::string& what) { throw error("PTX: " + what + ": " + kernel.name); };
    if (arguments.size() != kernel.parameters.size()) {
        refuse(std::to_string(arguments.size()) + " arguments for " + std::to_string(kernel.parameters.size()) +
               " parameters");
    }
    std::vector<std::byte> bytes(kernel.parameter_bytes);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const parameter& p = kernel.parameters[i];
        if (arguments[i].size() != p.size) {
            refuse("parameter " + std::to_string(i) + " has " + std::to_string(arguments[i].size()) +
                   " bytes on the host and " + std::to_string(p.size) + " in the kernel");
        }
        std::ranges::copy(arguments[i], bytes.begin() + p.offset);
    }
    return bytes;
}

}  // namespace

void launch_state::report(const char* kind, const instruction& i, const warp& w, int lane, const std::string& what) {
    const auto is_same = [&](const finding& f) { return f.line == i.line && f.kind == kind; };
    if (const auto known = std::ranges::find_if(findings, is_same); known != findings.end()) {
        ++known->count;
        return;
    }
    const u32 thread = w.first_thread + static_cast<u32>(lane);
    findings.push_back({kind,
                        what,
                        kernel.name,
                        kernel.text[i.number],
                        i.line,
                        block,
                        {thread % threads.x, thread / threads.x % threads.y, thread / (threads.x * threads.y)}});
}

std::vector<finding> launch(const kernel_code& kernel, const launch_sizes& sizes,
                            const std::vector<std::span<const std::byte>>& arguments, const global_memory& memory,
                            u64 most_steps) {
    const u64 threads = sizes.threads.count();
    if (threads == 0 || threads > kernel.most_threads) {
        throw error("PTX: " + std::to_string(threads) + " threads in a block must be 1 to " +
                    std::to_string(kernel.most_threads) + ": " + kernel.name);
    }
    const std::size_t own_bytes = (kernel.shared_bytes + 15) / 16 * 16;
    launch_state state{kernel,
                       memory,
                       sizes.blocks,
                       sizes.threads,
                       {},
                       parameters_of(kernel, arguments),
                       shared_memory(own_bytes + sizes.shared_bytes, 32 * ((threads + 31) / 32)),
                       std::vector<const memory_block*>(kernel.code.size()),
                       block_traces(memory, sizes.blocks)};
    std::vector<warp> warps = warps_of(state);
    for (state.block.z = 0; state.block.z < sizes.blocks.z; ++state.block.z) {
        for (state.block.y = 0; state.block.y < sizes.blocks.y; ++state.block.y) {
            for (state.block.x = 0; state.block.x < sizes.blocks.x; ++state.block.x)
                run_block(state, warps, most_steps);
        }
    }
    return std::move(state.findings);
}

}  // namespace cordage_test::ptx
