// SPDX-License-Identifier: MIT
// Which two lanes of a head form a pair; serves rotation and its backends.
#pragma once

#include <concepts>

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"

namespace cordage {

/// Pair i is (x[i], x[i + rotary_dim/2]); GPT-NeoX, LLaMA in transformers.   rotary_dim 4 of 8: [c c s s . . . .]
struct half_split {
    CORDAGE_HOST_DEVICE static constexpr index_t first(index_t pair, index_t) noexcept { return pair; }
    CORDAGE_HOST_DEVICE static constexpr index_t second(index_t pair, index_t pairs) noexcept { return pair + pairs; }
    CORDAGE_HOST_DEVICE static constexpr index_t pair_of(index_t lane, index_t pairs) noexcept { return lane % pairs; }
};

/// Pair i is (x[2i], x[2i+1]); Su et al. 2021, GPT-J, LLaMA as released.      rotary_dim 4 of 8: [c s c s . . . .]
struct interleaved {
    CORDAGE_HOST_DEVICE static constexpr index_t first(index_t pair, index_t) noexcept { return 2 * pair; }
    CORDAGE_HOST_DEVICE static constexpr index_t second(index_t pair, index_t) noexcept { return 2 * pair + 1; }
    CORDAGE_HOST_DEVICE static constexpr index_t pair_of(index_t lane, index_t) noexcept { return lane / 2; }
};

/// half_split or interleaved. There is no default: the wrong layout degrades a model silently.
template <class P>
concept pairing = std::same_as<P, half_split> || std::same_as<P, interleaved>;

/// Either, as a value: for kernels that are compiled once for both.
struct pairing_value {
    bool is_interleaved;

    template <pairing P>
    CORDAGE_HOST_DEVICE static constexpr pairing_value of() noexcept {
        return {std::same_as<P, interleaved>};
    }
    CORDAGE_HOST_DEVICE constexpr index_t first(index_t pair, index_t) const noexcept {
        return is_interleaved ? 2 * pair : pair;
    }
    CORDAGE_HOST_DEVICE constexpr index_t second(index_t pair, index_t pairs) const noexcept {
        return first(pair, pairs) + (is_interleaved ? 1 : pairs);
    }
};

}  // namespace cordage
