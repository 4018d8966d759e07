// SPDX-License-Identifier: MIT
// Scalar rotation of q and k, forward, adjoint and inverse: the reference for all backends; serves stage rotation.
#pragma once

#include "cordage/angles/angle_source.hpp"
#include "cordage/backend/direction.hpp"
#include "cordage/backend/scalar/normalized_heads.hpp"
#include "cordage/backend/scalar/pair_of_heads.hpp"
#include "cordage/backend/scalar/staged_heads.hpp"
#include "cordage/backend/tags.hpp"
#include "cordage/core/token_chunks.hpp"

namespace cordage::backend {

/// Rotates the tokens [begin, end) of all operands, numbered row * tokens + token.
///
///   for each token, pair:  c, s = cos, sin of its angle      once, then over the heads of q and of k
///     for each head:       (y0, y1) = (c x0 - s x1, s x0 + c x1), each rounded once on store
///
/// Heads with a norm, and heads in formats of whole heads, are processed one by one. Lanes that are not rotated are
/// copied. Allocates nothing. The caller checks the arguments.
template <pairing Pairing, class Direction, class Source, class O>
CORDAGE_ONE_BODY void rotate_range(scalar, const Source& angles, const operand_list<O>& operands, index_t begin,
                                   index_t end) noexcept {
    using real = typename O::compute;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    for_each_token(tokens, begin, end, [&](index_t row, index_t token) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const auto factor = static_cast<real>(Direction::extra_factor(angles.attention_factor(row, token)));
        const auto rotate_all = [&](const auto& some) CORDAGE_ALWAYS_INLINE_LAMBDA {
            for (index_t pair = 0; pair < pairs; ++pair) {
                const cos_sin<real> given = cos_sin_at<real>(angles, row, token, pair);
                const cos_sin<real> at{given.cos * factor, given.sin * (Direction::sine_sign * factor)};
                for (const auto& o : some) rotate_pair<Pairing>(o, row, token, pair, pairs, at);
            }
            for (const auto& o : some) copy_unrotated(o, row, token, 2 * pairs);
        };
        if constexpr (O::is_plain) {
            rotate_all(operands);
        } else if constexpr (O::has_head_format) {
            const auto is_identity = [&](index_t r, index_t t) { return angle_detail::is_identity(angles, r, t); };
            for (const O& o : operands) {
                rotate_staged<float>(is_identity, o, row, token, [&](const auto& some) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    if constexpr (O::is_normalized) {
                        rotate_normalized<Pairing>(angles, some, row, token);
                    } else {
                        with_list_of(some, rotate_all);
                    }
                });
            }
        } else {
            for (const O& o : operands) rotate_normalized<Pairing>(angles, o, row, token);
        }
    });
}

}  // namespace cordage::backend
