// SPDX-License-Identifier: MIT
// Which backend a call uses when it names none; serves angles and rotation.
#pragma once

#include "cordage/backend/scalar/backward.hpp"
#include "cordage/backend/scalar/forward.hpp"
#include "cordage/backend/scalar/table.hpp"

// xsimd has vectors where the compiler was told of an instruction set; CORDAGE_NO_SIMD asks for the scalar backend.
#if !defined(CORDAGE_NO_SIMD) && __has_include(<xsimd/xsimd.hpp>)
#include "cordage/backend/simd/backward.hpp"
#include "cordage/backend/simd/forward.hpp"
#include "cordage/backend/simd/table.hpp"
#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
#define CORDAGE_HAS_SIMD 1
#endif
#endif

namespace cordage::backend {

/// The fastest backend that this translation unit can have, by its instruction set.
#if defined(CORDAGE_HAS_SIMD)
using fastest = simd<xsimd::default_arch>;
#else
using fastest = scalar;
#endif

}  // namespace cordage::backend
