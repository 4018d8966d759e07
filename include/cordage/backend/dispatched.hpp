// SPDX-License-Identifier: MIT
// The backend that calls the kernels of the best instruction set that the processor supports, of the CMake target
// cordage::dispatched, which defines CORDAGE_DISPATCH; serves stage rotation.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <string_view>

#include "cordage/backend/kernel_table.hpp"
#include "cordage/core/error.hpp"

#if defined(CORDAGE_HAS_SIMD) && defined(__x86_64__)

namespace cordage::backend {

/// Kernels, and whether this processor can run them.
struct usable_kernels {
    const kernel_table* table;
    bool is_usable;
};
/// All kernels, best first.
inline std::array<usable_kernels, 3> all_kernels() noexcept {
    const auto has = [](auto... answers) { return (... && (answers != 0)); };
    const bool has_avx2 =
        has(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"));  // processors with AVX2 have F16C
    const bool has_avx512 = has_avx2 && has(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512cd"),
                                            __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512bw"),
                                            __builtin_cpu_supports("avx512vl"));
    return {{{&avx512_kernels, has_avx512}, {&avx2_kernels, has_avx2}, {&baseline_kernels, true}}};
}

/// The kernels of a name, "avx512", "avx2" or "baseline"; "best": the first that the processor supports.
/// @throws value_error
inline const kernel_table* kernels_named(const char* function, std::string_view name) {
    std::string names;
    for (const auto& [table, is_usable] : all_kernels()) {
        if (is_usable && (name == "best" || name == table->name)) return table;
        if (is_usable) names += message("'", table->name, "', ");
    }
    fail<value_error>({function, ": name ", in_quotes(name),
                       " must be one that this library and processor support: ", names, "'best'"});
}

/// The kernels of the calls to come: the best. The processor is queried once.
inline std::atomic<const kernel_table*>& chosen_kernels() {
    static std::atomic<const kernel_table*> chosen{kernels_named("cordage", "best")};
    return chosen;
}

/// The backend. `compiled` does what has no kernels in a table: double, formats of your own, norms of more than
/// most_norm_weights weights of 16 bits, and between two formats norms over all heads or rounded in between and heads
/// of more than most_lanes_of_head lanes. cos and sin of sources without phases are computed by `compiled` too.
struct dispatched {};

/// Maximum number of weights that are converted to the floats of a table's norms, on the stack.
inline constexpr index_t most_norm_weights = 8192;

/// An instruction set for token_angles: that of the chosen kernels.
struct by_table {};
template <>
inline constexpr bool simd_detail::has_fused_multiply_add<by_table> = true;
template <>
inline constexpr index_t row_width<by_table, float> = 16;
template <class Real>
constexpr auto maker_of_rows(dispatched) noexcept {
    if constexpr (std::is_same_v<Real, float>) {
        return simd<by_table>{};
    } else {
        return compiled{};
    }
}
inline void write_rows_of_phases(simd<by_table>, const std::uint32_t* phases, const float* factors, index_t tokens,
                                 index_t count, float* cos, float* sin, index_t stride) noexcept {
    chosen_kernels().load()->write_rows(phases, factors, tokens, count, cos, sin, stride);
}

namespace dispatch_detail {

template <class O>
inline constexpr bool is_in_table =
    table_operands::index_of<O> != table_operands::size || table_gradients::index_of<O> != table_gradients::size;

/// Calls f(norm) for a norm with weights in float. Returns false if it has too many.
template <class W, class F>
bool with_float_weights(const rms_norm<W>& norm, const heads_shape& shape, const F& f) noexcept {
    rms_norm<float> made{
        nullptr, norm.epsilon, norm.adds_one, norm.is_over_all_heads, norm.is_after_rotation, norm.is_rounded_between};
    if constexpr (std::is_same_v<W, float>) {
        made.weight = norm.weight;
        f(made);
    } else {
        const index_t count = norm.weight == nullptr ? 0 : norm.rows(shape.heads) * shape.head_dim;
        if (count > most_norm_weights) return false;
        alignas(64) float weights[most_norm_weights];
        for (index_t i = 0; i < count; ++i) weights[i] = static_cast<float>(element_traits<W>::load(norm.weight[i]));
        if (count > 0) made.weight = weights;
        f(made);
    }
    return true;
}

/// Calls f with the operand of a table that does the same as `o`, and returns true; false if there is none. Kernels of
/// two formats stage whole heads.
template <class X, class Y, class XFormat, class YFormat, class Norm, class F>
bool with_table_operand(const operand<X, Y, XFormat, YFormat, Norm>& o, const F& f) noexcept {
    using plain = operand<X, Y, XFormat, YFormat>;
    if constexpr (is_in_table<plain> && !std::is_same_v<Norm, no_norm>) {
        return with_float_weights(o.norm, o.shape(), [&](const rms_norm<float>& norm) {
            f(plain(o.x, o.y, o.first_lane, {}, o.is_rotated()).normalized(norm));
        });
    } else if constexpr (known_format<XFormat, X> && known_format<YFormat, Y>) {
        if (o.shape().head_dim > most_lanes_of_head) return false;
        const any_operand<no_norm> bytes(as_bytes(o.x), as_bytes(o.y), o.first_lane, {}, o.is_rotated());
        if constexpr (std::is_same_v<Norm, no_norm>) {
            f(bytes);
            return true;
        } else {
            if (o.norm.is_over_all_heads || (o.norm.is_rounded_between && !std::is_same_v<X, float>)) return false;
            return with_float_weights(o.norm, o.shape(),
                                      [&](const rms_norm<float>& norm) { f(bytes.normalized(norm)); });
        }
    } else {
        return false;
    }
}
template <class T, class Format, class Norm, class F>
bool with_table_operand(const backward_operand<T, Format, Norm>& o, const F& f) noexcept {
    using made = backward_operand<T, Format, rms_norm<float>>;
    if constexpr (!std::is_same_v<Norm, no_norm> && is_in_table<made>) {
        return with_float_weights(o.norm, o.shape(), [&](const rms_norm<float>& norm) {
            f(made{o.grad_y, o.y, o.grad_x, o.first_lane, norm, o.grad_weight, o.rotates});
        });
    } else {
        return false;  // those without a norm that are in a table do not come here
    }
}

/// Calls f(list) with all operands, in order: those of a table where they can.
template <class O, class F>
void for_each_list(const operand_list<O>& operands, const F& f) noexcept {
    if constexpr (is_in_table<O>) {
        f(operands);
    } else {
        for (const O& o : operands) {
            if (!with_table_operand(o, [&](const auto& made) { with_list_of(made, f); })) with_list_of(o, f);
        }
    }
}

}  // namespace dispatch_detail

/// The scalar backend's function, by the chosen kernels.
template <pairing Pairing, class Direction, class Source, class O>
void rotate_range(dispatched, const Source& angles, const operand_list<O>& operands, index_t begin,
                  index_t end) noexcept {
    if constexpr (std::is_same_v<typename O::compute, float>) {
        const kernel_table& kernels = *chosen_kernels().load();
        const auto of_tokens = token_angles<float>::of(simd<by_table>{}, angles);
        dispatch_detail::for_each_list(operands, [&]<class Made>(const operand_list<Made>& list) {
            constexpr std::size_t type = table_operands::index_of<Made>;
            if constexpr (type != table_operands::size) {
                kernels.rotate(std::is_same_v<Pairing, interleaved>, Direction::data, of_tokens, type, list.addresses(),
                               begin, end);
            } else {
                rotate_range<Pairing, Direction>(compiled{}, angles, list, begin, end);
            }
        });
    } else {
        rotate_range<Pairing, Direction>(compiled{}, angles, operands, begin, end);
    }
}

/// The scalar backend's function, by the chosen kernels.
template <pairing Pairing, class Source, class O>
void backward_range(dispatched, const Source& angles, const operand_list<O>& operands, const angle_gradients& grads,
                    index_t begin, index_t end) noexcept {
    if constexpr (std::is_same_v<typename O::compute, float>) {
        const kernel_table& kernels = *chosen_kernels().load();
        const auto of_tokens = token_angles<float>::of(simd<by_table>{}, angles);
        angle_gradients to = grads;  // whose weights are those of the operands to come
        dispatch_detail::for_each_list(operands, [&]<class Made>(const operand_list<Made>& list) {
            constexpr std::size_t type = table_gradients::index_of<Made>;
            if constexpr (type != table_gradients::size) {
                kernels.backward(std::is_same_v<Pairing, interleaved>, of_tokens,
                                 token_gradients<float>::of(simd<by_table>{}, angles, to), type, list.addresses(),
                                 begin, end);
            } else {
                backward_range<Pairing>(compiled{}, angles, list, to, begin, end);
            }
            for (const Made& o : list) {
                if (to.weights != nullptr) to.weights += o.grad_weight.size();
            }
        });
    } else {
        backward_range<Pairing>(compiled{}, angles, operands, grads, begin, end);
    }
}

/// The scalar backend's function, by the chosen kernels; entries are bit-identical to those of a rotation.
template <class Source, class Real>
void fill_range(dispatched, const Source& angles, Real* cos, Real* sin, index_t begin, index_t end) noexcept {
    if constexpr (std::is_same_v<Real, float>) {
        fill_range(simd<by_table>{}, angles, cos, sin, begin, end);
    } else {
        fill_range(compiled{}, angles, cos, sin, begin, end);
    }
}

}  // namespace cordage::backend

#elif defined(CORDAGE_DISPATCH)
#error "cordage: CORDAGE_DISPATCH (cordage::dispatched) is for x86-64 and needs xsimd; do not define CORDAGE_NO_SIMD"
#endif
