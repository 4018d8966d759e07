// SPDX-License-Identifier: MIT
// Memory between two inaccessible pages, so that a kernel that accesses memory outside of its tensor ends the program.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>

#include "known_blocks.hpp"

namespace cordage_test {

/// The end of a block that borders an inaccessible page.
enum class border { first, last };

class guarded_memory {
 public:
    guarded_memory() {
        void* all = mmap(nullptr, bytes + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED) throw std::runtime_error("guarded_memory: no address space");
        begin_ = static_cast<std::byte*>(all) + page_;
        if (mprotect(begin_, bytes, PROT_READ | PROT_WRITE) != 0) throw std::runtime_error("guarded_memory: no memory");
    }
    guarded_memory(const guarded_memory&) = delete;
    ~guarded_memory() { munmap(begin_ - page_, bytes + 2 * page_); }

    /// `count` elements, the first or the last of them at the border. Replaces the previous content.
    template <class T>
    T* block(std::ptrdiff_t count, border at) const {
        const std::size_t taken = static_cast<std::size_t>(count) * sizeof(T);
        if (taken > bytes) throw std::length_error("guarded_memory: too small");
        std::byte* const first = at == border::first ? begin_ : begin_ + bytes - taken;
        note_block(first, taken);
        return reinterpret_cast<T*>(first);
    }

 private:
    static constexpr std::size_t bytes = std::size_t{1} << 19;  // a multiple of any machine's page
    std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::byte* begin_;
};

}  // namespace cordage_test
