// SPDX-License-Identifier: MIT
// The rotation of libtorch's tensors on a GPU and its backward pass, without autograd; serves host/aten.cuh and hosts
// that register operators of their own.
#pragma once

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstring>

#include "cordage/cuda.cuh"
#include "cordage/host/aten_rotation.hpp"

namespace cordage::aten {

namespace detail {

/// Calls body with a value of our type for the tensors' elements; complains by name about the others.
template <class Body>
void for_device_element_type(const at::Tensor& x, const Body& body) {
    switch (x.scalar_type()) {
        case at::kFloat:
            return body(float{});
        case at::kHalf:
            return body(float16{});
        case at::kBFloat16:
            return body(bfloat16{});
        default:
            throw value_error(message("aten::rotate: x of type ", at::toString(x.scalar_type()),
                                      " on a GPU must be float32, float16 or bfloat16"));
    }
}

/// The words of a basis on the device of x.
inline at::Tensor words_on_device(const basis& b, const at::Tensor& x) {
    const std::vector<std::uint64_t> words = device_words(b);
    at::Tensor here = at::empty({static_cast<std::int64_t>(words.size())}, at::kLong);
    std::memcpy(here.data_ptr(), words.data(), sizeof(std::uint64_t) * words.size());
    return here.to(x.device());
}

}  // namespace detail

/// rotation_forward on a GPU, on libtorch's current stream: x float32, float16 or bfloat16 and position_ids on one
/// device, inv_freq on the CPU. Otherwise as there.
template <pairing Pairing>
std::vector<at::Tensor> cuda_rotation_forward(at::TensorList x_in, const turn& by) {
    detail::check(x_in, by, at::kCUDA);
    const c10::cuda::CUDAGuard device(x_in[0].device());
    const std::vector<at::Tensor> x = detail::rows_dense(x_in), y = detail::empty_like(x);
    const basis b = detail::make_basis(by);
    const at::Tensor words = detail::words_on_device(b, x[0]);
    const auto stream = on(c10::cuda::getCurrentCUDAStream());
    detail::for_device_element_type(x[0], [&]<class T>(T) {
        const auto operand = [&](std::size_t i) { return from_to(detail::view<const T>(x[i]), detail::view<T>(y[i])); };
        detail::for_positions(by.position_ids, [&]<class P>(const position_view<P>& ids) {
            const device_angles<P> angles({words.data_ptr(), b.pairs()}, ids);
            detail::with_operands(x.size(), operand, [&](const auto&... operands) {
                rotate_forward<Pairing>(stream, angles, operands...);
            });
        });
    });
    return y;
}

/// rotation_backward on a GPU, on libtorch's current stream; what cuda_rotation_forward says of x holds for grad_y and
/// y. Gradients lie on the device of grad_y, inv_freq's too.
template <pairing Pairing>
turn_gradients cuda_rotation_backward(at::TensorList grad_y_in, at::TensorList y_in, const turn& by,
                                      const wanted_gradients& wanted) {
    detail::check(grad_y_in, by, at::kCUDA);
    const c10::cuda::CUDAGuard device(grad_y_in[0].device());
    const std::vector<at::Tensor> grad_y = detail::rows_dense(grad_y_in), y = detail::rows_dense(y_in);
    detail::check_count(grad_y, y, wanted);
    turn_gradients out = detail::zero_gradients(grad_y[0], by, wanted);
    out.x = detail::empty_like(grad_y);
    const basis b = detail::make_basis(by);
    const at::Tensor words = detail::words_on_device(b, grad_y[0]);
    const auto stream = on(c10::cuda::getCurrentCUDAStream());
    detail::for_device_element_type(grad_y[0], [&]<class T>(T) {
        const auto back = [&](std::size_t i) {
            return from_to(detail::view<const T>(grad_y[i]), detail::view<T>(out.x[i]));
        };
        const auto back_through = [&](std::size_t i) {
            return grad_through(detail::view<const T>(grad_y[i]), detail::view<const T>(y[i]),
                                detail::view<T>(out.x[i]));
        };
        detail::for_positions(by.position_ids, [&]<class P>(const position_view<P>& ids) {
            const device_angles<P> angles({words.data_ptr(), b.pairs()}, ids);
            if (!wanted.any()) {
                detail::with_operands(grad_y.size(), back, [&](const auto&... operands) {
                    rotate_backward<Pairing>(stream, angles, operands...);
                });
                return;
            }
            const index_t size = backward_workspace_size(angles, detail::view<T>(grad_y[0]).shape);
            const at::Tensor workspace = at::empty({size}, grad_y[0].options().dtype(at::kDouble));
            const std::span numbers(workspace.data_ptr<double>(), static_cast<std::size_t>(size));
            detail::with_operands(grad_y.size(), back_through, [&](const auto&... operands) {
                rotate_backward<Pairing>(stream, angles, detail::spans_of(out), numbers, operands...);
            });
        });
    });
    detail::sum_shared_rows(out, by);
    return out;
}

}  // namespace cordage::aten
