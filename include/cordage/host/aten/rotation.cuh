// SPDX-License-Identifier: MIT
// The rotation of libtorch's tensors on a GPU and its backward pass, without autograd; serves host/aten/autograd.cuh and hosts
// that register operators of their own.
#pragma once

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstring>

#include "cordage/cuda.cuh"
#include "cordage/host/aten/rotation.hpp"

namespace cordage::aten {

/// On a GPU, on libtorch's current stream: x float32, float16 or bfloat16 and position_ids on one device, inv_freq on
/// the CPU. Gradients lie on the device of grad_y, inv_freq's too.
///
///   rotation_forward<half_split, on_gpu>({q, k}, by);
class on_gpu {
 public:
    static constexpr at::DeviceType device = at::kCUDA;

    on_gpu(const at::Tensor& x, const basis& b)
        : guard_(x.device()), pairs_(b.pairs()), stream_(c10::cuda::getCurrentCUDAStream()) {
        const std::vector<std::uint64_t> words = device_words(b);
        at::Tensor here = at::empty({static_cast<std::int64_t>(words.size())}, at::kLong);
        std::memcpy(here.data_ptr(), words.data(), sizeof(std::uint64_t) * words.size());
        words_ = here.to(x.device());
    }

    /// Calls body with a value of our type for the tensors' elements; complains by name about the others.
    template <class Body>
    static void for_element_type(const at::Tensor& x, const Body& body) {
        switch (x.scalar_type()) {
            case at::kFloat:
                return body(float{});
            case at::kHalf:
                return body(float16{});
            case at::kBFloat16:
                return body(bfloat16{});
            default:
                fail<value_error>({"aten::rotate: x of type ", at::toString(x.scalar_type()),
                                   " on a GPU must be float32, float16 or bfloat16"});
        }
    }

    template <pairing Pairing, class P>
    void forward(const position_view<P>& ids, const auto&... operands) const {
        rotate_forward<Pairing>(on(stream_), angles(ids), operands...);
    }
    template <pairing Pairing, class P>
    void backward(const position_view<P>& ids, const auto&... operands) const {
        rotate_backward<Pairing>(on(stream_), angles(ids), operands...);
    }
    template <pairing Pairing, class P>
    void backward_through(const position_view<P>& ids, const rotation_gradients& grads, const auto& first,
                          const auto&... more) const {
        const index_t size = backward_workspace_size(angles(ids), first.shape());
        const at::Tensor workspace = at::empty({size}, words_.options().dtype(at::kDouble));
        const std::span numbers(workspace.data_ptr<double>(), static_cast<std::size_t>(size));
        rotate_backward<Pairing>(on(stream_), angles(ids), grads, numbers, first, more...);
    }

 private:
    template <class P>
    device_angles<P> angles(const position_view<P>& ids) const {
        return {{words_.data_ptr(), pairs_}, ids};
    }

    c10::cuda::CUDAGuard guard_;
    index_t pairs_;
    at::Tensor words_;  // device_words of the basis, on the device
    c10::cuda::CUDAStream stream_;
};

}  // namespace cordage::aten
