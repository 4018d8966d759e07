// SPDX-License-Identifier: MIT
#include "store_cuda.hpp"

namespace cordage::aten {

template at::Tensor rotate_and_store<half_split, on_gpu>(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                                         const cache_tensors&, const at::Tensor&, const angle_tensors&,
                                                         const std::optional<norm_tensors>&);

}  // namespace cordage::aten
