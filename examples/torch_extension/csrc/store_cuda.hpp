// SPDX-License-Identifier: MIT
// The kernels that store into a cache on a GPU, which are compiled in a translation unit for each pairing.
#pragma once

#include "cordage/host/aten/paged_cache.hpp"
#include "cordage/host/aten/rotation.cuh"

namespace cordage::aten {

extern template at::Tensor rotate_and_store<half_split, on_gpu>(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                                                const cache_tensors&, const at::Tensor&,
                                                                const angle_tensors&,
                                                                const std::optional<norm_tensors>&);
extern template at::Tensor rotate_and_store<interleaved, on_gpu>(const at::Tensor&, const at::Tensor&,
                                                                 const at::Tensor&, const cache_tensors&,
                                                                 const at::Tensor&, const angle_tensors&,
                                                                 const std::optional<norm_tensors>&);

}  // namespace cordage::aten
