// SPDX-License-Identifier: MIT
// The rotation of libtorch's tensors on the CPU and its backward pass, without autograd; serves host/aten/autograd.hpp and hosts
// that register operators of their own.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstdint>
#include <vector>

#include "cordage/kernels.hpp"

/// libtorch's 16-bit types are elements like our own.
template <>
struct cordage::element_traits<at::Half> {
    using compute = float;
    using same_bits_as = cordage::float16;
    static float load(at::Half x) noexcept { return to_float(float16{x.x}); }
    static at::Half store(float x) noexcept { return {to_float16(x).bits, at::Half::from_bits()}; }
};
template <>
struct cordage::element_traits<at::BFloat16> {
    using compute = float;
    using same_bits_as = cordage::bfloat16;
    static float load(at::BFloat16 x) noexcept { return to_float(bfloat16{x.x}); }
    static at::BFloat16 store(float x) noexcept { return {to_bfloat16(x).bits, at::BFloat16::from_bits()}; }
};

namespace cordage::aten {

/// What turns the lanes of a call's tensors.
struct turn {
    at::Tensor position_ids;        ///< [tokens] or [batch, tokens]; int32, int64, float32 or float64
    at::Tensor inv_freq;            ///< [rotary_dim/2] float64, radians per position, on the CPU
    double attention_factor = 1.0;  ///< multiplies cos and sin
};

/// Which gradients behind the angles a backward pass is to compute.
struct wanted_gradients {
    bool position_ids = false;
    bool inv_freq = false;
    bool attention_factor = false;

