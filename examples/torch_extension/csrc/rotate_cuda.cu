// SPDX-License-Identifier: MIT
// The kernels of cordage::rotate for CUDA, on torch's current stream.
#include <torch/library.h>

#include "cordage/host/aten/rotation.cuh"
#include "rotate.hpp"

TORCH_LIBRARY_IMPL(cordage, CUDA, m) {
    m.impl("rotate", &cordage_torch::rotate<cordage::aten::on_gpu>);
    m.impl("rotate_backward", &cordage_torch::rotate_backward<cordage::aten::on_gpu>);
}
