// SPDX-License-Identifier: MIT
// The operators of the cache path, for tensors on any device: norm and rotation in one pass, k and v stored into a
// paged cache, moves of cached keys.
#pragma once

#include <c10/core/InferenceMode.h>

#include <utility>

#include "cordage/host/aten/paged_cache.hpp"
#include "rotate.hpp"

namespace cordage_torch {

namespace detail {

inline cordage::aten::norm_tensors norm_of(at::TensorList weights, double eps, bool adds_one, bool over_all_heads,
                                           bool after_rotation, bool rounded_between) {
    return {weights.vec(), eps, adds_one, over_all_heads, after_rotation, rounded_between};
}

inline cordage::aten::cache_tensors cache_of(const at::Tensor& keys, const at::Tensor& values,
                                             const std::optional<at::Tensor>& key_scales,
                                             const std::optional<at::Tensor>& value_scales, bool scales_round_up,
                                             double scale_least, double key_tensor_scale, double value_tensor_scale) {
    return {keys,
            values,
            key_scales.value_or(at::Tensor()),
            value_scales.value_or(at::Tensor()),
            scales_round_up,
            static_cast<float>(scale_least),
            static_cast<float>(key_tensor_scale),
            static_cast<float>(value_tensor_scale)};
}

/// Checks that versions can be incremented: those of a tensor made in inference mode can only be within it.
inline void check_versions(const char* function, const cordage::aten::cache_tensors& cache) {
    if (c10::InferenceMode::is_enabled()) return;
    for (const auto& [name, x] :
         {std::pair("keys", cache.keys), std::pair("values", cache.values), std::pair("key_scales", cache.key_scales),
          std::pair("value_scales", cache.value_scales)}) {
        if (!x.defined() || !x.is_inference()) continue;
        cordage::fail<cordage::value_error>({function, ": ", name,
                                             " made in inference mode must be written in it; call ", function,
                                             " under torch.inference_mode(), or make the cache outside"});
    }
}
/// Increments the version of a cache that was written, so that autograd detects modified saved tensors.
inline void bump_versions(const cordage::aten::cache_tensors& cache) {
    for (const at::Tensor& x : {cache.keys, cache.values, cache.key_scales, cache.value_scales}) {
        if (x.defined()) x.unsafeGetTensorImpl()->bump_version();
    }
}

}  // namespace detail

template <class Device>
std::vector<at::Tensor> rotate_normalized(at::TensorList x, at::TensorList weights, double eps, bool adds_one,
                                          bool over_all_heads, bool after_rotation, bool rounded_between,
                                          const at::Tensor& position_ids, const at::Tensor& inv_freq,
                                          const at::Tensor& attention_factor, bool interleaved, bool heads_first) {
    return guarded([&] {
        using namespace cordage;
        const auto by = aten::angles_of(position_ids, inv_freq, attention_factor);
        const auto norm = detail::norm_of(weights, eps, adds_one, over_all_heads, after_rotation, rounded_between);
        const auto seen = detail::transposed_if(heads_first, x);
        return detail::transposed_if(heads_first,
                                     interleaved ? aten::rotation_forward<cordage::interleaved, Device>(seen, by, norm)
                                                 : aten::rotation_forward<half_split, Device>(seen, by, norm));
    });
}

/// As rotate_gradients, with the gradients to weights second, in the weights' types.
template <class Device>
std::tuple<std::vector<at::Tensor>, std::vector<at::Tensor>, at::Tensor, at::Tensor, at::Tensor>
rotate_normalized_backward(at::TensorList grad_y, at::TensorList x, at::TensorList weights, double eps, bool adds_one,
                           bool over_all_heads, bool after_rotation, bool rounded_between,
                           const at::Tensor& position_ids, const at::Tensor& inv_freq,
                           const at::Tensor& attention_factor, bool interleaved, std::array<bool, 3> wanted,
                           bool wants_weights, bool heads_first) {
    return guarded([&] {
        using namespace cordage;
        const auto by = aten::angles_of(position_ids, inv_freq, attention_factor);
        const auto norm = detail::norm_of(weights, eps, adds_one, over_all_heads, after_rotation, rounded_between);
        const aten::wanted_gradients behind{wanted[0], wanted[1], wanted[2], wants_weights};
        const auto grads_seen = detail::transposed_if(heads_first, grad_y),
                   seen = detail::transposed_if(heads_first, x);
        auto grads = interleaved
                         ? aten::rotation_backward<cordage::interleaved, Device>(grads_seen, seen, by, behind, norm)
                         : aten::rotation_backward<half_split, Device>(grads_seen, seen, by, behind, norm);
        for (std::size_t i = 0; i < grads.weights.size(); ++i)
            grads.weights[i] = grads.weights[i].to(weights[i].options());
        return std::tuple(detail::transposed_if(heads_first, grads.x), std::move(grads.weights),
                          detail::like(grads.position_ids, position_ids), detail::like(grads.inv_freq, inv_freq),
                          detail::like(grads.attention_factor, attention_factor));
    });
}

template <class Device>
at::Tensor rotate_and_store(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& keys,
                            const at::Tensor& values, const std::optional<at::Tensor>& key_scales,
                            const std::optional<at::Tensor>& value_scales, const at::Tensor& slot_mapping,
                            at::TensorList weights, std::optional<double> eps, bool adds_one, bool over_all_heads,
                            bool after_rotation, bool rounded_between, const at::Tensor& position_ids,
                            const at::Tensor& inv_freq, const at::Tensor& attention_factor, bool interleaved,
                            bool scales_round_up, double scale_least, double key_tensor_scale,
                            double value_tensor_scale) {
    return guarded([&] {
        using namespace cordage;
        const auto by = aten::angles_of(position_ids, inv_freq, attention_factor);
        const auto cache = detail::cache_of(keys, values, key_scales, value_scales, scales_round_up, scale_least,
                                            key_tensor_scale, value_tensor_scale);
        detail::check_versions("rotate_and_store", cache);
        std::optional<aten::norm_tensors> norm;
        if (eps) norm = detail::norm_of(weights, *eps, adds_one, over_all_heads, after_rotation, rounded_between);
        at::Tensor rotated =
            interleaved ? aten::rotate_and_store<cordage::interleaved, Device>(q, k, v, cache, slot_mapping, by, norm)
                        : aten::rotate_and_store<half_split, Device>(q, k, v, cache, slot_mapping, by, norm);
        detail::bump_versions(cache);
        return rotated;
    });
}

template <class Device>
void move(const at::Tensor& keys, const at::Tensor& values, const std::optional<at::Tensor>& key_scales,
          const std::optional<at::Tensor>& value_scales, const at::Tensor& from_slots, const at::Tensor& to_slots,
          const at::Tensor& from_position_ids, const at::Tensor& from_inv_freq, const at::Tensor& from_attention_factor,
          const at::Tensor& position_ids, const at::Tensor& inv_freq, const at::Tensor& attention_factor,
          bool interleaved, bool scales_round_up, double scale_least, double key_tensor_scale,
          double value_tensor_scale) {
    guarded([&] {
        using namespace cordage;
        const auto from = aten::angles_of(from_position_ids, from_inv_freq, from_attention_factor);
        const auto to = aten::angles_of(position_ids, inv_freq, attention_factor);
        const auto cache = detail::cache_of(keys, values, key_scales, value_scales, scales_round_up, scale_least,
                                            key_tensor_scale, value_tensor_scale);
        detail::check_versions("move", cache);
        if (interleaved)
            aten::move<cordage::interleaved, Device>(cache, from_slots, to_slots, from, to);
        else
            aten::move<half_split, Device>(cache, from_slots, to_slots, from, to);
        detail::bump_versions(cache);
    });
}

}  // namespace cordage_torch
