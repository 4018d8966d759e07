// SPDX-License-Identifier: MIT
// The kernels of cordage::rotate_and_store for CUDA, on torch's current stream.
#include "store_cuda.hpp"

#include <torch/library.h>

#include "cache_path.hpp"

TORCH_LIBRARY_IMPL(cordage, CUDA, m) {
    m.impl("rotate_and_store", &cordage_torch::rotate_and_store<cordage::aten::on_gpu>);
}
