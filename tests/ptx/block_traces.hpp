// SPDX-License-Identifier: MIT
// Races between the blocks of a launch, which run in any order: what one of them writes no other may access.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "ptx/global_memory.hpp"

namespace cordage_test::ptx {

class block_traces {
 public:
    block_traces(const global_memory& memory, size3 blocks) : memory_(memory), blocks_(blocks) {
        if (blocks.count() > 1) traces_.resize(memory.blocks().size());
    }

    /// Notes an access by a block of the launch; "which block (0, 1, 0) wrote" if it races with an earlier one.
    ///
    /// @param used  a bit for each byte: of what is read, those that matter
    /// @param data  of a write: several blocks may write the same
    std::string read(const memory_block& from, u64 at, u32 bytes, u64 used, size3 block) {
        if (traces_.empty()) return {};
        trace& t = trace_of(from);
        const u32 number = number_of(block);
        std::string race;
        for (u32 i = 0; i < bytes; ++i) {
            if ((used >> i & 1) == 0) continue;
            if (t.writer[at + i] != 0 && t.writer[at + i] != number) race = text_of("wrote", t.writer[at + i]);
            u32& reader = t.reader[at + i];
            reader = reader == 0 || reader == number ? number : several;
        }
        return race;
    }
    std::string write(const memory_block& to, u64 at, u32 bytes, const std::byte* data, size3 block) {
        if (traces_.empty()) return {};
        trace& t = trace_of(to);
        const u32 number = number_of(block);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): it is the host's
        const bool changes = std::memcmp(reinterpret_cast<const std::byte*>(to.first + at), data, bytes) != 0;
        std::string race;
        for (u32 i = 0; i < bytes; ++i) {
            const u32 reader = t.reader[at + i];
            u32& writer = t.writer[at + i];
            if (changes && reader != 0 && reader != number) race = text_of("read", reader);
            if (changes && writer != 0 && writer != number) race = text_of("wrote", writer);
            writer = number;
        }
        return race;
    }

 private:
    static constexpr u32 several = ~0u;
    struct trace {
        std::vector<u32> reader, writer;  // of each byte: 1 + the number of a block, 0 or `several`
    };

    trace& trace_of(const memory_block& block) {
        trace& t = traces_[static_cast<std::size_t>(&block - memory_.blocks().data())];
        if (t.reader.empty()) {
            t.reader.resize(block.size);
            t.writer.resize(block.size);
        }
        return t;
    }
    u32 number_of(size3 block) const { return 1 + block.x + blocks_.x * (block.y + blocks_.y * block.z); }
    std::string text_of(const char* did, u32 number) const {
        if (number == several) return std::string("which several blocks ") + did;
        const u32 n = number - 1;
        return "which block (" + std::to_string(n % blocks_.x) + ", " + std::to_string(n / blocks_.x % blocks_.y) +
               ", " + std::to_string(n / blocks_.x / blocks_.y) + ") " + did;
    }

    const global_memory& memory_;
    size3 blocks_;
    std::vector<trace> traces_;  // of the memory's blocks
};

}  // namespace cordage_test::ptx
