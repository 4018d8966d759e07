// SPDX-License-Identifier: MIT
// The kernels of cordage::rotate for CUDA, on torch's current stream.
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <cstring>

#include "cordage/cuda.cuh"
#include "turn_arguments.hpp"

namespace cordage_torch {

namespace {

namespace detail = cordage::aten::detail;
using at::Tensor;
using tensors = std::vector<Tensor>;

/// Calls body with a value of cordage's type for the tensors' elements.
template <class Body>
void for_device_element(const Tensor& x, const Body& body) {
    switch (x.scalar_type()) {
        case at::kFloat:
            return body(float{});
        case at::kHalf:
            return body(cordage::float16{});
        case at::kBFloat16:
            return body(cordage::bfloat16{});
        default:
            throw cordage::value_error(cordage::message("rotate: x of type ", at::toString(x.scalar_type()),
                                                        " on a GPU must be float32, float16 or bfloat16"));
    }
}

/// The basis as words on the device of x.
Tensor words_on_device(const cordage::basis& b, const Tensor& x) {
    const std::vector<std::uint64_t> words = cordage::device_words(b);
    Tensor here = at::empty({static_cast<std::int64_t>(words.size())}, at::kLong);
    std::memcpy(here.data_ptr(), words.data(), sizeof(std::uint64_t) * words.size());
    return here.to(x.device());
}

template <class Pairing>
tensors forward(const tensors& x, const cordage::aten::turn& by) {
    const tensors y = detail::empty_like(x);
    const cordage::basis b = detail::make_basis(by);
    const Tensor words = words_on_device(b, x[0]);
    const auto stream = cordage::on(c10::cuda::getCurrentCUDAStream());
    for_device_element(x[0], [&]<class T>(T) {
        const auto operand = [&](std::size_t i) {
            return cordage::from_to(detail::view<const T>(x[i]), detail::view<T>(y[i]));
        };
        detail::for_positions(by.position_ids, [&]<class P>(const cordage::position_view<P>& ids) {
            const cordage::device_angles<P> angles({words.data_ptr(), b.pairs()}, ids);
            detail::with_operands(x.size(), operand, [&](const auto&... operands) {
                cordage::rotate_forward<Pairing>(stream, angles, operands...);
            });
        });
    });
    return y;
}

template <class Pairing>
cordage::aten::turn_gradients backward(const tensors& grad_y, const tensors& y, const cordage::aten::turn& by,
                                       const cordage::aten::wanted_gradients& wanted) {
    if (wanted.any() && y.size() != grad_y.size()) {
        throw cordage::shape_error(
            cordage::message("rotate_backward: y has ", y.size(), " tensors, must have ", grad_y.size()));
    }
    cordage::aten::turn_gradients out = detail::zero_gradients(grad_y[0], by, wanted);
    out.x = detail::empty_like(grad_y);
    const cordage::basis b = detail::make_basis(by);
    const Tensor words = words_on_device(b, grad_y[0]);
    const auto stream = cordage::on(c10::cuda::getCurrentCUDAStream());
    for_device_element(grad_y[0], [&]<class T>(T) {
        const auto back = [&](std::size_t i) {
            return cordage::from_to(detail::view<const T>(grad_y[i]), detail::view<T>(out.x[i]));
        };
        const auto back_through = [&](std::size_t i) {
            return cordage::grad_through(detail::view<const T>(grad_y[i]), detail::view<const T>(y[i]),
                                         detail::view<T>(out.x[i]));
        };
        detail::for_positions(by.position_ids, [&]<class P>(const cordage::position_view<P>& ids) {
            const cordage::device_angles<P> angles({words.data_ptr(), b.pairs()}, ids);
            if (!wanted.any()) {
                detail::with_operands(grad_y.size(), back, [&](const auto&... operands) {
                    cordage::rotate_backward<Pairing>(stream, angles, operands...);
                });
                return;
            }
            const cordage::index_t size = cordage::backward_workspace_size(angles, detail::view<T>(grad_y[0]).shape);
            const Tensor workspace = at::empty({size}, grad_y[0].options().dtype(at::kDouble));
            const std::span numbers(workspace.data_ptr<double>(), static_cast<std::size_t>(size));
            detail::with_operands(grad_y.size(), back_through, [&](const auto&... operands) {
                cordage::rotate_backward<Pairing>(stream, angles, detail::spans_of(out), numbers, operands...);
            });
        });
    });
    if (out.position_ids.defined()) {  // rows that share their positions share their gradient
        out.position_ids = out.position_ids.sum_to_size(by.position_ids.sizes());
    }
    return out;
}

tensors rotate(at::TensorList x, const Tensor& position_ids, const Tensor& inv_freq, const Tensor& attention_factor,
               bool interleaved) {
    return guarded([&] {
        const auto by = turn_by(position_ids, inv_freq, attention_factor);
        detail::check(x, by, at::kCUDA);
        const c10::cuda::CUDAGuard device(x[0].device());
        return interleaved ? forward<cordage::interleaved>(detail::rows_dense(x), by)
                           : forward<cordage::half_split>(detail::rows_dense(x), by);
    });
}

rotate_gradients rotate_backward(at::TensorList grad_y, at::TensorList y, const Tensor& position_ids,
                                 const Tensor& inv_freq, const Tensor& attention_factor, bool interleaved,
                                 std::array<bool, 3> wanted) {
    return guarded([&] {
        const auto by = turn_by(position_ids, inv_freq, attention_factor);
        detail::check(grad_y, by, at::kCUDA);
        const c10::cuda::CUDAGuard device(grad_y[0].device());
        const tensors g = detail::rows_dense(grad_y), values = detail::rows_dense(y);
        auto grads = interleaved ? backward<cordage::interleaved>(g, values, by, wanted_of(wanted))
                                 : backward<cordage::half_split>(g, values, by, wanted_of(wanted));
        return as_inputs(std::move(grads), position_ids, inv_freq, attention_factor);
    });
}

}  // namespace

TORCH_LIBRARY_IMPL(cordage, CUDA, m) {
    m.impl("rotate", &rotate);
    m.impl("rotate_backward", &rotate_backward);
}

}  // namespace cordage_torch
