// SPDX-License-Identifier: MIT
// ggml's blocks of 32 lanes, q8_0 and q4_0; stage tensors.
#pragma once

#include <array>
#include <cstdint>

#include "cordage/tensors/codes.hpp"
#include "cordage/tensors/head_formats.hpp"

namespace cordage {

namespace tensors_detail {

/// The q4_0 code of a lane, as a word, given 1 / d of its block; 0 for NaN.
template <class L>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE auto q4_0_code(const L& x, float inverse) noexcept {
    using memory = lane_memory<L>;
    const L shifted = sum_of_rounded<L>(L(x * L(inverse)), L(8.5f));
    return memory::truncated(memory::min(memory::max(shifted, L(0.0f)), L(15.0f)));
}

}  // namespace tensors_detail

/// ggml's block of 32 lanes: x = d * code, codes -127 to 127.
struct q8_0_block {
    float16 d;
    std::array<std::int8_t, 32> codes;
};
/// ggml's block of 32 lanes: x = d * (code - 8), codes 0 to 15; byte i holds lane i in its low bits and lane i + 16.
struct q4_0_block {
    float16 d;
    std::array<std::uint8_t, 16> codes;
};
static_assert(sizeof(q8_0_block) == 34 && sizeof(q4_0_block) == 18);

/// The scale of one of ggml's blocks, and its inverse.
struct block_scale {
    float16 d;
    float inverse;  ///< 1 / d, of d before it was rounded
};

/// Heads in blocks of q8_0, bit for bit those of ggml's quantize_row_q8_0_ref (halves away from 0).
struct q8_0 {
    using compute = float;
    static constexpr index_t lanes_of_element = 32;

    template <class Lane>
    CORDAGE_ALWAYS_INLINE void load_head(const q8_0_block* from, const head_place&, float* lanes,
                                         index_t count) const noexcept {
        for (; count > 0; count -= 32, lanes += 32, ++from) {
            tensors_detail::load_codes<Lane, std::int8_t>(reinterpret_cast<const std::uint8_t*>(from->codes.data()),
                                                          to_float(from->d), lanes, 32);
        }
    }
    template <class Lane>
    CORDAGE_ALWAYS_INLINE void store_head(const float* lanes, index_t count, q8_0_block* to,
                                          const head_place&) const noexcept {
        tensors_detail::write_groups(
            count / 32,
            [&](index_t block) CORDAGE_ALWAYS_INLINE_LAMBDA {
                return tensors_detail::largest_magnitude<Lane>(lanes + 32 * block, 32);
            },
            [&](index_t block, float largest) CORDAGE_ALWAYS_INLINE_LAMBDA {
                const block_scale scale = scale_of(largest);
                to[block].d = scale.d;
                return scale.inverse;
            },
            [&](index_t block, float inverse) CORDAGE_ALWAYS_INLINE_LAMBDA {
                tensors_detail::store_codes<Lane>(
                    lanes + 32 * block, inverse, reinterpret_cast<std::uint8_t*>(to[block].codes.data()), 32,
                    [](const auto& x) CORDAGE_ALWAYS_INLINE_LAMBDA { return tensors_detail::rounded_half_away(x); });
            });
    }
    /// The scale of a block with this largest magnitude.
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE block_scale scale_of(float largest) noexcept {
        const float d = tensors_detail::quotient(largest, 127.0f);
        return {element_traits<float16>::store(d), tensors_detail::inverse_or_zero(d)};
    }
    CORDAGE_ALWAYS_INLINE bool copy_head(q8_0, const q8_0_block* from, const head_place&, q8_0_block* to,
                                         const head_place&, index_t count) const noexcept {
        tensors_detail::copy_elements(from, to, count / lanes_of_element);
        return true;
    }
    friend constexpr bool operator==(q8_0, q8_0) = default;
};

/// Heads in blocks of q4_0, bit for bit those of ggml's quantize_row_q4_0_ref.
struct q4_0 {
    using compute = float;
    static constexpr index_t lanes_of_element = 32;

    template <class Lane>
    CORDAGE_ALWAYS_INLINE void load_head(const q4_0_block* from, const head_place&, float* lanes,
                                         index_t count) const noexcept {
        for (; count > 0; count -= 32, lanes += 32, ++from) {
            const float d = to_float(from->d);
            tensors_detail::for_each_lane<Lane>(16, [&]<class L>(lane_memory<L>,
                                                                 index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
                using word = typename lane_traits<L>::word;
                const word both = lane_memory<L>::load_bytes(from->codes.data() + i);
                const auto store = [&](const word& code, index_t lane) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    lane_memory<L>::store(L(lane_traits<L>::from_signed(word(code - word(8u))) * L(d)), lanes + lane);
                };
                store(word(both & word(15u)), i);
                store(word(both >> 4), i + 16);
            });
        }
    }
    template <class Lane>
    CORDAGE_ALWAYS_INLINE void store_head(const float* lanes, index_t count, q4_0_block* to,
                                          const head_place&) const noexcept {
        tensors_detail::write_groups(
            count / 32,
            [&](index_t block)
                CORDAGE_ALWAYS_INLINE_LAMBDA { return tensors_detail::largest_lane<Lane>(lanes + 32 * block, 32); },
            [&](index_t block, float largest) CORDAGE_ALWAYS_INLINE_LAMBDA {
                const block_scale scale = scale_of(largest);
                to[block].d = scale.d;
                return scale.inverse;
            },
            [&](index_t block, float inverse) CORDAGE_ALWAYS_INLINE_LAMBDA {
                const auto pack = [&]<class L>(lane_memory<L>, index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    const auto code = [&](index_t lane) CORDAGE_ALWAYS_INLINE_LAMBDA {
                        return tensors_detail::q4_0_code(lane_memory<L>::load(lanes + 32 * block + lane), inverse);
                    };
                    lane_memory<L>::store_bytes(code(i) | (code(i + 16) << 4), to[block].codes.data() + i);
                };
                tensors_detail::for_each_lane<Lane>(16, pack);
            });
    }
    /// The scale of a block whose first lane of largest magnitude is `largest`, with its sign.
    CORDAGE_HOST_DEVICE static CORDAGE_ALWAYS_INLINE block_scale scale_of(float largest) noexcept {
        const float d = largest / -8.0f;
        // d = 0 / -8 = -0, whose sign fast-math may drop
        return {largest != 0.0f ? element_traits<float16>::store(d) : float16::from_bits(0x8000),
                tensors_detail::inverse_or_zero(d)};
    }
    CORDAGE_ALWAYS_INLINE bool copy_head(q4_0, const q4_0_block* from, const head_place&, q4_0_block* to,
                                         const head_place&, index_t count) const noexcept {
        tensors_detail::copy_elements(from, to, count / lanes_of_element);
        return true;
    }
    friend constexpr bool operator==(q4_0, q4_0) = default;
};
static_assert(head_format<q8_0, q8_0_block> && head_format<q4_0, q4_0_block>);

}  // namespace cordage
