// SPDX-License-Identifier: MIT
// The backward pass of the rotation: gradients to x, frequencies, positions and the attention factor; stage rotation.
#pragma once

#include <algorithm>
#include <vector>

#include "cordage/rotate/forward.hpp"

namespace cordage {

/// Spans to which a backward pass adds gradients other than grad_x. A gradient whose span is empty is not computed.
struct rotation_gradients {
    std::span<double> inv_freq = {};          ///< dL/dinv_freq, [bases, rotary_dim/2] dense, added to
    std::span<double> position_ids = {};      ///< dL/dposition, [axes, batch, tokens] dense, added to
    std::span<double> attention_factor = {};  ///< dL/dm, [bases], added to
    std::span<double> angles = {};            ///< dL/dangle, [batch, tokens, rotary_dim/2] dense, added to
    std::span<double> workspace = {};         ///< on a device only: backward_workspace_size doubles, uninitialised
};

namespace rotate_detail {

// At most max(64, bases) chunks of tokens, each with its own partial sums, and of at least 32 tokens. The chunks
// do not depend on the executor, so that sums have the same bits for any number of threads.
inline constexpr index_t most_chunks = 64;
inline constexpr index_t smallest_chunk = 32;

// What a source says of the bases and positions to which gradients flow.
struct gradient_sizes {
    index_t pairs, axes, bases;
    index_t bases_of_token;   // consecutive: 1, or one for each axis of summed axes
    bool has_basis_of_token;  // whether tokens of a row may have different bases

    template <class Source>
    static gradient_sizes of(const Source& angles) {
        const index_t bases = angle_detail::bases_of(angles);
        return {angles.pairs(), angle_detail::axes_of(angles), bases, angle_detail::bases_of_token(angles),
                angle_detail::has_basis_of_token(angles) && bases > 1};
    }
};

inline void check_gradients(const rotation_gradients& grads, const gradient_sizes& sizes, index_t tokens) {
    const index_t bases = sizes.bases, axes = sizes.axes;
    const auto check_size = [](const char* name, std::span<double> given, const char* meaning, index_t wanted) {
        if (given.empty() || std::ssize(given) == wanted) return;
        fail<shape_error>(
            {"rotate_backward: grads.", name, " has ", given.size(), " entries, must have ", meaning, " = ", wanted});
    };
    check_size("inv_freq", grads.inv_freq, bases == 1 ? "rotary_dim/2" : "bases*rotary_dim/2", bases * sizes.pairs);
    check_size("position_ids", grads.position_ids, axes == 1 ? "batch*tokens" : "axes*batch*tokens", axes * tokens);
    check_size("attention_factor", grads.attention_factor, "bases", bases);
    check_size("angles", grads.angles, "batch*tokens*rotary_dim/2", tokens * sizes.pairs);
}

// The memory that a backward pass adds gradients to, and its workspace.
inline std::array<named_sums, most_sums> sums_of(const rotation_gradients& grads) {
    return {{{"grads.inv_freq", grads.inv_freq},
             {"grads.position_ids", grads.position_ids},
             {"grads.attention_factor", grads.attention_factor},
             {"grads.angles", grads.angles},
             {"grads.workspace", grads.workspace}}};
}

// The partial sums of a backward pass, those of each chunk of tokens apart.
//
// With a basis for each row, a chunk has sums for one basis, or for one basis per axis of summed axes; with a basis for
// each token, it has sums for all bases, and there are fewer chunks.
class chunk_sums {
 public:
    chunk_sums(const rotation_call& call, const call_size& size, const rotation_gradients& grads,
               const gradient_sizes& sizes)
        : call_(call),
          grads_(grads),
          tokens_(size.tokens),
          pairs_(sizes.pairs),
          bases_(sizes.has_basis_of_token ? sizes.bases : sizes.bases_of_token),
          chunks_(token_chunks::of(tokens_, sizes.bases / bases_,
                                   sizes.has_basis_of_token
                                       ? std::clamp<index_t>(most_chunks * 64 / sizes.bases, 1, most_chunks)
                                       : most_chunks,
                                   smallest_chunk)) {
        const index_t sums = chunks_.count * bases_;
        if (!grads.inv_freq.empty()) inv_freq_.resize(static_cast<std::size_t>(sums * pairs_));
        if (!grads.attention_factor.empty()) factor_.resize(static_cast<std::size_t>(sums));
        for (const call_operand& o : call.operands) weights_of_chunk_ += std::ssize(o.grad_weight);
        weights_.resize(static_cast<std::size_t>(chunks_.count * weights_of_chunk_));
    }