    bool any() const { return position_ids || inv_freq || attention_factor; }
};

/// What a backward pass computes. A gradient that was not wanted is not defined.
struct turn_gradients {
    std::vector<at::Tensor> x;    ///< as x
    at::Tensor position_ids;      ///< as position_ids, float64
    at::Tensor inv_freq;          ///< [rotary_dim/2] float64
    at::Tensor attention_factor;  ///< [] float64
};

namespace detail {

/// libtorch's own threads as an executor.
inline auto pool() {
    auto loop = [](index_t n, const auto& body) {
        at::parallel_for(0, n, 1, [&](index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i) body(i);
        });
    };
    return parallel_for{loop, at::in_parallel_region() ? 1 : at::get_num_threads()};
}

/// Calls body with positions made wide and dense: int64 or double.
template <class Body>
void for_positions(const at::Tensor& ids, const Body& body) {
    const index_t tokens = ids.size(-1), batch = ids.dim() == 2 ? ids.size(0) : 1;
    const at::Tensor wide = ids.to(ids.is_floating_point() ? at::kDouble : at::kLong).contiguous();
    if (ids.is_floating_point())
        body(position_view<double>(wide.data_ptr<double>(), batch, tokens, tokens));
    else
        body(position_view<std::int64_t>(wide.data_ptr<std::int64_t>(), batch, tokens, tokens));
}

template <class T>
heads_view<T> view(const at::Tensor& x) {
    return {static_cast<T*>(x.data_ptr()),
            {x.size(0), x.size(1), x.size(2), x.size(3)},
            x.stride(0),
            x.stride(1),
            x.stride(2)};
}

/// The last stride must be 1; the others are free.
inline at::Tensor rows_dense(const at::Tensor& x) { return x.stride(-1) == 1 ? x : x.contiguous(); }
inline std::vector<at::Tensor> rows_dense(at::TensorList all) {
    std::vector<at::Tensor> out;
    for (const at::Tensor& x : all) out.push_back(rows_dense(x));
    return out;
}

/// New tensors in the shapes and, as far as they are dense, the strides of these.
inline std::vector<at::Tensor> empty_like(const std::vector<at::Tensor>& all) {
    std::vector<at::Tensor> out;
    for (const at::Tensor& x : all) out.push_back(at::empty_like(x));
    return out;
}

/// Calls body with operand(i) of every tensor: of two in one call, as cos and sin are then made once.
template <class Operand, class Body>
void with_operands(std::size_t count, const Operand& operand, const Body& body) {
    if (count == 2) return body(operand(0), operand(1));
    for (std::size_t i = 0; i < count; ++i) body(operand(i));
}

inline basis make_basis(const turn& by) {
    const at::Tensor inv_freq = by.inv_freq.contiguous();
    const double* first = inv_freq.data_ptr<double>();
    return basis(std::vector<double>(first, first + inv_freq.numel()), by.attention_factor);
}

/// All but element types and what rotate_forward checks of sizes.
inline void check(at::TensorList all, const turn& by, at::DeviceType where) {
    if (all.empty()) fail<shape_error>({"aten::rotate: x [] must have at least one tensor"});
    const auto check_device = [](const char* name, const at::Tensor& tensor, const at::Device& device) {
        if (tensor.device() != device) {
            fail<value_error>({"aten::rotate: ", name, " on ", tensor.device().str(), " must be on ", device.str()});
        }
    };
    const at::Device device = where == at::kCPU ? at::Device(at::kCPU) : all[0].device();
    for (const at::Tensor& x : all) {
        if (x.dim() != 4) {
            fail<shape_error>(
                {"aten::rotate: x has ", x.dim(), " dimensions, must be [batch, tokens, heads, head_dim]"});
        }
        if (x.scalar_type() != all[0].scalar_type()) {
            fail<value_error>({"aten::rotate: x of types ", at::toString(all[0].scalar_type()), " and ",
                               at::toString(x.scalar_type()), " must be of one type"});
        }
        check_device("x", x, device);
    }
    const at::Tensor& ids = by.position_ids;
    if (ids.dim() != 1 && ids.dim() != 2) {
        fail<shape_error>(
            {"aten::rotate: position_ids has ", ids.dim(), " dimensions, must be [tokens] or [batch, tokens]"});
    }
    const at::ScalarType type = ids.scalar_type();
    if (type != at::kInt && type != at::kLong && type != at::kFloat && type != at::kDouble) {
        fail<value_error>(
            {"aten::rotate: position_ids of type ", at::toString(type), " must be int32, int64, float32 or float64"});
    }
    check_device("position_ids", ids, device);
    if (by.inv_freq.dim() != 1 || by.inv_freq.scalar_type() != at::kDouble) {
        fail<value_error>({"aten::rotate: inv_freq of type ", at::toString(by.inv_freq.scalar_type()), " with ",
                           by.inv_freq.dim(), " dimensions must be float64 [rotary_dim/2]"});
    }
    check_device("inv_freq", by.inv_freq, at::kCPU);
}

/// What is behind the angles needs y.
inline void check_count(const std::vector<at::Tensor>& grad_y, const std::vector<at::Tensor>& y,
                        const wanted_gradients& wanted) {
    if (wanted.any() && y.size() != grad_y.size()) {
        fail<shape_error>({"aten::rotate: y has ", y.size(), " tensors, must have ", grad_y.size()});
    }
}

/// Zeros for the gradients that are wanted, float64, on the tensors' device.
inline turn_gradients zero_gradients(const at::Tensor& x, const turn& by, const wanted_gradients& wanted) {
    const auto numbers = by.inv_freq.options().device(x.device());
    turn_gradients out;
    if (wanted.position_ids) out.position_ids = at::zeros({x.size(0), x.size(1)}, numbers);
    if (wanted.inv_freq) out.inv_freq = at::zeros(by.inv_freq.sizes(), numbers);
    if (wanted.attention_factor) out.attention_factor = at::zeros({}, numbers);
    return out;
}
inline rotation_gradients spans_of(const turn_gradients& grads) {
    const auto span = [](const at::Tensor& x) {
        return x.defined() ? std::span(x.data_ptr<double>(), static_cast<std::size_t>(x.numel())) : std::span<double>();
    };
    return {span(grads.inv_freq), span(grads.position_ids), span(grads.attention_factor).data()};
}

/// Rows that share their positions share their gradient.
inline void sum_shared_rows(turn_gradients& grads, const turn& by) {
    if (grads.position_ids.defined()) grads.position_ids = grads.position_ids.sum_to_size(by.position_ids.sizes());
}

}  // namespace detail

/// Where the tensors of a call are, and so whose passes turn them: made for a call, from one of its tensors and the
/// basis. (on_gpu is in aten_rotation.cuh.)
class on_cpu {
 public:
    static constexpr at::DeviceType device = at::kCPU;

    on_cpu(const at::Tensor&, const basis& b) : basis_(b) {}

