// SPDX-License-Identifier: MIT
// Rows of cos and sin of a few tokens, computed once for all kernels of a call; serves the SIMD rotation.
#pragma once

#include "cordage/backend/simd/angle_row.hpp"

namespace cordage::backend {

/// A source of angles for kernels: rows of another one, computed ahead for a few tokens at a time. Longer rows than
/// there is room for are computed by each kernel.
template <class Real>
class shared_rows : token_angles<Real> {
    using all = token_angles<Real>;

 public:
    using real = Real;
    using all::batch, all::tokens, all::pairs, all::attention_factor, all::is_identity, all::at;

    template <class Arch, class Source>
    CORDAGE_ALWAYS_INLINE shared_rows(simd<Arch> how, const Source& source) noexcept
        : all(all::of(how, source)), most_(pairs() <= row_block ? tokens_at_once : 0) {}

    /// The row of one token.
    CORDAGE_ALWAYS_INLINE angle_row<Real> rows(index_t row, index_t token, index_t some, index_t first, index_t count,
                                               Real* cos, Real* sin) const noexcept {
        if (most_ == 0) return all::rows(row, token, some, first, count, cos, sin).first;
        const angle_row<Real>& begin = of_[row * tokens() + token - begin_];
        return {begin.cos + first, begin.sin + first};
    }

    /// Calls run(begin, end) for a few tokens at a time of [begin, end).
    template <class Run>
    CORDAGE_ALWAYS_INLINE void for_each_block(index_t begin, index_t end, const Run& run) noexcept {
        if (most_ == 0) return run(begin, end);
        for (index_t last = begin; begin < end; begin = last) {
            last = std::min(begin + most_, end);
            make(begin, last);
            run(begin, last);
        }
    }

 private:
    static constexpr index_t tokens_at_once = 16;

    CORDAGE_ALWAYS_INLINE void make(index_t begin, index_t end) noexcept {
        begin_ = begin;
        for (index_t i = begin; i < end;) {
            const index_t row = i < tokens() ? 0 : i / tokens(), token = i - row * tokens();
            const index_t room = (i - begin) * row_block;
            const rows_of_tokens<Real> made = all::rows(row, token, end - i, 0, pairs(), cos_ + room, sin_ + room);
            for (index_t t = 0; t < made.tokens; ++t) {
                of_[i + t - begin] = {made.first.cos + t * made.stride, made.first.sin + t * made.stride};
            }
            i += made.tokens;
        }
    }

    index_t most_;  // tokens of a block; 0: no blocks
    index_t begin_ = 0;
    angle_row<Real> of_[tokens_at_once];
    alignas(64) Real cos_[tokens_at_once * row_block];
    alignas(64) Real sin_[tokens_at_once * row_block];
};

}  // namespace cordage::backend
