// SPDX-License-Identifier: MIT
// From a token's number in the batch to its row; serves the CUDA kernels.
#pragma once

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"

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

}  // namespace cordage::backend