    /// Calls body with a value of the tensors' element type; complains by name about the others.
    template <class Body>
    static void for_element_type(const at::Tensor& x, const Body& body) {
        switch (x.scalar_type()) {
            case at::kFloat:
                return body(float{});
            case at::kDouble:
                return body(double{});
            case at::kHalf:
                return body(at::Half{});
            case at::kBFloat16:
                return body(at::BFloat16{});
            default:
                fail<value_error>({"aten::rotate: x of type ", at::toString(x.scalar_type()),
                                   " must be float32, float64, float16 or bfloat16"});
        }
    }

    template <pairing Pairing, class P>
    void forward(const position_view<P>& ids, const auto&... operands) const {
        rotate_forward<Pairing>(detail::pool(), exact_angles(basis_, ids), operands...);
    }
    template <pairing Pairing, class P>
    void backward(const position_view<P>& ids, const auto&... operands) const {
        rotate_backward<Pairing>(detail::pool(), exact_angles(basis_, ids), operands...);
    }
    template <pairing Pairing, class P>
    void backward_through(const position_view<P>& ids, const rotation_gradients& grads, const auto&... operands) const {
        rotate_backward<Pairing>(detail::pool(), exact_angles(basis_, ids), grads, operands...);
    }

 private:
    const basis& basis_;
};

/// rotate_forward on tensors, all in one pass over the tokens.
///
/// @param x_in  q and k, or any number of tensors [batch, tokens, heads, head_dim] of one type: float32, float64,
///           float16 or bfloat16, on the CPU; any strides (copied once unless the last is 1)
/// @returns  y, new tensors in x_in's shapes; strides as at::empty_like gives them
/// @throws cordage::error  as rotate_forward
/// Runs on libtorch's threads (at::set_num_threads); the same bits whatever their number.
template <pairing Pairing, class Place = on_cpu>
std::vector<at::Tensor> rotation_forward(at::TensorList x_in, const turn& by) {
    detail::check(x_in, by, Place::device);
    const basis b = detail::make_basis(by);
    const Place place(x_in[0], b);
    const std::vector<at::Tensor> x = detail::rows_dense(x_in), y = detail::empty_like(x);
    Place::for_element_type(x[0], [&]<class T>(T) {
        const auto operand = [&](std::size_t i) { return from_to(detail::view<const T>(x[i]), detail::view<T>(y[i])); };
        detail::for_positions(by.position_ids, [&](const auto& ids) {
            detail::with_operands(x.size(), operand,
                                  [&](const auto&... operands) { place.template forward<Pairing>(ids, operands...); });
        });
    });
    return y;
}

/// rotate_backward on tensors: the gradient to x, and to what is wanted behind the angles, in one pass.
///
/// @param grad_y_in  as rotation_forward's y
/// @param y_in       what rotation_forward returned; not read, and may be empty, where only the gradient to x is wanted
/// Otherwise as rotation_forward.
template <pairing Pairing, class Place = on_cpu>
turn_gradients rotation_backward(at::TensorList grad_y_in, at::TensorList y_in, const turn& by,
                                 const wanted_gradients& wanted) {
    detail::check(grad_y_in, by, Place::device);
    const basis b = detail::make_basis(by);
    const Place place(grad_y_in[0], b);
    const std::vector<at::Tensor> grad_y = detail::rows_dense(grad_y_in), y = detail::rows_dense(y_in);
    detail::check_count(grad_y, y, wanted);
    turn_gradients out = detail::zero_gradients(grad_y[0], by, wanted);
    out.x = detail::empty_like(grad_y);
    Place::for_element_type(grad_y[0], [&]<class T>(T) {
        const auto back = [&](std::size_t i) {
            return from_to(detail::view<const T>(grad_y[i]), detail::view<T>(out.x[i]));
        };
        const auto back_through = [&](std::size_t i) {
            return grad_through(detail::view<const T>(grad_y[i]), detail::view<const T>(y[i]),
                                detail::view<T>(out.x[i]));
        };
        detail::for_positions(by.position_ids, [&](const auto& ids) {
            if (wanted.any()) {
                detail::with_operands(grad_y.size(), back_through, [&](const auto&... operands) {
                    place.template backward_through<Pairing>(ids, detail::spans_of(out), operands...);
                });
            } else {
                detail::with_operands(grad_y.size(), back, [&](const auto&... operands) {
                    place.template backward<Pairing>(ids, operands...);
                });
            }
        });
    });
    detail::sum_shared_rows(out, by);
    return out;
}

}  // namespace cordage::aten
