// SPDX-License-Identifier: MIT
// Runs a kernel whose pointers are to host memory on copies of that memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "backend/cuda/launch_limits.hpp"
#include "known_blocks.hpp"

namespace cordage_test {

/// The blocks that a kernel points to, each copied once to memory of a `Memory` at the same offset from a multiple of
/// 16 bytes, so that a memory checker detects accesses past the end of each.
template <class Memory>
class copied_blocks {
 public:
    copied_blocks() = default;
    copied_blocks(const copied_blocks&) = delete;
    ~copied_blocks() {
        for (const auto& [first, c] : copies_) Memory::release(c.memory);
    }

    /// Address in the copy for `pointer`; `pointer` itself if it is in no known block.
    std::byte* there(std::byte* pointer) {
        const known_block block = block_of(pointer);
        if (block.first == nullptr) return pointer;
        const auto [at, is_new] = copies_.try_emplace(block.first);
        copy& c = at->second;
        if (is_new) {
            const std::size_t shift = reinterpret_cast<std::uintptr_t>(block.first) % 16;
            c.memory = Memory::allocate(block.size + shift);
            c.first = c.memory + shift;
            c.size = block.size;
            Memory::copy_there(c.first, block.first, block.size);
        }
        return c.first + (pointer - block.first);
    }
    void copy_back() const {
        for (const auto& [first, c] : copies_) Memory::copy_here(first, c.first, c.size);
    }

 private:
    struct copy {
        std::byte* memory = nullptr;
        std::byte* first = nullptr;
        std::size_t size = 0;
    };
    std::map<std::byte*, copy> copies_;
};

/// A launcher. Any bytes of a kernel that look like a pointer into a known block are treated as one, so that new
/// kernels need no changes here. (A float and what lies in the padding behind it could look like one, too. g++ 12's
/// __builtin_clear_padding is no help: of a struct with two arrays it clears members.)
template <class Device>
struct copying_device {
    std::vector<cordage::backend::launch_size>* launches = nullptr;  // records them, if given
    index_t processor_count = 132;                                   // of the device; results do not depend on it

    index_t processors(const char*) const noexcept { return processor_count; }

    template <cordage::backend::device_kernel Kernel>
    void launch(const char* function, const Kernel& kernel, const cordage::backend::launch_size& size) const {
        check_limits(size);
        if (launches != nullptr) launches->push_back(size);
        copied_blocks<Device> blocks;
        Kernel moved = kernel;
        for (std::size_t i = 0; i + sizeof(std::byte*) <= sizeof(Kernel); i += alignof(std::byte*)) {
            std::byte* const field = reinterpret_cast<std::byte*>(&moved) + i;
            std::byte* pointer = nullptr;
            std::memcpy(&pointer, field, sizeof(pointer));
            pointer = blocks.there(pointer);
            std::memcpy(field, &pointer, sizeof(pointer));
        }
        Device::run(function, moved, size);
        blocks.copy_back();
    }
};

}  // namespace cordage_test
