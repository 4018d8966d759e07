// SPDX-License-Identifier: MIT
// A table of the kernels of the C interface for one instruction set. Each set has its own translation unit, which
// contains only kernels (docs/backends.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "cordage/angles/angle_difference.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/c/any_format.hpp"

namespace cordage::c {

/// A position of any type, in the form from which angles are computed.
struct held_position {
    split_position split;
    double value = 0.0;

    explicit CORDAGE_ALWAYS_INLINE operator float() const noexcept { return static_cast<float>(value); }
};

}  // namespace cordage::c

template <>
struct cordage::position_traits<cordage::c::held_position> {
    static CORDAGE_ALWAYS_INLINE constexpr split_position split(const c::held_position& p) noexcept { return p.split; }
    static CORDAGE_ALWAYS_INLINE constexpr double value(const c::held_position& p) noexcept { return p.value; }
};

namespace cordage::c {

/// The norm of heads of T, with weights in the compute type.
template <class T>
using norm_of = rms_norm<compute_of<T>>;
template <class T>
using normalized_operand = operand<T, T, element_traits<T>, element_traits<T>, norm_of<T>>;
/// An operand of any formats.
template <class Norm>
using any_operand = operand<std::uint8_t, std::uint8_t, any_format, any_format, Norm>;

/// The operand types that have kernels; the last two of each list compute in double.
using forward_operand =
    std::variant<operand<float>, operand<float16>, operand<bfloat16>, any_operand<no_norm>, normalized_operand<float>,
                 normalized_operand<float16>, normalized_operand<bfloat16>, any_operand<rms_norm<float>>,
                 operand<double>, normalized_operand<double>>;
template <class T>
using normalized_gradient = normalized_backward_operand<T, element_traits<T>, compute_of<T>>;
using gradient_operand =
    std::variant<backward_operand<float>, backward_operand<float16>, backward_operand<bfloat16>,
                 normalized_gradient<float>, normalized_gradient<float16>, normalized_gradient<bfloat16>,
                 backward_operand<double>, normalized_gradient<double>>;

/// The angles of a call as cos and sin, in float and, once used, in double.
struct cos_sin_tables {
    cos_sin_view<float> of_float;
    cos_sin_view<double> of_double;

    template <class Real>
    CORDAGE_ALWAYS_INLINE const cos_sin_view<Real>& of() const noexcept {
        if constexpr (std::same_as<Real, float>)
            return of_float;
        else
            return of_double;
    }
};

/// As above, with the positions and bases to which gradients flow.
template <class Real>
struct gradient_source {
    cos_sin_view<Real> table;
    const held_position* position_ids;  ///< [axes, 1 or rows, tokens]
    index_t position_rows;
    index_t position_axes;
    const std::uint8_t* axis_of_pair;
    basis_view numbers;

