// SPDX-License-Identifier: MIT
// The operators of the cache path, with their kernels for the CPU. Fake kernels are in cordage_torch/.
#include "cache_path.hpp"

#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

namespace cordage_torch {

TORCH_LIBRARY_FRAGMENT(cordage, m) {
    const std::string norm =
        "bool adds_one, bool over_all_heads, bool after_rotation, bool rounded_between, Tensor position_ids, "
        "Tensor inv_freq, Tensor attention_factor, bool interleaved";
    const std::string cache = "Tensor(a!) keys, Tensor(b!) values, Tensor(c!)? key_scales, Tensor(d!)? value_scales";
    const std::string scaling =
        ", bool scales_round_up=False, float scale_least=0.0, float key_tensor_scale=1.0, float value_tensor_scale=1.0";
    m.def(
        ("rotate_normalized(Tensor[] x, Tensor[] weights, float eps, " + norm + ", bool heads_first=False) -> Tensor[]")
            .c_str());
    m.def(("rotate_normalized_backward(Tensor[] grad_y, Tensor[] x, Tensor[] weights, float eps, " + norm +
           ", bool[3] wanted, bool wants_weights, bool heads_first=False) -> (Tensor[], Tensor[], Tensor, Tensor, "
           "Tensor)")
              .c_str());
    m.def(("rotate_and_store(Tensor q, Tensor k, Tensor v, " + cache +
           ", Tensor slot_mapping, Tensor[] weights, float? eps, " + norm + scaling + ") -> Tensor")
              .c_str());
    m.def(("move(" + cache +
           ", Tensor from_slots, Tensor to_slots, Tensor from_position_ids, Tensor from_inv_freq, Tensor "
           "from_attention_factor, Tensor position_ids, Tensor inv_freq, Tensor attention_factor, bool interleaved" +
           scaling + ") -> ()")
              .c_str());
}

TORCH_LIBRARY_IMPL(cordage, CPU, m) {
    using cordage::aten::on_cpu;
    m.impl("rotate_normalized", &rotate_normalized<on_cpu>);
    m.impl("rotate_normalized_backward", &rotate_normalized_backward<on_cpu>);
    m.impl("rotate_and_store", &rotate_and_store<on_cpu>);
    m.impl("move", &move<on_cpu>);
}

// Operators that write a cache have no derivative; requesting one is an error.
TORCH_LIBRARY_IMPL(cordage, Autograd, m) {
    for (const char* name : {"rotate_and_store", "move"})
        m.impl(name, torch::autograd::autogradNotImplementedFallback());
}

}  // namespace cordage_torch
