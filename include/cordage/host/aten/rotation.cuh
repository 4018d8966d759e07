// SPDX-License-Identifier: MIT
// The rotation of libtorch's tensors on a GPU and its backward pass, without autograd; serves host/aten/autograd.hpp
// and hosts that register operators of their own.
#pragma once

#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstring>

#include "cordage/cuda.cuh"
#include "cordage/host/aten/device_bases.hpp"
#include "cordage/host/aten/rotation.hpp"

namespace cordage::aten {

namespace detail {

/// A basis in device memory, for launch_basis_words.
struct numbers_on_gpu {
    const double* rates;   // [rotary_dim/2]
    const double* factor;  // or null
    double number;         // the factor where that is null

    __device__ double inv_freq(index_t, index_t pair) const { return rates[pair]; }
    __device__ double attention_factor(index_t) const { return factor == nullptr ? number : *factor; }
};

}  // namespace detail

/// Selects the kernels for a GPU, on libtorch's current stream. x (float32, float16 or bfloat16), position_ids, weights
/// of norms, caches and slots are on one device, inv_freq there or on the CPU. All gradients are on the device of
/// grad_y, also that of inv_freq.
///
///   rotation_forward<half_split, on_gpu>({q, k}, by);
///   rotation_forward<half_split, on_gpu>({q, k}, by, norm);
///   rotate_and_store<half_split, on_gpu>(q, k, v, cache, slots, by);
///
/// Does not synchronise, and may be captured in a graph. One kernel computes the words of an inv_freq on the device, so
/// that a graph follows it when it changes. Of an inv_freq on the CPU a graph keeps the values of its capture; a basis
/// not used by an earlier call is copied to the device, which takes some microseconds; the last 64 stay there.
class on_gpu {
 public:
    static constexpr at::DeviceType device = at::kCUDA;
    static constexpr bool has_double = false;

    on_gpu(const at::Tensor& x, const angle_tensors& by)
        : guard_(x.device()),
          pairs_(by.inv_freq.numel()),
          stream_(c10::cuda::getCurrentCUDAStream()),
          words_(by.inv_freq.is_cpu() ? cached_words(by, x.device()) : computed_words(by)) {}

    auto where() const { return on(stream_); }
    template <class P>
    device_angles<P> angles(const position_view<P>& ids) const {
        return {{words_.data_ptr(), pairs_}, ids};
    }
    template <pairing Pairing>
    void backward(const auto& of_tokens, rotation_gradients grads, const auto& first, const auto&... more) const {
        const index_t weights = std::max({std::ssize(first.grad_weight), std::ssize(more.grad_weight)...});
        at::Tensor workspace;
        if (weights > 0 || !grads.inv_freq.empty() || !grads.attention_factor.empty()) {
            const index_t size = backward_workspace_size(of_tokens, first.shape(), weights);
            workspace = at::empty({size}, words_.options().dtype(at::kDouble));
            grads.workspace = {workspace.data_ptr<double>(), static_cast<std::size_t>(size)};
        }
        rotate_backward<Pairing>(where(), of_tokens, grads, first, more...);
    }

 private:
    at::Tensor computed_words(const angle_tensors& by) const {
        const at::Tensor inv_freq = detail::dense(by.inv_freq, at::kDouble);
        at::Tensor factor;
        if (by.factor_on_gpu.defined()) factor = detail::dense(by.factor_on_gpu, at::kDouble);
        const detail::numbers_on_gpu numbers{
            inv_freq.data_ptr<double>(), factor.defined() ? factor.data_ptr<double>() : nullptr, by.attention_factor};
        at::Tensor words = at::empty({device_words_size(pairs_)}, inv_freq.options().dtype(at::kLong));
        backend::launch_basis_words(stream_, numbers, pairs_, 1, static_cast<std::uint64_t*>(words.data_ptr()));
        return words;
    }
    at::Tensor cached_words(const angle_tensors& by, const at::Device& device) const {
        static auto& bases = *new detail::device_bases;  // never destroyed: CUDA is unloaded before statics are
        const bool is_captured = c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
        at::Tensor held;
        at::Tensor words = bases.words_of(detail::numbers_of(by.inv_freq, held), by.attention_factor, device,
                                          is_captured, [&](const basis& b) { return uploaded(b, device); });
        if (!is_captured) words.record_stream(stream_.unwrap());  // evicted words are freed after this stream's work
        return words;
    }
    /// Copies the words to the device on a separate stream and waits for that stream only. Pending work of the current
    /// stream and a graph capture are unaffected: torch's pool of 32 streams, which are used in turn, has captures too.
    static at::Tensor uploaded(const basis& b, const at::Device& device) {
        const std::vector<std::uint64_t> words = device_words(b);
        const c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
        c10::cuda::CUDAStream other = c10::cuda::getStreamFromPool(false, device.index());
        const auto is_captured = [&] {
            cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
            C10_CUDA_CHECK(cudaStreamIsCapturing(other, &status));
            return status != cudaStreamCaptureStatusNone;
        };
        while (is_captured()) other = c10::cuda::getStreamFromPool(false, device.index());
        const c10::cuda::CUDAStreamGuard aside(other);
        at::Tensor here = at::empty({static_cast<std::int64_t>(words.size())}, at::kLong);
        std::memcpy(here.data_ptr(), words.data(), sizeof(std::uint64_t) * words.size());
        return here.to(device);
    }

    c10::cuda::CUDAGuard guard_;
    index_t pairs_;
    c10::cuda::CUDAStream stream_;
    at::Tensor words_;  // device_words of the basis, on the device
};

}  // namespace cordage::aten
