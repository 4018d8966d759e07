// SPDX-License-Identifier: MIT
// The state of a warp and of the launch that it belongs to.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "ptx/block_traces.hpp"
#include "ptx/finding.hpp"
#include "ptx/global_memory.hpp"
#include "ptx/instruction.hpp"
#include "ptx/shared_memory.hpp"

namespace cordage_test::ptx {

struct launch_state {
    const kernel_code& kernel;
    const global_memory& memory;
    size3 blocks;
    size3 threads;  // of a block
    size3 block{};  // that runs
    std::vector<std::byte> parameters;
    shared_memory shared;
    std::vector<const memory_block*> last_block;  // that each instruction accessed
    block_traces traces;
    std::vector<finding> findings{};

    /// Notes a fault of a lane; further ones of its kind at this instruction are counted.
    void report(const char* kind, const instruction& i, const warp& w, int lane, const std::string& what);
};

struct warp {
    launch_state* launch;
    u32 first_thread;                  // in the block
    std::vector<std::byte> registers;  // 32 lanes beside each other
    std::vector<u32> predicates;       // a bit a lane
    std::vector<std::byte> local;      // memory of each lane
    std::vector<u8> local_written;
    std::array<u32, 32> next{};     // instruction of each lane
    std::array<u32, 32> barrier{};  // at which a lane waits
    u32 alive = 0;
    u32 at_barrier = 0;
    u32 held = 0;           // lanes that wait for others of a shuffle, a vote or bar.warp.sync
    bool is_stuck = false;  // all lanes wait: those that are held go on, which is a fault

    std::byte* at(u32 offset) { return registers.data() + offset; }
};

template <class T>
T get(const std::byte* registers, int lane) {
    T value;
    std::memcpy(&value, registers + static_cast<std::size_t>(lane) * sizeof(T), sizeof(T));
    return value;
}
template <class T>
void put(std::byte* registers, int lane, T value) {
    std::memcpy(registers + static_cast<std::size_t>(lane) * sizeof(T), &value, sizeof(T));
}

/// Bits of a register of any width, as loads and conversions may have.
inline u64 get_bits(const std::byte* registers, int lane, u8 width) {
    switch (width) {
        case 1:
            return get<u8>(registers, lane);
        case 2:
            return get<u16>(registers, lane);
        case 4:
            return get<u32>(registers, lane);
        default:
            return get<u64>(registers, lane);
    }
}
inline void put_bits(std::byte* registers, int lane, u8 width, u64 bits) {
    switch (width) {
        case 1:
            return put(registers, lane, static_cast<u8>(bits));
        case 2:
            return put(registers, lane, static_cast<u16>(bits));
        case 4:
            return put(registers, lane, static_cast<u32>(bits));
        default:
            return put(registers, lane, bits);
    }
}

/// Calls f(lane) for the lanes whose bits are set; for all 32 in a loop that compilers vectorise.
template <class F>
inline __attribute__((always_inline)) void for_each_lane(u32 lanes, const F& f) {
    if (lanes == ~0u) {
#if !defined(__clang__)
#pragma GCC ivdep
#endif
        for (int lane = 0; lane < 32; ++lane) f(lane);
    } else {
        for (; lanes != 0; lanes &= lanes - 1) f(std::countr_zero(lanes));
    }
}

/// Sets the bits of `lanes` in `bits` to those of `to`.
inline void set_bits(u32& bits, u32 lanes, u32 to) { bits = (bits & ~lanes) | (to & lanes); }

}  // namespace cordage_test::ptx
