// SPDX-License-Identifier: MIT
// The rotation of libtorch's tensors, with a norm in the same pass or without, and its backward pass, without autograd;
// serves host/aten/autograd.hpp and hosts that register operators of their own.
#pragma once

#include <ATen/ATen.h>

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "cordage/host/aten/norm_tensors.hpp"
#include "cordage/host/aten/view.hpp"
#include "cordage/kernels.hpp"

namespace cordage::aten {

/// Positions, frequencies and attention factor of a call.
struct angle_tensors {
    at::Tensor position_ids;        ///< [tokens] or [batch, tokens]; int32, int64, float32 or float64
    at::Tensor inv_freq;            ///< [rotary_dim/2] float64, radians per position, on the CPU or x's GPU
    double attention_factor = 1.0;  ///< multiplies cos and sin
    at::Tensor factor_on_gpu = {};  ///< [] float64, in place of attention_factor, where inv_freq is on a GPU
};

/// Arguments whose attention factor is a tensor [] float64, on the CPU or, with inv_freq, on the GPU.
///
/// @throws value_error  naming attention_factor
inline angle_tensors angles_of(const at::Tensor& position_ids, const at::Tensor& inv_freq, const at::Tensor& factor) {
    detail::check_strided("attention_factor", factor);
    if (factor.dim() != 0 || factor.scalar_type() != at::kDouble || !(factor.is_cpu() || factor.is_cuda())) {
        fail<value_error>({"aten::rotate: attention_factor of type ", at::toString(factor.scalar_type()), " with ",
                           factor.dim(), " dimensions on ", factor.device().str(), " must be float64 [] on cpu"});
    }
    if (factor.is_cuda()) return {position_ids, inv_freq, 1.0, factor};
    return {position_ids, inv_freq, *detail::dense(factor, at::kDouble).data_ptr<double>()};
}

/// The gradients other than grad_x that a backward pass is to compute.
struct wanted_gradients {
    bool position_ids = false;
    bool inv_freq = false;
    bool attention_factor = false;
    bool weights = false;  ///< of the norm

