// SPDX-License-Identifier: MIT
#include "ptx/shared_memory.hpp"

#include <algorithm>
#include <bit>

namespace cordage_test::ptx {

shared_memory::shared_memory(std::size_t bytes, u64 threads)
    : bytes_(bytes), cells_(bytes), warp_barriers_(32 * threads) {}

void shared_memory::begin_block() { begin_ = barrier_ = ++now_; }
void shared_memory::block_barrier() { barrier_ = ++now_; }
void shared_memory::warp_barrier(u32 first_thread, u32 members) {
    ++now_;
    for (u32 lanes = members; lanes != 0; lanes &= lanes - 1) {
        u64* const with = &warp_barriers_[32 * (first_thread + static_cast<u32>(std::countr_zero(lanes)))];
        for (u32 others = members; others != 0; others &= others - 1) with[std::countr_zero(others)] = now_;
    }
}

u64 shared_memory::last_barrier(u32 thread, u32 other) const {
    if (thread / 32 != other / 32) return barrier_;
    return std::max(barrier_, warp_barriers_[32 * thread + other % 32]);
}

std::string shared_memory::race(u32 thread, u64 at, u32 bytes, const std::byte* data) {
    const bool is_write = data != nullptr;
    std::string found;
    const auto note = [&](const char* order, u64 byte, u32 other) {
        if (!found.empty()) return;
        found = std::string(order) + " byte " + std::to_string(byte) +
                " of shared memory, with no barrier between threads " + std::to_string(other) + " and " +
                std::to_string(thread) + " of the block";
    };
    for (u64 byte = at; byte < at + bytes; ++byte) {
        cell& c = cells_[byte];
        const bool is_same = is_write && bytes_[byte] == data[byte - at];
        if (!is_same && c.writer != thread && c.written >= last_barrier(thread, c.writer)) {
            note(is_write ? "write after write of" : "read after write of", byte, c.writer);
        }
        // Of several readers only one is known: all are ordered only by a barrier with all of them.
        const u64 ordered = c.read_by == readers::of_several_warps ? barrier_ : last_barrier(thread, c.reader);
        const bool is_read = c.read >= ordered;
        if (is_write) {
            if (is_read && (c.reader != thread || c.read_by != readers::one))
                note("write after read of", byte, c.reader);
            c.written = now_;
            c.writer = static_cast<u16>(thread);
            continue;
        }
        if (!is_read) {
            c.read_by = readers::one;
            c.reader = static_cast<u16>(thread);
        } else if (c.reader / 32 != thread / 32) {
            c.read_by = readers::of_several_warps;
        } else if (c.reader != thread && c.read_by == readers::one) {
            c.read_by = readers::of_one_warp;
        }
        c.read = now_;
    }
    return found;
}

}  // namespace cordage_test::ptx
