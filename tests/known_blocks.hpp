// SPDX-License-Identifier: MIT
// Begin and end of blocks of the test program's memory, for tests on a device: known_blocks.cpp records those of `new`,
// guarded_memory its own.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <utility>

namespace cordage_test {

struct known_block {
    std::byte* first = nullptr;
    std::size_t size = 0;
};

// Uses malloc, since recording a block of `new` must not call `new`.
template <class T>
struct malloc_allocator {
    using value_type = T;

    malloc_allocator() = default;
    template <class U>
    malloc_allocator(const malloc_allocator<U>&) {}
    T* allocate(std::size_t count) {
        void* const memory = std::malloc(count * sizeof(T));
        if (memory == nullptr) throw std::bad_alloc();
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) { std::free(memory); }
    friend bool operator==(const malloc_allocator&, const malloc_allocator&) { return true; }
};

/// Sizes by first byte. Never destroyed, as objects that outlive it may call `delete`.
inline auto& known_blocks() {
    using blocks_type =
        std::map<std::byte*, std::size_t, std::less<>, malloc_allocator<std::pair<std::byte* const, std::size_t>>>;
    static blocks_type& blocks = *new (malloc_allocator<blocks_type>().allocate(1)) blocks_type;
    return blocks;
}

/// Records [first, first + size) as one block; earlier records of that memory are removed.
inline void note_block(std::byte* first, std::size_t size) {
    auto& blocks = known_blocks();
    auto next = blocks.upper_bound(first);
    if (next != blocks.begin() && std::prev(next)->first + std::prev(next)->second > first) --next;
    while (next != blocks.end() && next->first < first + size) next = blocks.erase(next);
    blocks[first] = size;
}
inline void forget_block(std::byte* first) { known_blocks().erase(first); }

/// The block that `pointer` points into; {} if there is none.
inline known_block block_of(std::byte* pointer) {
    const auto& blocks = known_blocks();
    const auto next = blocks.upper_bound(pointer);
    if (next == blocks.begin()) return {};
    const auto& [first, size] = *std::prev(next);
    return pointer < first + size ? known_block{first, size} : known_block{};
}

}  // namespace cordage_test
