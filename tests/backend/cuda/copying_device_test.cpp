// SPDX-License-Identifier: MIT
#include <cstdlib>

#include "backend/cuda/copying_device.hpp"

using namespace cordage_test;

namespace {

template <class T>
std::byte* bytes_of(T* pointer) {
    return reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(pointer));
}

// y[i] = 2 x[i], where x may be y.
struct doubling_kernel {
    static constexpr int block_threads = 32, blocks_per_processor = 1;

    const float* x;
    index_t count;
    float* y;
};

// Host memory in place of a device's; malloc's are no known blocks.
struct memory_elsewhere {
    static inline int allocations = 0, releases = 0;

    static std::byte* allocate(std::size_t size) {
        ++allocations;
        return static_cast<std::byte*>(std::malloc(size));
    }
    static void release(std::byte* memory) {
        ++releases;
        std::free(memory);
    }
    static void copy_there(std::byte* there, const std::byte* here, std::size_t size) {
        std::memcpy(there, here, size);
    }
    static void copy_here(std::byte* here, const std::byte* there, std::size_t size) { std::memcpy(here, there, size); }
    static void run(const char*, const doubling_kernel& kernel, const cordage::backend::launch_size& size) {
        CHECK(block_of(bytes_of(kernel.x)).first == nullptr);
        CHECK(block_of(bytes_of(kernel.y)).first == nullptr);
        CHECK(kernel.count == 3);
        for (std::uint32_t i = 0; i < size.threads.x; ++i) kernel.y[i] = 2.0f * kernel.x[i];
    }
};

void run_on_copies(const float* x, float* y) {
    copying_device<memory_elsewhere>{}.launch("test", doubling_kernel{x, 3, y}, {{3, 1, 1}, {1, 1, 1}, 0});
    CHECK(memory_elsewhere::allocations == memory_elsewhere::releases);
}

// A block that is known for the life of this object.
struct known_floats {
    std::vector<float> numbers;

    explicit known_floats(std::vector<float> all) : numbers(std::move(all)) {
        note_block(bytes_of(numbers.data()), numbers.size() * sizeof(float));
    }
    ~known_floats() { forget_block(bytes_of(numbers.data())); }
};

}  // namespace

TEST_CASE("backend/cuda/copying_device: a kernel runs on copies, from the middle of a block to the end of another") {
    const known_floats x({9, 1, 2, 3, 9});
    known_floats y({5, 5, 5, 5});
    run_on_copies(x.numbers.data() + 1, y.numbers.data() + 1);
    CHECK(y.numbers == std::vector<float>{5, 2, 4, 6});
    CHECK(x.numbers == std::vector<float>{9, 1, 2, 3, 9});
}
TEST_CASE("backend/cuda/copying_device: a block with two pointers into it has one copy") {
    known_floats x({1, 2, 3, 4});
    const int before = memory_elsewhere::allocations;
    run_on_copies(x.numbers.data(), x.numbers.data() + 1);
    CHECK(memory_elsewhere::allocations == before + 1);
    CHECK(x.numbers[0] == 1.0f);
    CHECK(x.numbers[1] == 2.0f);
}
TEST_CASE("backend/cuda/copying_device: a block replaces those that it overlaps") {
    std::vector<std::byte> memory(100);
    std::byte* const first = memory.data();
    note_block(first, 40);
    note_block(first + 60, 40);
    note_block(first + 30, 31);
    CHECK(block_of(first).first == nullptr);
    CHECK(block_of(first + 30).size == 31);
    CHECK(block_of(first + 60).first == first + 30);
    CHECK(block_of(first + 61).first == nullptr);
    CHECK(block_of(first + 99).first == nullptr);
    forget_block(first + 30);
    CHECK(block_of(first + 30).first == nullptr);
}