    index_t count() const { return chunks_.count; }
    index_t length() const { return chunks_.length; }

    // The chunks [begin, end).
    void run(index_t begin, index_t end) noexcept {
        for (index_t c = begin; c < end; ++c) {
            backend::angle_gradients mine{.first_basis = chunks_.basis(c) * bases_, .axis_stride = tokens_};
            if (!inv_freq_.empty()) mine.inv_freq = inv_freq_.data() + c * bases_ * pairs_;
            if (!factor_.empty()) mine.attention_factor = factor_.data() + c * bases_;
            if (!grads_.position_ids.empty()) mine.position = grads_.position_ids.data();
            if (!grads_.angles.empty()) mine.angle = grads_.angles.data();
            mine.weights = weights_.data() + c * weights_of_chunk_;
            run_tokens(call_, nullptr, &mine, chunks_.begin(c), chunks_.end(c));
        }
    }

    // Adds the sums to the caller's, chunk by chunk.
    void add_up() const {
        add_up(inv_freq_, grads_.inv_freq, pairs_);
        add_up(factor_, grads_.attention_factor, 1);
        for (index_t c = 0; c < chunks_.count && weights_of_chunk_ > 0; ++c) {
            for (const call_operand& o : call_.operands) {
                const double* from = weights_.data() + c * weights_of_chunk_ + o.first_weight;
                for (double& sum : o.grad_weight) sum += *from++;
            }
        }
    }

 private:
    void add_up(const std::vector<double>& partial, std::span<double> to, index_t numbers) const {
        for (index_t c = 0; !partial.empty() && c < chunks_.count; ++c) {
            const index_t count = bases_ * numbers, first = chunks_.basis(c) * count;
            for (index_t i = 0; i < count; ++i) {
                to[static_cast<std::size_t>(first + i)] += partial[static_cast<std::size_t>(c * count + i)];
            }
        }
    }

