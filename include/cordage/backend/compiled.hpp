// SPDX-License-Identifier: MIT
// The backends that a translation unit is compiled with; serves stage rotation.
#pragma once

#include "cordage/backend/scalar/backward.hpp"
#include "cordage/backend/scalar/forward.hpp"
#include "cordage/backend/scalar/table.hpp"

// xsimd has vectors if the compiler targets an instruction set with them; CORDAGE_NO_SIMD selects the scalar backend.
#if !defined(CORDAGE_NO_SIMD) && __has_include(<xsimd/xsimd.hpp>)
#include "cordage/backend/simd/backward.hpp"
#include "cordage/backend/simd/forward.hpp"
#include "cordage/backend/simd/table.hpp"
#if !defined(XSIMD_NO_SUPPORTED_ARCHITECTURE)
#define CORDAGE_HAS_SIMD 1
#endif
#endif

namespace cordage::backend {

/// The fastest backend for the instruction set of this translation unit.
#if defined(CORDAGE_HAS_SIMD)
using compiled = simd<xsimd::default_arch>;
#else
using compiled = scalar;
#endif

}  // namespace cordage::backend
