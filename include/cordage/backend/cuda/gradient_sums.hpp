// SPDX-License-Identifier: MIT
// Partial sums of the blocks of a backward pass, each over a chunk of tokens, and the launch of the kernel that adds
// them up in a fixed order; serves the CUDA backward pass.
#pragma once

#include <algorithm>
#include <span>

#include "cordage/angles/angle_source.hpp"
#include "cordage/backend/cuda/head_grid.hpp"
#include "cordage/backend/cuda/launch.hpp"
#include "cordage/core/token_chunks.hpp"

namespace cordage::backend {

/// Destinations of the gradients of a backward pass on a device, and its workspace. Null: not computed.
struct device_gradients {
    double* inv_freq = nullptr;                 // [bases, pairs]
    double* position = nullptr;                 // [axes, batch, tokens]
    double* angle = nullptr;                    // [batch, tokens, pairs]
    double* attention_factor = nullptr;         // [bases]
    double* workspace = nullptr;                // [most_rows_of_sums, sums_of_chunk + weights]
    const double* attention_factors = nullptr;  // of the bases, [bases]

    bool has_sums() const noexcept { return inv_freq != nullptr || attention_factor != nullptr; }
    bool has_sums_of_token() const noexcept { return position != nullptr || angle != nullptr; }
};

/// Numbers of a chunk, beside those of weights: dL/dinv_freq for each basis of a token, and the sum of grad_y . y.
template <class Source>
index_t sums_of_chunk(const Source& angles) noexcept {
    return angle_detail::bases_of_token(angles) * angles.pairs() + 1;
}

/// Most chunks of a launch, two for each multiprocessor of an H100 or H200, unless there are more bases. A constant, so
/// that sums have the same bits on every device; on an A100, whose multiprocessors hold 216 blocks, the last 48 begin
/// when others end.
inline constexpr index_t most_device_chunks = 264;

/// Rows of sums in the workspace, at least one for each basis.
inline index_t most_rows_of_sums(index_t tokens, index_t bases) noexcept {
    return tokens == 0
               ? 0
               : bases * std::clamp<index_t>(tokens / bases / 2, 1, std::max<index_t>(most_device_chunks / bases, 1));
}

/// Chunks of at least `length` tokens of one basis.
inline token_chunks chunks_of_length(index_t tokens, index_t bases, index_t length) noexcept {
    return token_chunks::of(tokens, bases, most_elements, length);
}

/// Rows of sums that belong to one operand, and the gradient of its weights.
struct summed_operand {
    index_t first_row = 0, rows_of_basis = 0, rows = 0;
    bool is_rotated = false;
    double* weight = nullptr;  // added to, or null
    index_t weights = 0;
};

/// Adds rows of sums to gradients: x -> a column, y -> every threads.y-th row; blocks.y -> bases, then the weights of
/// all operands, which follow the sums of a row.
struct gradient_sums_kernel {
    static constexpr int columns = 8, block_threads = 256, blocks_per_processor = 4;

    const double* rows;
    index_t row_size, weights_at;     // columns of a row, and those before its weights
    index_t numbers, bases;           // of one basis, or of those that rotate a token together
    index_t targets;                  // bases, and one more if operands have weights
    double* inv_freq;                 // [bases, numbers], added to, or null
    double* attention_factor;         // [bases], factor_stride apart, added to, or null
    const double* attention_factors;  // [bases], factor_stride apart
    index_t factor_stride;
    summed_operand operands[most_operands];
};
static_assert(device_kernel<gradient_sums_kernel>);

/// Where a pass adds its sums, the member `to` of its kernel.
struct pass_sums {
    index_t only_basis = -1;                         // process the tokens of this basis only; -1: all
    double *sums = nullptr, *weight_sums = nullptr;  // of the first chunk, or null
    index_t row_size = 0;                            // from chunk to chunk
    double *position = nullptr, *angle = nullptr;    // added to, or null
    index_t axis_stride = 0;                         // of position: all tokens
};

/// The sums of a pass over all tokens, or over those of one basis.
class summed_pass {
 public:
    template <class Source>
    summed_pass(const Source& angles, index_t tokens, const device_gradients& grads) noexcept
        : tokens_(tokens),
          together_(angle_detail::bases_of_token(angles)),  // the bases of a token count as one
          bases_(angle_detail::bases_of(angles) / together_),
          has_basis_of_token_(angle_detail::has_basis_of_token(angles)),
          has_sums_(grads.has_sums()),
          chunk_bases_(has_basis_of_token_ ? 1 : bases_),
          most_rows_(most_rows_of_sums(tokens, chunk_bases_)),
          numbers_(together_ * angles.pairs()),
          grads_(grads) {}

