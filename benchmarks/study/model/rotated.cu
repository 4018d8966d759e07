// SPDX-License-Identifier: MIT
// The rotation on a GPU, apart from what other compilers than nvcc read.
#include "cordage/host/aten/autograd.cuh"
#include "model/rotary.hpp"

namespace demo {

at::Tensor rotated_on_gpu(const at::Tensor& x, const rotary& turn) {
    return cordage::aten::cuda_rotate<cordage::half_split>(x, turn.position_ids, turn.inv_freq, turn.attention_factor);
}

}  // namespace demo