    const rotation_call& call_;
    const rotation_gradients& grads_;
    index_t tokens_, pairs_;
    index_t bases_;  // of a chunk
    token_chunks chunks_;
    index_t weights_of_chunk_ = 0;
    std::vector<double> inv_freq_, factor_, weights_;
};

// Runs a checked call with gradients.
template <executor Executor>
void run_backward(const Executor& where, const rotation_call& call, const call_size& size,
                  const rotation_gradients& grads, const gradient_sizes& sizes) {
    if (size.is_empty) return;
    list_operands(call);
    chunk_sums sums(call, size, grads, sizes);
    for_each_range(where, sums.count(), saturated_product(size.bytes_of_token, sums.length()),
                   [&](index_t begin, index_t end) noexcept { sums.run(begin, end); });
    sums.add_up();
}

// The direction of a backward pass that reads the forward's output, or input; that of grad_x alone is backend::adjoint.
struct with_gradients {};
template <class Argument>
inline constexpr bool is_of_gradients = std::same_as<Argument, rotation_gradients> || backward_operand_type<Argument>;

// grad_x and the gradients to weights, frequencies, positions, angles and attention factors, on the host.
template <pairing Pairing, class Backend, executor Executor, class Source, class... Operands>
void backward_through(const char* function, const Executor& where, const Source& angles,
                      const rotation_gradients& grads, const Operands&... operands) {
    if constexpr (!require_source_on_host<Source>()) return;
    static_assert(
        backend::has_backward_range<Backend>,
        "cordage: a backend needs 'template <pairing P, class Source, class O> void backward_range(my_backend, const "
        "Source& angles, const operand_list<O>& operands, const backend::angle_gradients& grads, index_t begin, "
        "index_t end) noexcept' beside it; docs/extending.md");
    const std::array<range_kernel, sizeof...(Operands)> kernels{backward_tokens<Pairing, Backend, Source, Operands>...};
    call_on_stack<Operands...> made(function, angles, kernels, operands...);
    const rotation_call call = made.call();
    const call_size size = check_with_angles(call, memory::host, angles, sums_of(grads));
    const gradient_sizes sizes = gradient_sizes::of(angles);
    check_gradients(grads, sizes, size.tokens);
    if constexpr (!differentiable_angle_source<Source>) {
        if (!grads.inv_freq.empty() || !grads.position_ids.empty()) {
            fail<value_error>(
                {"rotate_backward: grads.inv_freq and grads.position_ids must be empty for angles without positions "
                 "and frequencies; their gradient is grads.angles"});
        }
    }
    run_backward(where, call, size, grads, sizes);
}

// grad_x and the gradients to norms' weights only.
template <pairing Pairing, class Backend, executor Executor, class Source, class... Operands>
    requires(sizeof...(Operands) > 0 && (backward_operand_type<Operands> && ...))
void rotate_at(with_gradients, const char* function, const Executor& where, const Source& angles,
               const Operands&... given) {
    backward_through<Pairing, Backend>(function, where, angles, {}, given...);
}
template <pairing Pairing, class Backend, executor Executor, class Source, class... Operands>
void rotate_at(with_gradients, const char* function, const Executor& where, const Source& angles,
               const rotation_gradients& grads, const Operands&... given) {
    static_assert(sizeof...(Operands) > 0 && (backward_operand_type<Operands> && ...),
                  "cordage::rotate_backward: after the gradients write operands grad_through(grad_y, y, grad_x)");
    static_assert(
        differentiable_angle_source<Source> || has_free_angles<Source>,
        "cordage::rotate_backward: gradients to positions and frequencies need 'double position(index_t row, "
        "index_t token, index_t axis) const' and 'const double* inv_freq(index_t basis) const'; docs/extending.md");
    backward_through<Pairing, Backend>(function, where, angles, grads, given...);
}

}  // namespace rotate_detail

/// Computes grad_x = m R(-a) grad_y, the transpose of rotate_forward, and in the same pass over grad_y and y the
/// gradients to frequencies, positions, angles and the attention factor m. For each pair (y0, y1) of angle a:
///
///   dL/da           = grad_y1 y0 - grad_y0 y1
///   dL/dinv_freq_i += sum over tokens and heads of position * dL/da_i
///   dL/dposition   += sum over pairs and heads of inv_freq_i * dL/da_i, for each axis over the pairs it rotates
///   dL/dm          += sum of grad_y . y / m over the rotated lanes
///   dL/dangle      += sum over heads of dL/da        (rotation_gradients::angles)
///
///   rotate_backward<half_split>(angles, in_place(grad_q), in_place(grad_k));                     // grad_x alone
///   rotate_backward<half_split>(angles, rotation_gradients{.inv_freq = grad}, grad_through(grad_q, q, grad_q), ...);
///
/// Arguments, in this order:
///   where     (optional) as for rotate_forward
///   angles    any source if only grad_x and weight gradients are computed; otherwise one with positions and
///             frequencies (exact_angles, float32_angles, axis_angles, summed_axes), free_angles, or a sum of sources
///   grads     (optional) rotation_gradients; results are added to its spans, empty spans are not computed
///   operands  without grads as for rotate_forward; with them grad_through(grad_y, y, grad_x), where y is the output
///             of rotate_forward; with or without them grad_through(grad_y, x, grad_x).normalized(norm, grad_weight),
///             where x is the input of rotate_forward (docs/cache_path.md). grad_x may be grad_y or the second view,
///             and must not partly overlap them
/// @throws shape_error, value_error  as for rotate_forward, before anything is written
/// Sums are in double and in a fixed order: the same bits for any number of threads. (A vector backend may add up the
/// heads of one token in float, for double tensors in double.) A 16-bit y is rounded, so that each product grad_y y in
/// the sums has the relative error of y (2^-8 for bfloat16). For inv_freq and attention_factor allocates partial sums,
/// at most max(64, bases) rows of rotary_dim/2 + 1 doubles (summed_axes: max(64 axes, bases) rows; a basis for each
/// token: max(4096, bases)); for weight gradients at most max(64, bases) rows of the weights' size.
template <class Pairing = void, class Backend = backend::fastest, class... Arguments>
void rotate_backward(const Arguments&... arguments) {
    constexpr bool has_gradients = (rotate_detail::is_of_gradients<Arguments> || ...);
    using direction = std::conditional_t<has_gradients, rotate_detail::with_gradients, backend::adjoint>;
    rotate_detail::rotate<Pairing, Backend, direction>("rotate_backward", arguments...);
}

}  // namespace cordage
