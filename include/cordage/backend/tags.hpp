// SPDX-License-Identifier: MIT
// The backends by name; serves rotation.
#pragma once

namespace cordage::backend {

/// The plain reference implementation that every other backend is tested against.
struct scalar {};

/// Vectors of xsimd's Arch for every element type. Arch is part of every symbol, so that translation units built for
/// different instruction sets link into one program.
template <class Arch>
struct simd {};

}  // namespace cordage::backend
