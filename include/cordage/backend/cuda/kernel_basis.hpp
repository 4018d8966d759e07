// SPDX-License-Identifier: MIT
// What device_words are to a kernel, and cos and sin of the pairs of a unit; serves the CUDA kernels.
#pragma once

#include "cordage/backend/cuda/cos_sin.hpp"
#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/backend/cuda/unit.hpp"
#include "cordage/backend/direction.hpp"

namespace cordage::backend {

/// Bases in device_words' order, for one of the directions.
struct kernel_basis {
    const std::uint64_t* words;
    index_t pairs;
    index_t bases;
    bool divides;  // by the attention factor
    float sine_sign;

    template <class Direction>
    static kernel_basis of(const device_basis& b) noexcept {
        return {.words = b.words(),
                .pairs = b.pairs(),
                .bases = b.bases(),
                .divides = std::same_as<Direction, inverse>,
                .sine_sign = Direction::turn(cordage::cos_sin<float>{1.0f, 1.0f}).sin};
    }

    CORDAGE_HOST_DEVICE index_t basis_of(index_t row) const noexcept { return bases == 1 ? 0 : row; }
    CORDAGE_HOST_DEVICE const std::uint64_t* fractions(index_t row) const noexcept {
        return words + basis_of(row) * pairs;
    }
    CORDAGE_HOST_DEVICE double inv_freq(index_t row, index_t pair) const noexcept {
        return number(2 * bases * pairs + basis_of(row) * pairs + pair);
    }
    CORDAGE_HOST_DEVICE double attention_factor(index_t row) const noexcept {
        return number(3 * bases * pairs + basis_of(row));
    }
    CORDAGE_HOST_DEVICE double inverse_factor(index_t row) const noexcept {
        return number(3 * bases * pairs + bases + basis_of(row));
    }

    /// What turns the pairs of a unit, but for the whole turns.
    template <int N>
    struct unit_rates {
        std::uint64_t fraction[N];
        const std::uint64_t* whole;
        double factor;
    };
    template <int N>
    CORDAGE_HOST_DEVICE unit_rates<N> rates(index_t row, index_t pair) const noexcept {
        const std::uint64_t* fraction = fractions(row) + pair;
        unit_rates<N> of;
        for (int i = 0; i < N; ++i) of.fraction[i] = fraction[i];
        of.whole = fraction + bases * pairs;
        of.factor = divides ? inverse_factor(row) : attention_factor(row);
        return of;
    }

    /// m cos and m sin of a unit's pairs, whose phases are phase[i] * 2^-64 turn.
    template <int N>
    CORDAGE_HOST_DEVICE pair_values<N> turn_of(const std::uint64_t (&phase)[N], double m) const noexcept {
        const auto factor = static_cast<float>(m);
        pair_values<N> turn;
        for (int i = 0; i < N; ++i) {
            const cos_and_sin at = cos_sin_of_phase32(static_cast<std::uint32_t>(phase[i] >> 32));
            turn.first[i] = factor * at.cos;
            turn.second[i] = factor * sine_sign * at.sin;
        }
        return turn;
    }

 private:
    CORDAGE_HOST_DEVICE double number(index_t word) const noexcept { return __builtin_bit_cast(double, words[word]); }
};

}  // namespace cordage::backend
