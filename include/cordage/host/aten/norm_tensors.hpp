// SPDX-License-Identifier: MIT
// The RMSNorm of libtorch's tensors that a call normalizes in the pass that rotates them; serves rotation.hpp.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <vector>

#include "cordage/host/aten/view.hpp"
#include "cordage/tensors/rms_norm.hpp"

namespace cordage::aten {

/// Options of RMSNorm for all tensors of a call (tensors/rms_norm.hpp).
struct norm_tensors {
    /// One tensor of weights for each tensor of the call, [head_dim], or [heads, head_dim] if is_over_all_heads;
    /// float32, float64, float16 or bfloat16. Empty: the factor is 1.
    std::vector<at::Tensor> weights = {};
    double epsilon = 1e-6;
    bool adds_one = false;  ///< the factor is 1 + w
    bool is_over_all_heads = false;
    bool is_after_rotation = false;
    bool is_rounded_between = false;
};

namespace detail {

/// The norm of a call: norm_tensors, or no_norm for none.
template <class Norm>
concept norm_of_tensors = std::same_as<Norm, norm_tensors> || std::same_as<Norm, no_norm>;

inline void check_weights(at::TensorList, const no_norm&) {}
/// Checks that there are as many weights as tensors, or none, each of the right shape.
inline void check_weights(at::TensorList x, const norm_tensors& norm) {
    const auto& all = norm.weights;
    if (!all.empty() && all.size() != x.size()) {
        fail<shape_error>({"aten::rms_norm: weights has ", all.size(), " tensors, must have one for each of ", x.size(),
                           ", or none"});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const tensor_name name("weights", i);
        check_strided(name, all[i]);
        const at::ScalarType type = all[i].scalar_type();
        if (type != at::kFloat && type != at::kDouble && type != at::kHalf && type != at::kBFloat16) {
            fail<value_error>({"aten::rms_norm: ", name.text(), " of type ", at::toString(type),
                               " must be float32, float64, float16 or bfloat16"});
        }
        check_device(name, all[i], x[i].device());
        const index_t heads = x[i].size(2), head_dim = x[i].size(3);
        std::vector<index_t> wanted{head_dim};
        if (norm.is_over_all_heads) wanted.insert(wanted.begin(), heads);
        if (all[i].sizes() == at::IntArrayRef(wanted)) continue;
        fail<shape_error>(
            {"aten::rms_norm: ", name.text(), " ", sizes_of(all[i]), " must be ",
             norm.is_over_all_heads ? "[heads, head_dim] = " : "[head_dim] = ", c10::str(at::IntArrayRef(wanted))});
    }
}

/// The operands of a call without a norm.
struct without_norms {
    template <class Operand>
    Operand normalized(std::size_t, const Operand& operand, const auto&...) const {
        return operand;
    }
};
/// The operands of a call with a norm, whose weights are held here in type W.
template <element W>
class held_norms {
 public:
    explicit held_norms(const norm_tensors& norm) : norm_(norm) {
        for (const at::Tensor& w : norm.weights) weights_.push_back(dense(w, type_of<W>()));
    }
    /// The operand of tensor i with its norm.
    /// @param sums  of its gradient to weights, in a backward pass
    auto normalized(std::size_t i, const auto& operand, const auto&... sums) const {
        return operand.normalized(norm_of(i), sums...);
    }

 private:
    rms_norm<W> norm_of(std::size_t i) const {
        return {weights_.empty() ? nullptr : static_cast<const W*>(weights_[i].data_ptr()),
                norm_.epsilon,
                norm_.adds_one,
                norm_.is_over_all_heads,
                norm_.is_after_rotation,
                norm_.is_rounded_between};
    }

    const norm_tensors& norm_;
    std::vector<at::Tensor> weights_;
};

/// Whether all weights are of a type, so that no conversion precedes their use.
inline bool has_weights_of(const norm_tensors& norm, at::ScalarType type) {
    return std::ranges::all_of(norm.weights, [&](const at::Tensor& w) { return w.scalar_type() == type; });
}

template <class Device, class T, class Body>
void with_norms(const no_norm&, const Body& body) {
    body(without_norms());
}
/// Calls body with the norms of tensors of type T: with weights in the compute type, or on a GPU, where a conversion is
/// a kernel, in T if they are of it.
template <class Device, class T, class Body>
void with_norms(const norm_tensors& norm, const Body& body) {
    if constexpr (Device::device != at::kCPU && !std::same_as<T, compute_of<T>>) {
        if (has_weights_of(norm, type_of<T>())) return body(held_norms<T>(norm));
    }
    body(held_norms<compute_of<T>>(norm));
}

}  // namespace detail

}  // namespace cordage::aten