    /// Whether any of them is computed from y, the result of the forward pass.
    bool any() const { return position_ids || inv_freq || attention_factor; }
};

/// The results of a backward pass. A gradient that was not requested is an undefined tensor.
struct gradient_tensors {
    std::vector<at::Tensor> x;             ///< as x
    at::Tensor position_ids;               ///< as position_ids, float64
    at::Tensor inv_freq;                   ///< [rotary_dim/2] float64
    at::Tensor attention_factor;           ///< [] float64
    std::vector<at::Tensor> weights = {};  ///< in the shapes of the norm's weights, float64; empty if not requested
};

namespace detail {

/// Calls body with a value of a tensor's element type; throws for unsupported types, naming the tensor.
/// @param others  for the message: further types, which the caller has served
template <bool has_double, class Body>
void for_element_type(const char* function, const char* name, const at::Tensor& x, const Body& body,
                      const char* others = "") {
    const at::ScalarType type = x.scalar_type();
    if (type == at::kFloat) return body(float{});
    if (type == at::kHalf) return body(float16{});
    if (type == at::kBFloat16) return body(bfloat16{});
    if constexpr (has_double) {
        if (type == at::kDouble) return body(double{});
    }
    fail<value_error>({function, ": ", name, " of type ", at::toString(type), x.is_cuda() ? " on a GPU" : "",
                       " must be float32, ", has_double ? "float64, " : "", "float16 or bfloat16",
                       *others ? ", or " : "", others});
}

/// View of dense positions.
template <class P>
position_view<P> view_of_positions(const at::Tensor& wide) {
    const index_t tokens = wide.size(-1);
    return {wide.data_ptr<P>(), wide.dim() == 2 ? wide.size(0) : 1, tokens, tokens};
}
/// Positions of any type as dense doubles.
inline at::Tensor positions_in_double(const at::Tensor& ids) {
    if (ids.scalar_type() != at::kLong || !ids.device().is_cpu()) return dense(ids, at::kDouble);
    constexpr std::int64_t most = std::int64_t{1} << 53;
    const at::Tensor exact = dense(ids, at::kLong);  // 2^53 + 1 in double is 2^53
    for (index_t i = 0; i < exact.numel(); ++i) {
        if (const std::int64_t p = exact.data_ptr<std::int64_t>()[i]; p < -most || p > most) {
            fail<value_error>({"aten::rotate: position_ids entry ", i, " ", p,
                               " must be at most 2^53 in magnitude in a call with a norm or a cache"});
        }
    }
    return exact.to(at::kDouble);
}
/// Calls body with a view of positions, converted to dense int64 or double; on the CPU in a call with a norm always to
/// double, so that its kernels are compiled for one type.
template <class Device, class Norm, class Body>
void with_positions(const at::Tensor& ids, const Body& body) {
    constexpr bool is_norm_on_cpu = !std::same_as<Norm, no_norm> && Device::device == at::kCPU;
    if (is_norm_on_cpu || ids.is_floating_point()) {
        const at::Tensor wide = is_norm_on_cpu ? positions_in_double(ids) : dense(ids, at::kDouble);
        return body(view_of_positions<double>(wide));
    }
    if constexpr (!is_norm_on_cpu) {
        const at::Tensor wide = dense(ids, at::kLong);
        body(view_of_positions<std::int64_t>(wide));
    }
}

/// Calls body(operand(0), operand(1)) for two tensors, so that cos and sin are computed once, else body for each.
template <class Operand, class Body>
void for_operands_of(std::size_t count, const Operand& operand, const Body& body) {
    if (count == 2) return body(operand(0), operand(1));
    for (std::size_t i = 0; i < count; ++i) body(operand(i));
}

/// Calls body with positions and the operands of all tensors, operand<T>(i, norms) for element type T.
template <class Device, class Norm, class Operand, class Body>
void for_operands(const std::vector<at::Tensor>& all, const Norm& norm, const at::Tensor& ids, const Operand& operand,
                  const Body& body) {
    for_element_type<Device::has_double>("aten::rotate", "x", all[0], [&]<class T>(T) {
        with_norms<Device, T>(norm, [&](const auto& norms) {
            const auto of = [&](std::size_t i) { return operand.template operator()<T>(i, norms); };
            with_positions<Device, Norm>(ids, [&](const auto& positions) {
                for_operands_of(all.size(), of, [&](const auto&... operands) { body(positions, operands...); });
            });
        });
    });
}

/// inv_freq on the CPU as numbers in the memory of `held`.
inline std::span<const double> numbers_of(const at::Tensor& inv_freq, at::Tensor& held) {
    held = dense(inv_freq, at::kDouble);
    return {held.data_ptr<double>(), static_cast<std::size_t>(held.numel())};
}

/// Checks that a tensor has four dimensions, and the type and device of `like`.
inline void check_like(const tensor_name& name, const at::Tensor& x, const tensor_name& like_name,
                       const at::Tensor& like) {
    check_strided(name, x);
    if (x.dim() != 4) {
        fail<shape_error>(
            {"aten::rotate: ", name.text(), " has ", x.dim(), " dimensions, must be [batch, tokens, heads, head_dim]"});
    }
    if (x.scalar_type() != like.scalar_type()) {
        fail<value_error>({"aten::rotate: ", name.text(), " of type ", at::toString(x.scalar_type()),
                           " must have the type of ", like_name.text(), ", ", at::toString(like.scalar_type())});
    }
    check_device(name, x, like.device());
}
/// As above, for all tensors of a list.
inline void check_heads(const char* list, at::TensorList all, const char* like_list, const at::Tensor& like) {
    for (std::size_t i = 0; i < all.size(); ++i) check_like({list, i}, all[i], {like_list, 0}, like);
}

/// Checks that a tensor is on the device of the kernels.
inline void check_place(const tensor_name& name, const at::Tensor& x, at::DeviceType where) {
    check_strided(name, x);
    if (x.device().type() != where) {
        fail<value_error>({"aten::rotate: ", name.text(), " on ", x.device().str(), " must be on ",
                           c10::DeviceTypeName(where, true)});
    }
}

/// Checks the inputs of angles for tensors on a device.
inline void check_angles(const angle_tensors& by, const at::Device& device) {
    const at::Tensor& ids = by.position_ids;
    check_strided("position_ids", ids);
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
    check_strided("inv_freq", by.inv_freq);
    if (by.inv_freq.dim() != 1 || by.inv_freq.scalar_type() != at::kDouble) {
        fail<value_error>({"aten::rotate: inv_freq of type ", at::toString(by.inv_freq.scalar_type()), " with ",
                           by.inv_freq.dim(), " dimensions must be float64 [rotary_dim/2]"});
    }
    if (!by.inv_freq.device().is_cpu()) check_device("inv_freq", by.inv_freq, device);
    if (by.factor_on_gpu.defined() && (device.is_cpu() || by.factor_on_gpu.device() != by.inv_freq.device())) {
        fail<value_error>({"aten::rotate: attention_factor on ", by.factor_on_gpu.device().str(),
                           " must be on cpu, or on the GPU where inv_freq is, on ", by.inv_freq.device().str()});
    }
}

/// All checks except element types and the sizes checked by rotate_forward.
inline void check(const char* list, at::TensorList all, const angle_tensors& by, at::DeviceType where) {
    if (all.empty()) fail<shape_error>({"aten::rotate: ", list, " [] must have at least one tensor"});
    check_place({list, 0}, all[0], where);
    check_heads(list, all, list, all[0]);
    check_angles(by, all[0].device());
}

/// Zeros for the requested gradients, float64, on the tensors' device.
inline gradient_tensors zero_gradients(const at::Tensor& x, const angle_tensors& by, const wanted_gradients& wanted) {
    const auto numbers = by.inv_freq.options().device(x.device());
    gradient_tensors out;
    if (wanted.position_ids) out.position_ids = at::zeros({x.size(0), x.size(1)}, numbers);
    if (wanted.inv_freq) out.inv_freq = at::zeros(by.inv_freq.sizes(), numbers);
    if (wanted.attention_factor) out.attention_factor = at::zeros({}, numbers);
    return out;
}
inline std::span<double> span_of(const at::Tensor& x) {
    return x.defined() ? std::span(x.data_ptr<double>(), static_cast<std::size_t>(x.numel())) : std::span<double>();
}

}  // namespace detail

/// Selects the kernels for the device of a call's tensors; constructed for each call from one of its tensors and its
/// angles. (on_gpu is in rotation.cuh.)
class on_cpu {
 public:
    static constexpr at::DeviceType device = at::kCPU;
    static constexpr bool has_double = true;

