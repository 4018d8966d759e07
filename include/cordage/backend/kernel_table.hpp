// SPDX-License-Identifier: MIT
// A table of the kernels of one instruction set, among which a program chooses when it runs. Each set has its own
// translation unit, which contains only kernels (docs/backends.md); serves stage rotation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "cordage/backend/any_format.hpp"

#if defined(CORDAGE_HAS_SIMD)

namespace cordage::backend {

template <class... Types>
struct type_list {
    static constexpr std::size_t size = sizeof...(Types);

    /// The index of a type; `size` for one that is not listed.
    template <class T>
    static constexpr std::size_t index_of = [] {
        std::size_t at = 0;
        (void)((std::is_same_v<T, Types> || (++at, false)) || ...);
        return at;
    }();
    /// Calls f(null pointer) with the type of an index.
    template <class F>
    static CORDAGE_ALWAYS_INLINE void with_type(std::size_t index, const F& f) noexcept {
        std::size_t at = 0;
        ((index == at++ ? f(static_cast<const Types*>(nullptr)) : void()), ...);
    }
};

/// The operand types that have kernels in a table.
using table_operands =
    type_list<operand<float>, operand<float16>, operand<bfloat16>, any_operand<no_norm>, normalized_operand<float>,
              normalized_operand<float16>, normalized_operand<bfloat16>, any_operand<rms_norm<float>>>;
using table_gradients =
    type_list<backward_operand<float>, backward_operand<float16>, backward_operand<bfloat16>,
              normalized_gradient<float>, normalized_gradient<float16>, normalized_gradient<bfloat16>>;

/// The kernels of one instruction set. `operands`: addresses of operands of one type, given by its index in the lists
/// above.
struct kernel_table {
    const char* name;
    void (*rotate)(bool is_interleaved, const direction_data&, const token_angles<float>&, std::size_t type,
                   std::span<const void* const> operands, index_t begin, index_t end) noexcept;
    void (*backward)(bool is_interleaved, const token_angles<float>&, const token_gradients<float>&, std::size_t type,
                     std::span<const void* const> operands, index_t begin, index_t end) noexcept;
    /// write_rows_of_phases
    void (*write_rows)(const std::uint32_t* phases, const float* factors, index_t tokens, index_t count, float* cos,
                       float* sin, index_t stride) noexcept;
};

/// The functions in the table of an instruction set.
template <class Arch>
struct kernels_of {
    static void rotate(bool is_interleaved, const direction_data& direction, const token_angles<float>& angles,
                       std::size_t type, std::span<const void* const> operands, index_t begin, index_t end) noexcept {
        table_operands::with_type(type, [&]<class O>(const O*) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const operand_list<O> all(operands);
            is_interleaved ? simd_detail::rotate_tokens<interleaved, Arch>(angles, direction, all, begin, end)
                           : simd_detail::rotate_tokens<half_split, Arch>(angles, direction, all, begin, end);
        });
    }
    static void backward(bool is_interleaved, const token_angles<float>& angles, const token_gradients<float>& grads,
                         std::size_t type, std::span<const void* const> operands, index_t begin, index_t end) noexcept {
        table_gradients::with_type(type, [&]<class O>(const O*) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const operand_list<O> all(operands);
            is_interleaved ? simd_detail::backward_tokens<interleaved, Arch>(angles, all, grads, begin, end)
                           : simd_detail::backward_tokens<half_split, Arch>(angles, all, grads, begin, end);
        });
    }
    static void write_rows(const std::uint32_t* phases, const float* factors, index_t tokens, index_t count, float* cos,
                           float* sin, index_t stride) noexcept {
        if constexpr (simd_detail::has_fused_multiply_add<Arch>) {
            write_rows_of_phases(simd<Arch>{}, phases, factors, tokens, count, cos, sin, stride);
        } else {
            for (index_t t = 0; t < tokens; ++t) {
                for (index_t i = 0; i < count; ++i) {
                    const cos_sin<double> at = cos_sin_of_phase(std::uint64_t{phases[t * row_block + i]} << 32);
                    cos[t * stride + i] = static_cast<float>(at.cos * static_cast<double>(factors[t]));
                    sin[t * stride + i] = static_cast<float>(at.sin * static_cast<double>(factors[t]));
                }
            }
        }
    }

    static constexpr kernel_table table(const char* name) noexcept { return {name, rotate, backward, write_rows}; }
};

/// Of the library that a program with CORDAGE_DISPATCH links.
extern const kernel_table avx512_kernels, avx2_kernels, baseline_kernels;

}  // namespace cordage::backend

#endif
