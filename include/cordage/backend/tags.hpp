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

/// The backend whose rows of cos and sin several kernels of Backend may share (simd/shared_rows.hpp); void if none may.
template <class Backend>
struct maker_of_rows {
    using type = void;
};
template <class Real>
class shared_rows;  // declared for builds without SIMD, such as those of nvcc
template <class Arch>
struct maker_of_rows<simd<Arch>> {
    using type = simd<Arch>;
};

}  // namespace cordage::backend
