// SPDX-License-Identifier: MIT
// The last step from a config to rotated q and k: one call that applies all of a layer's rule.
#pragma once

#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/angles/axis_angles.hpp"
#include "cordage/angles/exact_angles.hpp"
#include "cordage/attention/score_factors.hpp"
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/core/executor.hpp"
#include "cordage/models/config/model_ropes.hpp"
#include "cordage/models/head_temperatures.hpp"
#include "cordage/rotate/forward.hpp"

namespace cordage::hf {

/// The rotation of q and k in one layer, for sequences of one length, with all that the layer's rule says: pair layout,
/// lanes, direction, axes, attention factor, and the factors on queries. Immutable; an engine keeps it until the t of
/// rule.schedule changes, or with CLEX's log_scale for one seq_len.
///
///   const hf::model_ropes model = hf::read_config(text);
///   hf::layer_rotation(model.at(layer), seq_len).rotate(position_ids, in_place(q), in_place(k));
class layer_rotation {
 public:
    /// @param seq_len  tokens of the sequence, for the schedule and CLEX's log_scale; >= 1
    /// @param by_head  of this layer's weights, where rule.has_head_temperatures (load_head_temperatures)
    /// @throws value_error  if the rule does not say the pair layout, or lacks what is in the weights
    layer_rotation(const layer_rope& rule, double seq_len, std::optional<head_temperatures> by_head = std::nullopt)
        : axis_of_pair_(rule.axis_of_pair),
          head_dim_(rule.first_lane + rule.config.head_dim),
          first_lane_(rule.first_lane),
          is_interleaved_(rule.layout == pair_layout::interleaved),
          temperature_(rule.temperature),
          by_head_(std::move(by_head)) {
        validate_number({"layer_rotation: seq_len"}, seq_len, seq_len >= 1.0, {">= 1"});
        if (rule.has_head_temperatures != by_head_.has_value()) {
            fail<value_error>({"layer_rotation: by_head must ", rule.has_head_temperatures ? "" : "not ",
                               "be given: the rule has ",
                               rule.has_head_temperatures
                                   ? "temperatures of heads, which load_head_temperatures reads from the weights"
                                   : "no temperatures of heads"});
        }
        if (temperature_) temperature_->validate();
        if (by_head_) by_head_->validate();
        if (!rule.rotates()) return;
        if (rule.needs_weights) {
            fail<value_error>({"layer_rotation: rule of type ", in_quotes(rule.rope_type),
                               " needs numbers of the weights: load them by hf::with_weights"});
        }
        if (rule.layout == pair_layout::unknown) {
            fail<value_error>(
                {"layer_rotation: rule.layout is unknown, since the config does not tell it; it must be set "
                 "to half_split or interleaved, as the model's code pairs lanes: auto rule = model.at(layer); "
                 "rule.layout = hf::pair_layout::half_split"});
        }
        basis b = rope_scaling(rule.config, rule.policy, rule.schedule).at_length(seq_len);
        if (rule.is_inverse) {  // by the negative angle; the attention factor multiplies, as in every direction
            std::vector<double> negative(b.inv_freq().begin(), b.inv_freq().end());
            for (double& frequency : negative) frequency = -frequency;
            b = basis(std::move(negative), b.attention_factor());
        }
        if (rule.clex && rule.clex->log_scale) {
            query_factor_ = unclamped_log_scaling(seq_len, rule.config.original_length);
        }
        basis_ = std::move(b);
    }

    /// The frequencies of this length, to tag cached keys by (basis::fingerprint); nullptr if the layer does not
    /// rotate.
    const cordage::basis* basis_of_keys() const noexcept { return basis_ ? &*basis_ : nullptr; }

    /// Rotates q, k and others, and multiplies the queries by their factors, which are rounded to q's type after the
    /// rotation. A layer that does not rotate copies them.
    ///
    ///   rotation.rotate(position_ids, in_place(q), from_to(k, in_slots(cache, slots, 1, tokens)));
    ///   rotation.rotate(pool, position_ids, in_place(q), in_place(k), from_to(v, v_cache).unrotated());
    ///   rotation.rotate(position_ids, in_place(q));     // a layer that shares the keys of another
    ///
    /// @param position_ids  as for exact_angles; for a rule with axes also [axes, batch, tokens] (axis_major). Text has
    ///                      the same position on all axes, so that positions of one axis serve it
    /// @param q             queries: an operand of elements, as rotate_forward takes it, without a first lane
    /// @param others        k and further operands of the same pass, such as v, unrotated; heads with the rotated lanes
    ///                      alone (DeepSeek's) are recognised by their size
    /// @throws value_error, shape_error  as rotate_forward; for rotated heads of another size than the config's; for
    ///                                   data without heads; where queries have a temperature, for positions below 0 or
    ///                                   of several axes; before anything is written
    template <class Row, class Q, class... Others>
        requires(!executor<Row>)
    void rotate(Row&& position_ids, const Q& q, const Others&... others) const {
        rotate(serial{}, std::forward<Row>(position_ids), q, others...);
    }
    template <executor Executor, class Row, class Q, class... Others>
    void rotate(const Executor& where, Row&& position_ids, const Q& q, const Others&... others) const {
        static_assert(operand_type<Q> && (operand_type<Others> && ...),
                      "cordage: after the positions write operands: rotate(ids, in_place(q_view), in_place(k_view))");
        const position_view<angle_detail::position_of_row<Row>> ids(std::forward<Row>(position_ids));
        check_heads(q), (check_heads(others), ...);
        check_queries(ids, q);
        if (!basis_) {
            const basis at_rest({0.0});
            position_view of_one_axis = ids;
            of_one_axis.axes = 1;
            rotate_forward<half_split>(where, exact_angles(at_rest, of_one_axis), q.unrotated(), others.unrotated()...);
        } else if (is_interleaved_) {
            rotate_pairs<interleaved>(where, ids, on_lanes(q), on_lanes(others)...);
        } else {
            rotate_pairs<half_split>(where, ids, on_lanes(q), on_lanes(others)...);
        }
        if (temperature_ || by_head_ || query_factor_ != 1.0) multiply(where, ids, q.y);
    }

