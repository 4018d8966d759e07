// SPDX-License-Identifier: MIT
// The bits of one vector read as another's, which costs nothing; serves the SIMD kernels.
#pragma once

#include <bit>
#include <xsimd/xsimd.hpp>

#include "cordage/core/macros.hpp"

namespace cordage::backend {

/// The lanes of x as lanes of the batch To. (On NEON, xsimd 8.1's bitwise_cast is a call.)
template <class To, class From, class Arch>
CORDAGE_ALWAYS_INLINE To bits_as(const xsimd::batch<From, Arch>& x) noexcept {
    return std::bit_cast<typename To::register_type>(static_cast<typename xsimd::batch<From, Arch>::register_type>(x));
}

}  // namespace cordage::backend
