// SPDX-License-Identifier: MIT
// A program with this file records the blocks that `new` returns.
#include "known_blocks.hpp"

void* operator new(std::size_t size) {
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) throw std::bad_alloc();
    if (!cordage_test::unrecorded_blocks::exist()) cordage_test::note_block(static_cast<std::byte*>(memory), size);
    return memory;
}
void operator delete(void* memory) noexcept {
    cordage_test::forget_block(static_cast<std::byte*>(memory));
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
