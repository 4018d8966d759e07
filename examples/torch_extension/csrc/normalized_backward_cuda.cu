// SPDX-License-Identifier: MIT
// The kernels of cordage::rotate_normalized_backward for CUDA, on torch's current stream.
#include <torch/library.h>

#include "cache_path.hpp"
#include "cordage/host/aten/rotation.cuh"

TORCH_LIBRARY_IMPL(cordage, CUDA, m) {
    m.impl("rotate_normalized_backward", &cordage_torch::rotate_normalized_backward<cordage::aten::on_gpu>);
}