 private:
    template <pairing Pairing, class Executor, class P, class... Operands>
    void rotate_pairs(const Executor& where, const position_view<P>& ids, const Operands&... operands) const {
        if (axis_of_pair_.empty() || ids.axes == 1) {
            rotate_forward<Pairing>(where, exact_angles(*basis_, ids), operands...);
        } else {
            rotate_forward<Pairing>(where, axis_angles(*basis_, axis_of_pair_, ids), operands...);
        }
    }

    // The operand with the rule's first lane. Heads of another size than the config's would have other pairs.
    template <class O>
    O on_lanes(O of) const {
        if (of.first_lane != 0) {
            fail<value_error>({"layer_rotation: first_lane ", of.first_lane, " must be 0: the rule knows it"});
        }
        const index_t size = of.shape().head_dim, rotated = basis_->rotary_dim();
        if (!of.is_rotated() || size == rotated) return of;
        if (size != head_dim_) {
            fail<shape_error>({"layer_rotation: head_dim ", size, " of ", describe(of.shape()),
                               " must be the config's ", head_dim_,
                               rotated == head_dim_ ? "" : message(", or its ", rotated, " rotated lanes alone")});
        }
        of.first_lane = first_lane_;
        return of;
    }

    template <class O>
    static void check_heads(const O& of) {
        const heads_shape& shape = of.shape();
        if (shape.heads > 0 || of.x.data == nullptr) return;
        fail<shape_error>(
            {"layer_rotation: heads ", shape.heads, " of ", describe(shape), " must be >= 1, or the data nullptr"});
    }

    template <class P, class Q>
    void check_queries(const position_view<P>& ids, const Q& q) const {
        if (by_head_ && by_head_->heads() != q.shape().heads) {
            fail<shape_error>({"layer_rotation: by_head has ", by_head_->heads(), " heads, must have the ",
                               q.shape().heads, " heads of q ", describe(q.shape())});
        }
        if (!temperature_ && !by_head_) return;
        const basis at_rest({0.0});
        const angle_detail::positions_and_bases<P> of_one_axis("layer_rotation", at_rest, ids, 1);  // checks positions
        attention_detail::check_not_negative("layer_rotation", ids);
    }

    // y times the factors on queries, on all lanes; a token without a slot is left alone.
    template <class Executor, class P, class T, class Format>
    void multiply(const Executor& where, const position_view<P>& ids, const heads_view<T, Format>& y) const {
        static_assert(attention_detail::is_plain_view<T, Format>,
                      "cordage::hf::layer_rotation: q must be of elements with element_traits, in their own format");
        using compute = typename Format::compute;
        const heads_shape& shape = y.shape;
        const index_t bytes = shape.heads * shape.head_dim * static_cast<index_t>(sizeof(T));
        for_each_range(where, shape.batch * shape.tokens, bytes, [&](index_t begin, index_t end) noexcept {
            for_each_token(shape.tokens, begin, end, [&](index_t row, index_t token) {
                T* const first = shape.heads == 0 ? nullptr : y.token(row, token);
                if (first == nullptr) return;
                const double position = position_traits<P>::value(ids.at(ids.batch == 1 ? 0 : row, token));
                const double of_token = query_factor_ * (temperature_ ? temperature_->factor(position) : 1.0);
                const double log_position = by_head_ ? std::log1p(position) : 0.0;
                for (index_t head = 0; head < shape.heads; ++head) {
                    const auto factor =
                        static_cast<compute>(by_head_ ? of_token * by_head_->factor(head, log_position) : of_token);
                    T* const lanes = first + head * y.head_stride;
                    attention_detail::multiply_lanes<Format, Format>(factor, lanes, lanes, shape.head_dim);
                }
            });
        });
    }

    std::optional<cordage::basis> basis_;  // none: the layer does not rotate
    std::vector<std::uint8_t> axis_of_pair_;
    index_t head_dim_, first_lane_;
    bool is_interleaved_;
    double query_factor_ = 1.0;
    std::optional<query_temperature> temperature_;
    std::optional<head_temperatures> by_head_;
};

}  // namespace cordage::hf
