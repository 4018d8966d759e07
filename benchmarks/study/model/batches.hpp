// SPDX-License-Identifier: MIT
// Windows of tokens for training and for evaluation.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "cordage/core/index.hpp"
#include "cordage/positions/sampler.hpp"
#include "text/bpe.hpp"

namespace demo {

/// std::mt19937_64 and cordage's draws give the same numbers on every platform.
using generator = std::mt19937_64;

/// An independent stream of numbers for each purpose and seed.
inline generator stream(std::uint64_t seed, std::uint64_t purpose) {
    std::seed_seq mixed{seed, purpose};
    return generator(mixed);
}

/// Windows of equal length, row by row; targets are the inputs one token later.
struct batch {
    cordage::index_t windows = 0, tokens = 0;
    std::vector<std::int64_t> inputs, targets;

    void add(std::span<const token> text, std::size_t start) {
        const auto count = static_cast<std::size_t>(tokens);
        for (std::size_t i = start; i < start + count; ++i) {
            inputs.push_back(text[i]);
            targets.push_back(text[i + 1]);
        }
        ++windows;
    }
};

/// Windows from anywhere in the text, every start equally likely.
inline batch random_windows(generator& draw, std::span<const token> text, cordage::index_t windows,
                            cordage::index_t tokens) {
    batch made{0, tokens, {}, {}};
    const auto starts = text.size() - static_cast<std::size_t>(tokens);
    for (cordage::index_t i = 0; i < windows; ++i) made.add(text, cordage::draw_below(draw, starts));
    return made;
}

}  // namespace demo
