// SPDX-License-Identifier: MIT
// Begin and end of blocks of the test program's memory, for tests of kernels: known_blocks.cpp records those of `new`,
// guarded_memory its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <span>
#include <utility>

namespace cordage_test {

struct known_block {
    std::byte* first = nullptr;
    std::size_t size = 0;
    std::uint8_t* written = nullptr;  // for each byte, whether a kernel wrote it; null: all bytes count as written
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

/// Blocks by first byte. Never destroyed, as objects that outlive it may call `delete`.
inline auto& known_blocks() {
    using blocks_type =
        std::map<std::byte*, known_block, std::less<>, malloc_allocator<std::pair<std::byte* const, known_block>>>;
    static blocks_type& blocks = *new (malloc_allocator<blocks_type>().allocate(1)) blocks_type;
    return blocks;
}

/// While one of these exists `new` records nothing: its blocks are the interpreter's, which no kernel may access, and
/// which each launch would look through.
class unrecorded_blocks {
 public:
    unrecorded_blocks() { ++count(); }
    unrecorded_blocks(const unrecorded_blocks&) = delete;
    unrecorded_blocks& operator=(const unrecorded_blocks&) = delete;
    ~unrecorded_blocks() { --count(); }
    static bool exist() { return count() > 0; }

 private:
    static int& count() {
        static int number = 0;
        return number;
    }
};

/// Records [first, first + size) as one block; earlier records of that memory are removed.
inline void note_block(std::byte* first, std::size_t size) {
    auto& blocks = known_blocks();
    auto next = blocks.upper_bound(first);
    if (next != blocks.begin() && std::prev(next)->first + std::prev(next)->second.size > first) --next;
    while (next != blocks.end() && next->first < first + size) {
        std::free(next->second.written);
        next = blocks.erase(next);
    }
    blocks[first] = {first, size, nullptr};
}
inline void forget_block(std::byte* first) {
    const auto found = known_blocks().find(first);
    if (found == known_blocks().end()) return;
    std::free(found->second.written);
    known_blocks().erase(found);
}

/// The block that `pointer` points into; {} if there is none.
inline known_block block_of(std::byte* pointer) {
    const auto& blocks = known_blocks();
    const auto next = blocks.upper_bound(pointer);
    if (next == blocks.begin()) return {};
    const known_block& found = std::prev(next)->second;
    return pointer < found.first + found.size ? found : known_block{};
}

/// The kernels that run from now on must write these numbers before they read them: what a caller need not initialise.
/// Without effect on memory of no known block.
template <class T>
void note_unwritten(std::span<T> numbers) {
    auto* const first = reinterpret_cast<std::byte*>(numbers.data());
    const known_block found = block_of(first);
    if (found.first == nullptr) return;
    known_block& block = known_blocks()[found.first];
    if (block.written == nullptr) {
        block.written = static_cast<std::uint8_t*>(std::malloc(block.size));
        if (block.written == nullptr) throw std::bad_alloc();
        std::memset(block.written, 1, block.size);
    }
    std::memset(block.written + (first - block.first), 0, numbers.size_bytes());
}

}  // namespace cordage_test
