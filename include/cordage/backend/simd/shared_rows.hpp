// SPDX-License-Identifier: MIT
// Rows of cos and sin of a few tokens, computed once for all kernels of a call; serves the SIMD rotation.
#pragma once

#include "cordage/backend/simd/angle_row.hpp"

namespace cordage::backend {

/// A source of angles for kernels: rows of another one, computed ahead for a few tokens at a time. Longer rows than
/// there is room for are computed by each kernel.
template <class Real>
class shared_rows {
 public:
    template <class Arch, class Source>
    CORDAGE_ALWAYS_INLINE shared_rows(simd<Arch> how, const Source& source) noexcept
        : angles_(token_angles<Real>::of(how, source)), most_(angles_.pairs() <= row_block ? tokens_at_once : 0) {}

    CORDAGE_ALWAYS_INLINE index_t batch() const noexcept { return angles_.batch(); }
    CORDAGE_ALWAYS_INLINE index_t tokens() const noexcept { return angles_.tokens(); }
    CORDAGE_ALWAYS_INLINE index_t pairs() const noexcept { return angles_.pairs(); }
    CORDAGE_ALWAYS_INLINE double attention_factor(index_t row, index_t token) const noexcept {
        return angles_.attention_factor(row, token);
    }
    CORDAGE_ALWAYS_INLINE bool is_identity(index_t row, index_t token) const noexcept {
        return angles_.is_identity(row, token);
    }
    template <class T>
    CORDAGE_ALWAYS_INLINE cos_sin<T> at(index_t row, index_t token, index_t pair) const noexcept {
        return angles_.template at<T>(row, token, pair);
    }
    /// As token_angles::rows.
    CORDAGE_ALWAYS_INLINE angle_row<Real> rows(index_t row, index_t token, index_t tokens, index_t first, index_t count,
                                               Real* cos, Real* sin) const noexcept {
        if (most_ == 0) return angles_.rows(row, token, tokens, first, count, cos, sin);
        const angle_row<Real>& begin = of_[row * angles_.tokens() + token - begin_];
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
            const index_t row = i < angles_.tokens() ? 0 : i / angles_.tokens(), token = i - row * angles_.tokens();
            if (token != 0 && i != begin && angles_.repeats_last(row, token)) {
                of_[i - begin] = of_[i - begin - 1];
                ++i;
                continue;
            }
            const index_t some = std::min({end - i, angles_.tokens() - token, angles_.rows_together()});
            const index_t at = (i - begin) * row_block;
            const angle_row<Real> made = angles_.rows(row, token, some, 0, angles_.pairs(), cos_ + at, sin_ + at);
            for (index_t t = 0; t < some; ++t) {
                of_[i + t - begin] = {made.cos + t * row_block, made.sin + t * row_block};
            }
            i += some;
        }
    }

    token_angles<Real> angles_;
    index_t most_;  // tokens of a block; 0: no blocks
    index_t begin_ = 0;
    angle_row<Real> of_[tokens_at_once];
    alignas(64) Real cos_[tokens_at_once * row_block];
    alignas(64) Real sin_[tokens_at_once * row_block];
};

}  // namespace cordage::backend
