// SPDX-License-Identifier: MIT
// The tokens and heads of a thread; serves the CUDA kernels.
#pragma once

#include <span>
#include <tuple>
#include <type_traits>

#include "cordage/backend/cuda/block_view.hpp"
#include "cordage/backend/cuda/unit.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

struct token_place {
    index_t row;
    index_t token;  // of the row
};

/// The row and token of a number row * tokens + token, not negative.
CORDAGE_HOST_DEVICE inline token_place place_of(index_t number, index_t tokens) noexcept {
    if (number < tokens) return {0, number};
    const quotient_and_rest of = divided(number, tokens);
    return {of.quotient, of.rest};
}

/// Operands of one launch.
inline constexpr int most_operands = 4;

/// The heads of thread y, every (threads.y * blocks.y)-th one, counted over all operands:
///
///   for (thread_heads heads(at, operands, count); heads.is_at_head(); heads.go_on()) ... heads.operand(), heads.head()
template <class Operand>
class thread_heads {
 public:
    CORDAGE_HOST_DEVICE thread_heads(const block_view& at, const Operand (&operands)[most_operands], int count) noexcept
        : operand_(operands),
          end_(operands + count),
          head_(static_cast<std::int32_t>(at.block.y * at.threads.y + at.thread.y)),
          step_(static_cast<std::int32_t>(at.blocks.y * at.threads.y)) {
        settle();
    }
    CORDAGE_HOST_DEVICE bool is_at_head() const noexcept { return operand_ != end_; }
    CORDAGE_HOST_DEVICE const Operand& operand() const noexcept { return *operand_; }
    CORDAGE_HOST_DEVICE index_t head() const noexcept { return head_; }
    CORDAGE_HOST_DEVICE void go_on() noexcept {
        head_ += step_;
        settle();
    }

 private:
    CORDAGE_HOST_DEVICE void settle() noexcept {
        for (; operand_ != end_; ++operand_) {
            const auto heads = static_cast<std::int32_t>(operand_->shape().heads);  // checked: at most 2^24
            if (head_ < heads) return;
            head_ -= heads;
        }
    }

    const Operand* operand_;
    const Operand* end_;
    std::int32_t head_;
    std::int32_t step_;
};

template <class Views>
inline constexpr bool have_pieces = false;
template <class... View>
inline constexpr bool have_pieces<std::tuple<View...>> = (has_pieces<std::remove_cvref_t<View>> && ...);

/// Calls launch(by_pieces, heads) unless there are no heads: by_pieces is true_type if every view of the operands can
/// be accessed in 16-byte pieces, heads is the number of heads of all operands.
template <pairing Pairing, class Operand, class Launch>
void with_pieces(std::span<const Operand* const> operands, index_t pairs, const Launch& launch) {
    index_t heads = 0;
    bool by_pieces = true;
    for (const Operand* o : operands) {
        heads += o->shape().heads;
        std::apply(
            [&](const auto&... view) {
                by_pieces = by_pieces && (fits_pieces<Pairing>(view, o->first_lane, pairs) && ...);
            },
            o->views());
    }
    if (heads == 0) return;
    if (by_pieces) {
        launch(std::bool_constant<have_pieces<decltype(operands[0]->views())>>{}, heads);
    } else {
        launch(std::false_type{}, heads);
    }
}

}  // namespace cordage::backend