    index_t bases_of_chunks() const noexcept { return chunk_bases_; }
    index_t most_rows() const noexcept { return most_rows_; }
    void add(const token_chunks& chunks, bool is_rotated, std::span<double> weight) noexcept {
        operands_[count_++] = {rows_,
                               chunks.per_basis,
                               chunks.count,
                               is_rotated,
                               weight.empty() ? nullptr : weight.data(),
                               std::ssize(weight)};
        rows_ += chunks.count;
        weights_ = std::max(weights_, std::ssize(weight));
    }

    /// Launches the pass over all tokens and the kernel that adds up its sums; or, if each token has its own basis
    /// index and gradients to bases are computed, both once for each basis. Fills in kernel.to.
    template <kernel_launcher Launcher, class Kernel>
    void launch(const char* function, const Launcher& where, Kernel& kernel, const launch_size& size) const {
        const bool is_by_basis = has_basis_of_token_ && bases_ > 1 && has_sums_;
        kernel.to = {-1,
                     has_sums_ ? grads_.workspace : nullptr,
                     weights_ == 0 ? nullptr : grads_.workspace + weights_at(),
                     row_size(),
                     grads_.position,
                     grads_.angle,
                     tokens_};
        for (index_t b = 0; b < (is_by_basis ? bases_ : 1); ++b) {
            if (is_by_basis) kernel.to.only_basis = b;
            where.launch(function, kernel, size);
            if (row_size() > 0) add_up(function, where, is_by_basis ? 1 : bases_, b);
        }
    }

 private:
    index_t weights_at() const noexcept { return has_sums_ ? numbers_ + 1 : 0; }
    index_t row_size() const noexcept { return weights_at() + weights_; }
    template <class Launcher>
    void add_up(const char* function, const Launcher& where, index_t bases, index_t first) const {
        const auto from = [first](auto* data, index_t size) { return data == nullptr ? nullptr : data + first * size; };
        const index_t summed_bases = has_sums_ ? bases : 0;
        const index_t targets = summed_bases + (weights_ == 0 ? 0 : 1);
        gradient_sums_kernel kernel{grads_.workspace,
                                    row_size(),
                                    weights_at(),
                                    numbers_,
                                    summed_bases,
                                    targets,
                                    from(grads_.inv_freq, numbers_),
                                    from(grads_.attention_factor, together_),
                                    from(grads_.attention_factors, together_),
                                    together_,
                                    {}};
        std::copy_n(operands_, most_operands, kernel.operands);
        constexpr index_t x = gradient_sums_kernel::columns;
        where.launch(
            function, kernel,
            {sizes(x, kernel.block_threads / x),
             sizes(rounded_up_quotient(std::max(weights_at(), weights_), x), std::min(targets, most_blocks_yz))});
    }

    index_t tokens_, together_, bases_;
    bool has_basis_of_token_, has_sums_;
    index_t chunk_bases_, most_rows_, numbers_;
    device_gradients grads_;
    summed_operand operands_[most_operands];
    std::size_t count_ = 0;
    index_t rows_ = 0, weights_ = 0;
};

}  // namespace cordage::backend
