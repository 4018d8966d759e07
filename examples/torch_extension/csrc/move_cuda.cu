// SPDX-License-Identifier: MIT
// The kernels of cordage::move for CUDA, on torch's current stream.
#include <torch/library.h>

#include "cache_path.hpp"
#include "cordage/host/aten/rotation.cuh"

TORCH_LIBRARY_IMPL(cordage, CUDA, m) { m.impl("move", &cordage_torch::move<cordage::aten::on_gpu>); }
