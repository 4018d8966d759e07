// SPDX-License-Identifier: MIT
// Interprets the bytes of a fuzzer's run as choices; serves the fuzzers of the library's calls.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>

namespace fuzz {

/// Reads choices from the front; after the last byte everything is 0.
class input {
 public:
    input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    template <class T>
    T bits() {
        unsigned char bytes[sizeof(T)] = {};
        const std::size_t count = sizeof(T) < size_ ? sizeof(T) : size_;
        if (count > 0) std::memcpy(bytes, data_, count);
        data_ += count, size_ -= count;
        T value;
        std::memcpy(&value, bytes, sizeof(T));
        return value;
    }
    /// low to high, both included, at most 256 values; low after the last byte.
    std::int64_t between(std::int64_t low, std::int64_t high) { return low + bits<std::uint8_t>() % (high - low + 1); }
    /// 0 to 1, both included.
    double share() { return static_cast<double>(bits<std::uint16_t>()) / 65535.0; }
    bool coin() { return between(0, 1) == 1; }
    /// Rare, so that most runs get past the checks.
    bool rarely(std::int64_t one_in = 64) { return between(0, one_in - 1) == one_in - 1; }
    template <class T, std::size_t N>
    T one_of(const T (&values)[N]) {
        return values[between(0, static_cast<std::int64_t>(N) - 1)];
    }

    /// Numbers at which careless code fails, or any bits.
    double hostile_number() {
        static constexpr double huge = std::numeric_limits<double>::max();
        static constexpr double known[] = {0.0,
                                           -0.0,
                                           std::numeric_limits<double>::quiet_NaN(),
                                           HUGE_VAL,
                                           -HUGE_VAL,
                                           huge,
                                           -huge,
                                           std::numeric_limits<double>::denorm_min(),
                                           1e-308,
                                           1.0,
                                           -1.0,
                                           0x1p31,
                                           0x1p62,
                                           0x1p63,
                                           -0x1p63,
                                           0x1p64,
                                           1e300,
                                           1.0 + 0x1p-52};
        return coin() ? one_of(known) : bits<double>();
    }
    std::int64_t hostile_integer() {
        static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        static constexpr std::int64_t known[] = {0,
                                                 -1,
                                                 1,
                                                 most,
                                                 -most,
                                                 -most - 1,
                                                 std::int64_t{1} << 31,
                                                 std::int64_t{1} << 32,
                                                 std::int64_t{1} << 62,
                                                 most / 2 + 1};
        return coin() ? one_of(known) : bits<std::int64_t>();
    }
    /// For numbers whose values do not matter.
    std::mt19937_64 generator() { return std::mt19937_64(bits<std::uint16_t>()); }

 private:
    const std::uint8_t* data_;
    std::size_t size_;
};

/// low ... high, uniform.
inline double uniform(std::mt19937_64& random, double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

}  // namespace fuzz
