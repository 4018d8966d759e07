// SPDX-License-Identifier: MIT
// Compiled once for each instruction set, as KERNELS. Such a unit contains only kernels: every symbol that it defines
// has its instruction set in its name. Checks, errors and containers are in units that any processor can run.
// [kernels_unit]
#include "kernels.hpp"

#include "cordage/backend/simd/forward.hpp"

namespace {

void forward(const angles& a, tensors t, cordage::index_t begin, cordage::index_t end) noexcept {
    using namespace cordage;
    backend::rotate_range<half_split, backend::forward>(backend::simd<xsimd::default_arch>{}, a, t, begin, end);
}

}  // namespace

constinit const kernels KERNELS{xsimd::default_arch::name(), forward};  // constinit: nothing runs before main
// [/kernels_unit]