    on_cpu(const at::Tensor&, const angle_tensors& by) : basis_(make_basis(by)) {}

    auto where() const { return host_threads(); }
    template <class P>
    exact_angles<P> angles(const position_view<P>& ids) const {
        return {basis_, ids};
    }
    template <pairing Pairing>
    void backward(const auto& of_tokens, const rotation_gradients& grads, const auto&... operands) const {
        rotate_backward<Pairing>(where(), of_tokens, grads, operands...);
    }

 private:
    static basis make_basis(const angle_tensors& by) {
        at::Tensor held;
        const std::span<const double> inv_freq = detail::numbers_of(by.inv_freq, held);
        return basis({inv_freq.begin(), inv_freq.end()}, by.attention_factor);
    }

    basis basis_;
};

/// rotate_forward on tensors, one or two in one pass over the tokens, more one by one.
///
/// @param x_in  q and k, or any number of tensors [batch, tokens, heads, head_dim] of one type: float32, float64,
///           float16 or bfloat16, on the CPU; any strides (copied once unless the last is 1)
/// @param norm  norm_tensors, if heads are normalized in the same pass; integer positions on the CPU are then at most
///           2^53 in magnitude
/// @returns  y, new tensors in x_in's shapes; strides as of at::empty_like
/// @throws cordage::error  as rotate_forward; for weights and epsilon that do not fit
/// Runs on libtorch's threads (at::set_num_threads); the same bits for any number of threads.
template <pairing Pairing, class Device = on_cpu, detail::norm_of_tensors Norm = no_norm>
std::vector<at::Tensor> rotation_forward(at::TensorList x_in, const angle_tensors& by, const Norm& norm = {}) {
    detail::check("x", x_in, by, Device::device);
    detail::check_weights(x_in, norm);
    const Device on(x_in[0], by);
    const std::vector<at::Tensor> x = viewable(x_in), y = empty_like(x);
    const auto operand = [&]<class T>(std::size_t i, const auto& norms) {
        return norms.normalized(i, from_to(view<const T>(x[i]), view<T>(y[i])));
    };
    detail::for_operands<Device>(x, norm, by.position_ids, operand, [&](const auto& ids, const auto&... operands) {
        rotate_forward<Pairing>(on.where(), on.angles(ids), operands...);
    });
    return y;
}

/// rotate_backward on tensors: the gradient to x and the requested gradients to positions, inv_freq, attention factor
/// and weights of the norm, in one pass.
///
/// @param grad_y_in  in the shapes of rotation_forward's y
/// @param y_in       the result of rotation_forward; not read, and may be empty, if only the gradient to x is computed.
///                   With a norm x, the input of rotation_forward, always
/// @param norm       of rotation_forward
/// @throws cordage::error  as rotation_forward; unless y has the type, device and shape of grad_y
template <pairing Pairing, class Device = on_cpu, detail::norm_of_tensors Norm = no_norm>
gradient_tensors rotation_backward(at::TensorList grad_y_in, at::TensorList y_in, const angle_tensors& by,
                                   const wanted_gradients& wanted, const Norm& norm = {}) {
    constexpr bool has_norm = !std::same_as<Norm, no_norm>;
    const bool reads_y = has_norm || wanted.any();
    detail::check("grad_y", grad_y_in, by, Device::device);
    if (reads_y) {
        const char* const name = has_norm ? "x" : "y";
        if (y_in.size() != grad_y_in.size()) {
            fail<shape_error>({"aten::rotate: ", name, " has ", y_in.size(), " tensors, must have ", grad_y_in.size()});
        }
        detail::check_heads(name, y_in, "grad_y", grad_y_in[0]);
    }
    detail::check_weights(y_in, norm);
    const Device on(grad_y_in[0], by);
    const std::vector<at::Tensor> grad_y = viewable(grad_y_in);
    const std::vector<at::Tensor> y = reads_y ? viewable(y_in) : std::vector<at::Tensor>();
    gradient_tensors out = detail::zero_gradients(grad_y[0], by, wanted);
    out.x = empty_like(grad_y);
    if constexpr (has_norm) {
        for (const at::Tensor& w : norm.weights) {
            if (wanted.weights) out.weights.push_back(at::zeros(w.sizes(), w.options().dtype(at::kDouble)));
        }
    } else if (!wanted.any()) {
        const auto operand = [&]<class T>(std::size_t i, const auto&) {
            return from_to(view<const T>(grad_y[i]), view<T>(out.x[i]));
        };
        detail::for_operands<Device>(grad_y, norm, by.position_ids, operand,
                                     [&](const auto& ids, const auto&... operands) {
                                         rotate_backward<Pairing>(on.where(), on.angles(ids), operands...);
                                     });
        return out;
    }
    const rotation_gradients grads{detail::span_of(out.inv_freq), detail::span_of(out.position_ids),
                                   detail::span_of(out.attention_factor)};
    const auto operand = [&]<class T>(std::size_t i, const auto& norms) {
        const auto of = grad_through(view<const T>(grad_y[i]), view<const T>(y[i]), view<T>(out.x[i]));
        return norms.normalized(i, of, out.weights.empty() ? std::span<double>() : detail::span_of(out.weights[i]));
    };
    detail::for_operands<Device>(grad_y, norm, by.position_ids, operand, [&](const auto& ids, const auto&... operands) {
        on.template backward<Pairing>(on.angles(ids), grads, operands...);
    });
    if (wanted.position_ids) {  // positions shared by all rows have one gradient, the sum over rows
        out.position_ids = out.position_ids.sum_to_size(by.position_ids.sizes());
    }
    return out;
}

}  // namespace cordage::aten
