// SPDX-License-Identifier: MIT
// A 64-bit hash of numbers by their bits, to tell bases apart; stage policy at t -> basis.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace cordage {

/// A 64-bit hash of a sequence of 64-bit words, the same on every platform: value = mix(value ^ word) for each word,
/// where mix is SplitMix64's finaliser (Steele et al. 2014). Each step is one-to-one in the word and in the previous
/// value, so that two sequences of one length that differ in one word always have different hashes; others collide with
/// probability 2^-64. Not cryptographic.
class fingerprint_of_words {
 public:
    constexpr void add(std::uint64_t word) noexcept { value_ = mix(value_ ^ word); }
    constexpr void add(double number) noexcept { add(std::bit_cast<std::uint64_t>(number)); }
    constexpr void add(std::span<const double> numbers) noexcept {
        add(std::uint64_t{numbers.size()});
        for (const double number : numbers) add(number);
    }
    constexpr std::uint64_t value() const noexcept { return value_; }

 private:
    static constexpr std::uint64_t mix(std::uint64_t x) noexcept {
        x += 0x9e37'79b9'7f4a'7c15u;
        x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9u;
        x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebu;
        return x ^ (x >> 31);
    }

    std::uint64_t value_ = 0;
};

}  // namespace cordage
