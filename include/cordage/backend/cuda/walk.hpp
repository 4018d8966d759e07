// SPDX-License-Identifier: MIT
// Which tokens and heads are a thread's; serves the CUDA kernels.
#pragma once

#include "cordage/backend/cuda/block_view.hpp"
#include "cordage/core/operand.hpp"

namespace cordage::backend {

struct token_place {
    index_t row;
    index_t token;  // of the row
};

/// @param number  row * tokens + token, not negative. Divides in 32 bits where that is enough
CORDAGE_HOST_DEVICE inline token_place place_of(index_t number, index_t tokens) noexcept {
    if (((number | tokens) >> 32) == 0) {
        const auto n = static_cast<std::uint32_t>(number), t = static_cast<std::uint32_t>(tokens);
        return {n / t, n % t};
    }
    return {number / tokens, number % tokens};
}

/// Tensors that one launch turns.
inline constexpr int most_operands = 4;

/// Calls f(operand, head) for the heads of thread y, every (threads.y * blocks.y)-th one, counted through all operands.
template <class Operand, class F>
CORDAGE_HOST_DEVICE void for_each_head(const block_view& at, const Operand (&operands)[most_operands], int count,
                                       const F& f) noexcept {
    const auto step = static_cast<std::int32_t>(at.blocks.y * at.threads.y);
    auto head = static_cast<std::int32_t>(at.block.y * at.threads.y + at.thread.y);
    for (int n = 0; n < count; ++n) {
        const Operand& o = operands[n];
        const auto heads = static_cast<std::int32_t>(o.shape().heads);  // checked: at most 2^24
        for (; head < heads; head += step) f(o, head);
        head -= heads;
    }
}

}  // namespace cordage::backend
