// SPDX-License-Identifier: MIT
// The operator rotate_by_table, for tensors on any device.
#pragma once

#include "rotate.hpp"

namespace cordage_torch {

/// A backend that rounds every product and sum of float and double by itself, as torch does, so that results are
/// torch's; compiled with -ffp-contract=off.
struct rounding_as_torch {};

template <cordage::pairing Pairing, class Direction, class Source, class O>
void rotate_range(rounding_as_torch, const Source& angles, const cordage::operand_list<O>& operands,
                  cordage::index_t begin, cordage::index_t end) noexcept {
    using real = typename O::compute;
    const cordage::index_t pairs = angles.pairs();
    for (cordage::index_t i = begin; i < end; ++i) {
        const cordage::index_t row = i / angles.tokens(), token = i % angles.tokens();
        for (const O& o : operands) {
            const auto [x, y] = o.lanes_of(row, token);
            for (cordage::index_t pair = 0; pair < pairs; ++pair) {
                const auto [cos, at_sin] = cordage::cos_sin_at<real>(angles, row, token, pair);
                const real sin = at_sin * real{Direction::sine_sign};
                const cordage::index_t lane0 = Pairing::first(pair, pairs), lane1 = Pairing::second(pair, pairs);
                for (cordage::index_t head = 0; head < o.shape().heads; ++head) {
                    const auto* const from = x + head * o.x.head_stride;
                    auto* const to = y + head * o.y.head_stride;
                    const real a = from[lane0], b = from[lane1];
                    to[lane0] = a * cos - b * sin;
                    to[lane1] = b * cos + a * sin;
                }
            }
            cordage::backend::copy_unrotated(o, row, token, 2 * pairs);
        }
    }
}
static_assert(cordage::backend::has_rotate_range<rounding_as_torch>);

/// On the CPU: float and double with the bits of torch; 16 bits in float, rounded once.
struct table_on_cpu {
    static constexpr at::DeviceType device = at::kCPU;
    static constexpr bool has_double = true;

    explicit table_on_cpu(const at::Tensor&) {}

    template <class Pairing, class T>
    void rotate(const auto& table, bool adjoint, const auto&... both) const {
        using backend = std::conditional_t<sizeof(T) == 2, cordage::backend::fastest, rounding_as_torch>;
        const auto threads = cordage::aten::host_threads();
        if (adjoint)
            cordage::rotate_backward<Pairing, backend>(threads, table, both...);
        else
            cordage::rotate_forward<Pairing, backend>(threads, table, both...);
    }
};

namespace detail {

inline void check_table(const at::Tensor& cos, const at::Tensor& sin) {
    if (cos.dim() != 3 || cos.sizes() != sin.sizes()) {
        throw cordage::shape_error(cordage::message("rotate_by_table: cos with ", cos.dim(), " and sin with ",
                                                    sin.dim(), " dimensions must be [batch, tokens, rotary_dim/2]"));
    }
}

/// Converts the table to the arithmetic type of x.
inline at::Tensor table_for(const at::Tensor& x, const char* name, const at::Tensor& cos) {
    const bool is_narrow = x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16;
    if (cos.device() != x.device() ||
        (cos.scalar_type() != x.scalar_type() && !(is_narrow && cos.scalar_type() == at::kFloat))) {
        throw cordage::value_error(cordage::message("rotate_by_table: ", name, " of type ",
                                                    at::toString(cos.scalar_type()), " on ", cos.device().str(),
                                                    " must be of x's type, ", at::toString(x.scalar_type()),
                                                    is_narrow ? ", or float32," : "", " on ", x.device().str()));
    }
    return cos.to(is_narrow ? at::kFloat : cos.scalar_type()).contiguous();
}

}  // namespace detail

template <class Device>
std::vector<at::Tensor> rotate_by_table(at::TensorList x_in, const at::Tensor& cos_in, const at::Tensor& sin_in,
                                        bool interleaved, bool adjoint, bool heads_first) {
    return guarded([&] {
        const auto seen = detail::transposed_if(heads_first, x_in);
        if (x_in.empty()) throw cordage::shape_error("rotate_by_table: x [] must have at least one tensor");
        detail::check_table(cos_in, sin_in);
        cordage::aten::detail::check_place({"x", 0}, x_in[0], Device::device);
        cordage::aten::detail::check_heads("x", seen, "x", x_in[0]);
        const Device on(x_in[0]);
        const at::Tensor cos = detail::table_for(x_in[0], "cos", cos_in),
                         sin = detail::table_for(x_in[0], "sin", sin_in);
        const std::vector<at::Tensor> x = cordage::aten::viewable(seen), y = cordage::aten::empty_like(x);
        cordage::aten::detail::for_element_type<Device::has_double>("aten::rotate", "x", x[0], [&]<class T>(T) {
            using real = std::conditional_t<sizeof(T) == 8, double, float>;
            const cordage::cos_sin_view<real> table{cos.data_ptr<real>(), sin.data_ptr<real>(), cos.size(0),
                                                    cos.size(1), cos.size(2)};
            const auto operand = [&](std::size_t i) {
                return cordage::from_to(cordage::aten::view<const T>(x[i]), cordage::aten::view<T>(y[i]));
            };
            cordage::aten::detail::for_operands_of(x.size(), operand, [&](const auto&... both) {
                if (interleaved)
                    on.template rotate<cordage::interleaved, T>(table, adjoint, both...);
                else
                    on.template rotate<cordage::half_split, T>(table, adjoint, both...);
            });
        });
        return detail::transposed_if(heads_first, y);
    });
}

}  // namespace cordage_torch
