// SPDX-License-Identifier: MIT
// The rotation of libtorch's tensors on a GPU and its backward pass, without autograd; serves host/aten/autograd.cuh
// and hosts that register operators of their own.
#pragma once

#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstring>

#include "cordage/cuda.cuh"
#include "cordage/host/aten/device_bases.hpp"
#include "cordage/host/aten/rotation.hpp"

namespace cordage::aten {

/// Selects the kernels for a GPU, on libtorch's current stream. x (float32, float16 or bfloat16) and position_ids are
/// on one device, inv_freq is on the CPU. All gradients are on the device of grad_y, also that of inv_freq.
///
///   rotation_forward<half_split, on_gpu>({q, k}, by);
///
/// Does not synchronise, and may be captured in a graph, which keeps the values that inv_freq and attention_factor have
/// at capture. A basis not used by an earlier call is copied to the device, which takes some microseconds; the last 64
/// stay there.
class on_gpu {
 public:
    static constexpr at::DeviceType device = at::kCUDA;
    static constexpr bool has_double = false;

    on_gpu(const at::Tensor& x, const angle_tensors& by)
        : guard_(x.device()), pairs_(by.inv_freq.numel()), stream_(c10::cuda::getCurrentCUDAStream()) {
        static auto& bases = *new detail::device_bases;  // never destroyed: CUDA is unloaded before statics are
        const bool is_captured = c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
        at::Tensor held;
        words_ = bases.words_of(detail::numbers_of(by.inv_freq, held), by.attention_factor, x.device(), is_captured,
                                [&](const basis& b) { return uploaded(b, x.device()); });
        if (!is_captured) words_.record_stream(stream_.unwrap());  // evicted words are freed after this stream's work
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
    void backward_through(const position_view<P>& ids, rotation_gradients grads, const auto& first,
                          const auto&... more) const {
        const index_t size = backward_workspace_size(angles(ids), first.shape());
        const at::Tensor workspace = at::empty({size}, words_.options().dtype(at::kDouble));
        grads.workspace = {workspace.data_ptr<double>(), static_cast<std::size_t>(size)};
        rotate_backward<Pairing>(on(stream_), angles(ids), grads, first, more...);
    }

 private:
    /// Copies the words to the device on a separate stream and waits for that stream only. Pending work of the current
    /// stream and a graph capture are unaffected.
    static at::Tensor uploaded(const basis& b, const at::Device& device) {
        const std::vector<std::uint64_t> words = device_words(b);
        const c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
        const c10::cuda::CUDAStreamGuard aside(c10::cuda::getStreamFromPool(false, device.index()));
        at::Tensor here = at::empty({static_cast<std::int64_t>(words.size())}, at::kLong);
        std::memcpy(here.data_ptr(), words.data(), sizeof(std::uint64_t) * words.size());
        return here.to(device);
    }

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
