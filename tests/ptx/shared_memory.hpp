// SPDX-License-Identifier: MIT
// The shared memory of a block, with what is needed to find races: who accessed each byte, and since which barrier.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ptx/types.hpp"

namespace cordage_test::ptx {

/// Time goes on at every barrier of the block or of a warp. The threads of a warp are ordered by bar.warp.sync alone,
/// not by running in lockstep: a device need not do so.
class shared_memory {
 public:
    shared_memory(std::size_t bytes, u64 threads);

    void begin_block();
    void block_barrier();
    void warp_barrier(u32 first_thread, u32 members);

    /// Notes a read, or a write of `data`. Returns what another thread did with these bytes since the last barrier with
    /// this one, if that is a race; else "". Threads that write the same are none: any order has the same result.
    std::string race(u32 thread, u64 at, u32 bytes, const std::byte* data);
    bool is_written(u64 at) const { return cells_[at].written >= begin_; }
    std::byte* bytes() { return bytes_.data(); }
    u64 size() const { return bytes_.size(); }

 private:
    enum class readers : u8 { one, of_one_warp, of_several_warps };
    struct cell {
        u64 written = 0;
        u64 read = 0;
        u16 writer = 0;
        u16 reader = 0;
        readers read_by = readers::one;
    };
    u64 last_barrier(u32 thread, u32 other) const;

    std::vector<std::byte> bytes_;
    std::vector<cell> cells_;
    std::vector<u64> warp_barriers_;  // of each thread with each lane of its warp
    u64 now_ = 1;
    u64 begin_ = 0;    // of the block
    u64 barrier_ = 0;  // the last one of the block
};

}  // namespace cordage_test::ptx
