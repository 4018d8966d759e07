// SPDX-License-Identifier: MIT
// The operations on the heads of a call as plain numbers: rotations and norms.
#pragma once

#include <type_traits>
#include <vector>

#include "cache_path/angles.hpp"
#include "cache_path/tensors.hpp"
#include "cordage/tensors/rms_norm.hpp"

namespace fuzz {

enum class verb { forward, inverse, adjoint };

/// The rotations of a call, from which the reference computes the expected result.
struct plain_rotation {
    index_t pairs;
    std::vector<plain_turn> turns;  ///< [tokens of all rows, pairs]

    template <class Angles>
    plain_rotation(const Angles& angles, verb what, index_t tokens, index_t pairs_of_head) : pairs(pairs_of_head) {
        for (index_t i = 0; i < tokens; ++i) {
            const double m = what == verb::inverse ? 1.0 / angles.factor(i) : angles.factor(i);
            for (index_t pair = 0; pair < pairs; ++pair) {
                const plain_turn turn = angles.turn_of(i, pair);
                turns.push_back({m * turn.cos, what == verb::forward ? m * turn.sin : -m * turn.sin});
            }
        }
    }
    /// cos and sin of a pair of token i, times the factor.
    const plain_turn& at(index_t i, index_t pair) const { return turns[static_cast<std::size_t>(i * pairs + pair)]; }
};

/// The settings of a norm with weights W; none for void.
template <class W>
struct norm_numbers {
    cordage::rms_norm<W> norm;
    std::vector<double> weights;  ///< [head_dim], or [heads, head_dim]

    void make(run_tensors& run, const heads_shape& shape, bool may_be_over_all_heads) {
        input& in = run.in;
        norm.epsilon = in.coin() ? 1e-6 : 1e-2;
        norm.adds_one = in.coin();
        norm.is_after_rotation = in.rarely(4);
        norm.is_rounded_between = in.rarely(4);
        norm.is_over_all_heads = may_be_over_all_heads && in.rarely(4);
        met(norm.is_over_all_heads ? "norms over all heads" : "norms of each head");
        if (norm.is_after_rotation) met("norms after the rotation");
        if (in.rarely(4)) return;
        const auto* made = run.numbers_of<W>(norm.rows(shape.heads) * shape.head_dim, [&](index_t) {
            return cordage::element_traits<W>::store(
                static_cast<cordage::compute_of<W>>(uniform(run.random, -1.0, 2.0)));
        });
        norm.weight = made->data;
        for (const W w : made->before) weights.push_back(static_cast<double>(cordage::element_traits<W>::load(w)));
    }
    double factor(index_t head, std::size_t lane, std::size_t head_dim) const {
        if (weights.empty()) return 1.0;
        const std::size_t first = norm.is_over_all_heads ? static_cast<std::size_t>(head) * head_dim : 0;
        return (norm.adds_one ? 1.0 : 0.0) + weights[first + lane];
    }
};
template <>
struct norm_numbers<void> {};

}  // namespace fuzz
