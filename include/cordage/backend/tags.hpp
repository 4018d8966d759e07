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

template <class Real>
class shared_rows;  // declared for builds without SIMD, such as those of nvcc
/// The backend whose rows of cos and sin, of type Real, several kernels of a backend share (simd/shared_rows.hpp), if
/// there is one.
template <class Real, class Arch>
constexpr simd<Arch> maker_of_rows(simd<Arch> backend) noexcept {
    return backend;
}

}  // namespace cordage::backend
