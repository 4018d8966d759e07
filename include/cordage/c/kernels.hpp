// SPDX-License-Identifier: MIT
// The kernels of the C interface for one instruction set, as a table: a unit for each set holds one, and calls nothing
// but kernels (docs/backends.md).
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

/// A position of any type, as angles are made of it.
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

/// The norm of heads of T, its weights in the type of the arithmetic.
template <class T>
using norm_of = rms_norm<compute_of<T>>;
template <class T>
using normalized_operand = operand<T, T, element_traits<T>, element_traits<T>, norm_of<T>>;
/// An operand of any formats.
template <class Norm>
using any_operand = operand<std::uint8_t, std::uint8_t, any_format, any_format, Norm>;

/// The operands that there are kernels for.
using forward_operand =
    std::variant<operand<float>, operand<float16>, operand<bfloat16>, operand<double>, any_operand<no_norm>,
                 normalized_operand<float>, normalized_operand<float16>, normalized_operand<bfloat16>,
                 normalized_operand<double>, any_operand<rms_norm<float>>>;
using gradient_operand =
    std::variant<backward_operand<float>, backward_operand<float16>, backward_operand<bfloat16>,
                 backward_operand<double>, normalized_backward_operand<float, element_traits<float>, float>,
                 normalized_backward_operand<float16, element_traits<float16>, float>,
                 normalized_backward_operand<bfloat16, element_traits<bfloat16>, float>,
                 normalized_backward_operand<double, element_traits<double>, double>>;

/// The angles of a call by their cos and sin, in float and, once asked for, in double.
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

/// The same with what gradients flow to.
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

/// What tables are made of.
using exact_source = axis_angles<held_position>;
using difference_source = angle_difference<exact_source, exact_source>;
using float32_source = float32_angles<held_position>;
template <class Source>
inline constexpr int source_code = std::same_as<Source, exact_source>        ? 0
                                   : std::same_as<Source, difference_source> ? 1
                                                                             : 2;

enum class direction : std::uint8_t { forward, inverse, adjoint };

/// The kernels of one instruction set. Operands and sources go by address, with the number of their type.
struct kernels {
    const char* name;
    void (*rotate)(bool is_interleaved, direction, const cos_sin_tables&, std::size_t type, const void* operand,
                   index_t begin, index_t end) noexcept;
    void (*backward)(bool is_interleaved, const void* source, std::size_t type, const void* operand,
                     const backend::angle_gradients&, index_t begin, index_t end) noexcept;
    void (*fill_float)(int source_code, const void* source, float* cos, float* sin, index_t begin,
                       index_t end) noexcept;
    void (*fill_double)(int source_code, const void* source, double* cos, double* sin, index_t begin,
                        index_t end) noexcept;
};

/// What the table of a backend points to.
template <class Backend>
struct kernels_of {
    template <class P, class D, class O>
    static CORDAGE_ALWAYS_INLINE void rotate_one(const cos_sin_tables& tables, const void* address, index_t begin,
                                                 index_t end) noexcept {
        const O* const one[]{static_cast<const O*>(address)};
        backend::rotate_range<P, D>(Backend{}, tables.of<typename O::compute>(), operand_list<O>(one), begin, end);
    }
    template <class P, class O>
    static CORDAGE_ALWAYS_INLINE void rotate_in(direction d, const cos_sin_tables& tables, const void* address,
                                                index_t begin, index_t end) noexcept {
        if constexpr (O::is_plain) {
            if (d == direction::adjoint) return rotate_one<P, backend::adjoint, O>(tables, address, begin, end);
        }
        if constexpr (!O::is_normalized) {
            if (d == direction::inverse) return rotate_one<P, backend::inverse, O>(tables, address, begin, end);
        }
        rotate_one<P, backend::forward, O>(tables, address, begin, end);
    }
    static void rotate(bool is_interleaved, direction d, const cos_sin_tables& tables, std::size_t type,
                       const void* address, index_t begin, index_t end) noexcept {
        [&]<std::size_t... I>(std::index_sequence<I...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const auto rotate_as = [&]<class O>(const O*) CORDAGE_ALWAYS_INLINE_LAMBDA {
                is_interleaved ? rotate_in<interleaved, O>(d, tables, address, begin, end)
                               : rotate_in<half_split, O>(d, tables, address, begin, end);
            };
            ((type == I ? rotate_as(static_cast<const std::variant_alternative_t<I, forward_operand>*>(nullptr))
                        : void()),
             ...);
        }
        (std::make_index_sequence<std::variant_size_v<forward_operand>>{});
    }

    template <class P, class O>
    static CORDAGE_ALWAYS_INLINE void backward_one(const void* source, const void* address,
                                                   const backend::angle_gradients& grads, index_t begin,
                                                   index_t end) noexcept {
        const O* const one[]{static_cast<const O*>(address)};
        backend::backward_range<P>(Backend{}, *static_cast<const gradient_source<typename O::compute>*>(source),
                                   operand_list<O>(one), grads, begin, end);
    }
    static void backward(bool is_interleaved, const void* source, std::size_t type, const void* address,
                         const backend::angle_gradients& grads, index_t begin, index_t end) noexcept {
        [&]<std::size_t... I>(std::index_sequence<I...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const auto backward_as = [&]<class O>(const O*) CORDAGE_ALWAYS_INLINE_LAMBDA {
                is_interleaved ? backward_one<interleaved, O>(source, address, grads, begin, end)
                               : backward_one<half_split, O>(source, address, grads, begin, end);
            };
            ((type == I ? backward_as(static_cast<const std::variant_alternative_t<I, gradient_operand>*>(nullptr))
                        : void()),
             ...);
        }
        (std::make_index_sequence<std::variant_size_v<gradient_operand>>{});
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
        return {name, rotate, backward, fill<float>, fill<double>};
    }
};

/// Of the units that a library links beside its implementation, which then defines CORDAGE_C_DISPATCH; and of the
/// implementation's own unit, where it does not.
extern const kernels avx512_kernels, avx2_kernels, baseline_kernels, native_kernels;

}  // namespace cordage::c