    index_t batch() const noexcept { return table.rows; }
    CORDAGE_ALWAYS_INLINE index_t tokens() const noexcept { return table.token_count; }
    CORDAGE_ALWAYS_INLINE index_t pairs() const noexcept { return table.pair_count; }
    CORDAGE_ALWAYS_INLINE double attention_factor(index_t row, index_t token) const noexcept {
        return table.attention_factor(row, token);
    }
    template <class To>
    CORDAGE_ALWAYS_INLINE cos_sin<To> at(index_t row, index_t token, index_t pair) const noexcept {
        return table.template at<To>(row, token, pair);
    }
    CORDAGE_ALWAYS_INLINE index_t axes() const noexcept { return position_axes; }
    CORDAGE_ALWAYS_INLINE index_t axis(index_t pair) const noexcept { return axis_of_pair[pair]; }
    CORDAGE_ALWAYS_INLINE index_t bases() const noexcept { return numbers.count; }
    CORDAGE_ALWAYS_INLINE index_t basis_index(index_t row, index_t token) const noexcept {
        return numbers.index(row, token);
    }
    CORDAGE_ALWAYS_INLINE bool has_basis_of_token() const noexcept { return numbers.of_token != nullptr; }
    CORDAGE_ALWAYS_INLINE const double* inv_freq(index_t basis) const noexcept {
        return numbers.inv_freq + basis * numbers.pairs;
    }
    CORDAGE_ALWAYS_INLINE double position(index_t row, index_t token, index_t axis) const noexcept {
        return position_ids[(axis * position_rows + (position_rows == 1 ? 0 : row)) * tokens() + token].value;
    }
};

/// The source from which tables are computed.
using exact_source = axis_angles<held_position>;
using difference_source = angle_difference<exact_source, exact_source>;
using float32_source = float32_angles<held_position>;
template <class Source>
inline constexpr int source_code = std::same_as<Source, exact_source>        ? 0
                                   : std::same_as<Source, difference_source> ? 1
                                                                             : 2;

/// The kernels of one instruction set. Operands and sources are passed by address, with the index of their type.
struct kernels {
    const char* name;
    void (*rotate)(bool is_interleaved, const cos_sin_tables&, std::size_t type, const void* operand, index_t begin,
                   index_t end) noexcept;
    void (*backward)(bool is_interleaved, const void* source, std::size_t type, const void* operand,
                     const backend::angle_gradients&, index_t begin, index_t end) noexcept;
    void (*fill_float)(int source_code, const void* source, float* cos, float* sin, index_t begin,
                       index_t end) noexcept;
    void (*fill_double)(int source_code, const void* source, double* cos, double* sin, index_t begin,
                        index_t end) noexcept;  ///< null without kernels for double
};

/// The functions in the table of a backend. The inverse uses the forward function with a table of -sin.
///
/// @tparam WithDoubles  whether there are kernels for double; one table of a library has them
template <class Backend, bool WithDoubles>
struct kernels_of {
    /// Calls f(null pointer) with the type of this index in a list.
    template <class List, class F>
    static CORDAGE_ALWAYS_INLINE void with_type(std::size_t type, const F& f) noexcept {
        [&]<std::size_t... I>(std::index_sequence<I...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
            ((type == I ? f(static_cast<const std::variant_alternative_t<I, List>*>(nullptr)) : void()), ...);
        }
        (std::make_index_sequence<std::variant_size_v<List> - (WithDoubles ? 0 : 2)>{});
    }

    static void rotate(bool is_interleaved, const cos_sin_tables& tables, std::size_t type, const void* address,
                       index_t begin, index_t end) noexcept {
        with_type<forward_operand>(type, [&]<class O>(const O*) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const O* const one[]{static_cast<const O*>(address)};
            const auto rotate_by = [&]<class P>(P) CORDAGE_ALWAYS_INLINE_LAMBDA {
                backend::rotate_range<P, backend::forward>(Backend{}, tables.of<typename O::compute>(),
                                                           operand_list<O>(one), begin, end);
            };
            is_interleaved ? rotate_by(interleaved{}) : rotate_by(half_split{});
        });
    }
    static void backward(bool is_interleaved, const void* source, std::size_t type, const void* address,
                         const backend::angle_gradients& grads, index_t begin, index_t end) noexcept {
        with_type<gradient_operand>(type, [&]<class O>(const O*) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const O* const one[]{static_cast<const O*>(address)};
            const auto& angles = *static_cast<const gradient_source<typename O::compute>*>(source);
            const auto back_by = [&]<class P>(P) CORDAGE_ALWAYS_INLINE_LAMBDA {
                backend::backward_range<P>(Backend{}, angles, operand_list<O>(one), grads, begin, end);
            };
            is_interleaved ? back_by(interleaved{}) : back_by(half_split{});
        });
    }
    template <class Real>
    static void fill(int code, const void* source, Real* cos, Real* sin, index_t begin, index_t end) noexcept {
        const auto fill_as = [&]<class S>(const S* of) CORDAGE_ALWAYS_INLINE_LAMBDA {
            backend::fill_range(Backend{}, *of, cos, sin, begin, end);
        };
        if (code == source_code<exact_source>) return fill_as(static_cast<const exact_source*>(source));
        if (code == source_code<difference_source>) return fill_as(static_cast<const difference_source*>(source));
        fill_as(static_cast<const float32_source*>(source));
    }

    static constexpr kernels table(const char* name) noexcept {
        if constexpr (WithDoubles) {
            return {name, rotate, backward, fill<float>, fill<double>};
        } else {
            return {name, rotate, backward, fill<float>, nullptr};
        }
    }
};

/// Defined in the units that a library links besides its implementation, which then defines CORDAGE_C_DISPATCH;
/// otherwise native_kernels in the implementation's unit.
extern const kernels avx512_kernels, avx2_kernels, baseline_kernels, native_kernels;

}  // namespace cordage::c
