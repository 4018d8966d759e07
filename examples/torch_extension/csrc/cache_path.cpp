// SPDX-License-Identifier: MIT
// The operators of the cache path: norm and rotation in one pass, k and v stored into a paged cache, moves of cached
// keys; for the CPU. Autograd of the norm and fake kernels are in cordage_torch/.
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include "cordage/host/aten/paged_cache.hpp"
#include "rotate.hpp"

namespace cordage_torch {

namespace {

using at::Tensor;
using std::optional;
using tensors = std::vector<Tensor>;
using cordage::half_split;

cordage::aten::norm_tensors norm_of(at::TensorList weights, double eps, bool adds_one, bool over_all_heads,
                                    bool after_rotation, bool rounded_between) {
    return {weights.vec(), eps, adds_one, over_all_heads, after_rotation, rounded_between};
}

tensors rotate_normalized(at::TensorList x, at::TensorList weights, double eps, bool adds_one, bool over_all_heads,
                          bool after_rotation, bool rounded_between, const Tensor& position_ids, const Tensor& inv_freq,
                          const Tensor& attention_factor, bool interleaved) {
    return guarded([&] {
        const auto by = detail::angles_of(position_ids, inv_freq, attention_factor);
        const auto norm = norm_of(weights, eps, adds_one, over_all_heads, after_rotation, rounded_between);
        return interleaved ? cordage::aten::normalized_rotation_forward<cordage::interleaved>(x, norm, by)
                           : cordage::aten::normalized_rotation_forward<half_split>(x, norm, by);
    });
}

/// As rotate_gradients, with the gradients to weights second, in the weights' types.
std::tuple<tensors, tensors, Tensor, Tensor, Tensor> rotate_normalized_backward(
    at::TensorList grad_y, at::TensorList x, at::TensorList weights, double eps, bool adds_one, bool over_all_heads,
    bool after_rotation, bool rounded_between, const Tensor& position_ids, const Tensor& inv_freq,
    const Tensor& attention_factor, bool interleaved, std::array<bool, 3> wanted, bool wants_weights) {
    return guarded([&] {
        using namespace cordage;
        const auto by = detail::angles_of(position_ids, inv_freq, attention_factor);
        const auto norm = norm_of(weights, eps, adds_one, over_all_heads, after_rotation, rounded_between);
        const aten::wanted_gradients behind{wanted[0], wanted[1], wanted[2]};
        auto grads =
            interleaved
                ? aten::normalized_rotation_backward<cordage::interleaved>(grad_y, x, norm, by, behind, wants_weights)
                : aten::normalized_rotation_backward<half_split>(grad_y, x, norm, by, behind, wants_weights);
        for (std::size_t i = 0; i < grads.weights.size(); ++i)
            grads.weights[i] = grads.weights[i].to(weights[i].options());
        return std::tuple(std::move(grads.x), std::move(grads.weights), detail::like(grads.position_ids, position_ids),
                          detail::like(grads.inv_freq, inv_freq),
                          detail::like(grads.attention_factor, attention_factor));
    });
}

cordage::aten::cache_tensors cache_of(const Tensor& keys, const Tensor& values, const optional<Tensor>& key_scales,
                                      const optional<Tensor>& value_scales) {
    return {keys, values, key_scales.value_or(Tensor()), value_scales.value_or(Tensor())};
}

/// Increments the version of a cache that was written, so that autograd detects modified saved tensors.
void bump_versions(const cordage::aten::cache_tensors& cache) {
    for (const Tensor& x : {cache.keys, cache.values, cache.key_scales, cache.value_scales}) {
        if (x.defined()) x.unsafeGetTensorImpl()->bump_version();
    }
}

Tensor rotate_and_store(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& keys, const Tensor& values,
                        const optional<Tensor>& key_scales, const optional<Tensor>& value_scales,
                        const Tensor& slot_mapping, at::TensorList weights, optional<double> eps, bool adds_one,
                        bool over_all_heads, bool after_rotation, bool rounded_between, const Tensor& position_ids,
                        const Tensor& inv_freq, const Tensor& attention_factor, bool interleaved) {
    return guarded([&] {
        using namespace cordage;
        const auto by = detail::angles_of(position_ids, inv_freq, attention_factor);
        const auto cache = cache_of(keys, values, key_scales, value_scales);
        optional<aten::norm_tensors> norm;
        if (eps) norm = norm_of(weights, *eps, adds_one, over_all_heads, after_rotation, rounded_between);
        Tensor rotated = interleaved
                             ? aten::rotate_and_store<cordage::interleaved>(q, k, v, cache, slot_mapping, by, norm)
                             : aten::rotate_and_store<half_split>(q, k, v, cache, slot_mapping, by, norm);
        bump_versions(cache);
        return rotated;
    });
}

void move(const Tensor& keys, const Tensor& values, const optional<Tensor>& key_scales,
          const optional<Tensor>& value_scales, const Tensor& from_slots, const Tensor& to_slots,
          const Tensor& from_position_ids, const Tensor& from_inv_freq, const Tensor& from_attention_factor,
          const Tensor& position_ids, const Tensor& inv_freq, const Tensor& attention_factor, bool interleaved) {
    guarded([&] {
        using namespace cordage;
        const auto from = detail::angles_of(from_position_ids, from_inv_freq, from_attention_factor);
        const auto to = detail::angles_of(position_ids, inv_freq, attention_factor);
        const auto cache = cache_of(keys, values, key_scales, value_scales);
        if (interleaved)
            aten::move<cordage::interleaved>(cache, from_slots, to_slots, from, to);
        else
            aten::move<half_split>(cache, from_slots, to_slots, from, to);
        bump_versions(cache);
    });
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(cordage, m) {
    const std::string norm =
        "bool adds_one, bool over_all_heads, bool after_rotation, bool rounded_between, Tensor position_ids, "
        "Tensor inv_freq, Tensor attention_factor, bool interleaved";
    const std::string cache = "Tensor(a!) keys, Tensor(b!) values, Tensor(c!)? key_scales, Tensor(d!)? value_scales";
    m.def(("rotate_normalized(Tensor[] x, Tensor[] weights, float eps, " + norm + ") -> Tensor[]").c_str());
    m.def(("rotate_normalized_backward(Tensor[] grad_y, Tensor[] x, Tensor[] weights, float eps, " + norm +
           ", bool[3] wanted, bool wants_weights) -> (Tensor[], Tensor[], Tensor, Tensor, Tensor)")
              .c_str());
    m.def(("rotate_and_store(Tensor q, Tensor k, Tensor v, " + cache +
           ", Tensor slot_mapping, Tensor[] weights, float? eps, " + norm + ") -> Tensor")
              .c_str());
    m.def(("move(" + cache +
           ", Tensor from_slots, Tensor to_slots, Tensor from_position_ids, Tensor from_inv_freq, Tensor "
           "from_attention_factor, Tensor position_ids, Tensor inv_freq, Tensor attention_factor, bool interleaved) "
           "-> ()")
              .c_str());
}

TORCH_LIBRARY_IMPL(cordage, CPU, m) {
    m.impl("rotate_normalized", &rotate_normalized);
    m.impl("rotate_normalized_backward", &rotate_normalized_backward);
    m.impl("rotate_and_store", &rotate_and_store);
    m.impl("move", &move);
}

// Operators that write a cache have no derivative; requesting one is an error.
TORCH_LIBRARY_IMPL(cordage, Autograd, m) {
    for (const char* name : {"rotate_and_store", "move"})
        m.impl(name, torch::autograd::autogradNotImplementedFallback());
}

}  // namespace cordage_torch
