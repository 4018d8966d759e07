// SPDX-License-Identifier: MIT
// The blocks of the host's memory that kernels may access.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ptx/types.hpp"

namespace cordage_test::ptx {

struct memory_block {
    u64 first = 0;
    u64 size = 0;
    u8* written = nullptr;  // 1 for each byte that was written; null: all were
    bool is_constant = false;
    std::string name{};  // of a variable of the PTX

    u64 end() const { return first + size; }
    static memory_block of(void* first, std::size_t size, u8* written = nullptr) {
        return {reinterpret_cast<std::uintptr_t>(first), size, written};
    }
};

class global_memory {
 public:
    global_memory() = default;
    /// Blocks that do not overlap.
    explicit global_memory(std::vector<memory_block> blocks) : blocks_(std::move(blocks)) {
        std::ranges::sort(blocks_, {}, &memory_block::first);
    }

    /// The block that begins at the address or, of those before it, last; null if none does.
    const memory_block* before(u64 address) const {
        const auto next = std::ranges::upper_bound(blocks_, address, {}, &memory_block::first);
        return next == blocks_.begin() ? nullptr : &*std::prev(next);
    }
    const memory_block* after(u64 address) const {
        const auto next = std::ranges::upper_bound(blocks_, address, {}, &memory_block::first);
        return next == blocks_.end() ? nullptr : &*next;
    }
    const std::vector<memory_block>& blocks() const { return blocks_; }

 private:
    std::vector<memory_block> blocks_;
};

}  // namespace cordage_test::ptx
