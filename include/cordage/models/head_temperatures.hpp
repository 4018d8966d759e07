// SPDX-License-Identifier: MIT
// A learned factor on queries by head and position, and its gradients; a component of models.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/angles/exact_angles.hpp"
#include "cordage/rotate/call.hpp"

namespace cordage {

/// The factor scale_h ln(p + 1) + bias_h on the query of head h at position p, used by Mistral Large 4 in every layer,
/// rotated or not, on all lanes of a head (transformers 5.24, MistralLarge4TextSoftmaxScaling; after the scalable
/// softmax of Nakanishi 2025). Each layer learns both vectors, and its indexer has another pair.
struct head_temperatures {
    std::vector<double> scale;  ///< [heads]
    std::vector<double> bias;   ///< [heads]

    index_t heads() const noexcept { return std::ssize(scale); }

    /// The factor on a query of one head at position >= 0.
    /// @throws value_error or shape_error  as validate, for this head; value_error for a head or position that is out
    /// of range
    double at(index_t head, double position) const {
        validate_sizes();
        if (head < 0 || head >= heads()) {
            fail<value_error>({"head_temperatures: head ", head, " must be 0 to ", heads() - 1});
        }
        validate_head(static_cast<std::size_t>(head));
        validate_number({"head_temperatures: position"}, position, position >= 0.0, {">= 0"});
        return factor(head, std::log1p(position));
    }

    /// The factor at a position whose ln(p + 1) is given. Unchecked.
    double factor(index_t head, double log_position) const noexcept {
        const auto h = static_cast<std::size_t>(head);
        return scale[h] * log_position + bias[h];
    }

    /// @throws shape_error  unless there is a bias for each scale; value_error naming a number that is not finite
    void validate() const {
        validate_sizes();
        for (std::size_t h = 0; h < scale.size(); ++h) validate_head(h);
    }

 private:
    void validate_sizes() const {
        if (scale.size() != bias.size()) {
            fail<shape_error>({"head_temperatures: bias size ", bias.size(), " must be scale size ", scale.size()});
        }
    }
    void validate_head(std::size_t h) const {
        validate_finite({"head_temperatures: scale[", h, "]"}, scale[h]);
        validate_finite({"head_temperatures: bias[", h, "]"}, bias[h]);
    }
};

/// Sums that scale_queries_backward adds to, [heads] each; empty: not computed.
struct head_temperature_gradients {
    std::span<double> scale = {};
    std::span<double> bias = {};
};

namespace attention_detail {

/// Throws value_error for a position below 0.
template <class P>
void check_not_negative(const char* function, const position_view<P>& ids) {
    for_each_token(ids.tokens, 0, ids.batch * ids.tokens, [&](index_t row, index_t token) {
        const double p = position_traits<P>::value(ids.at(row, token));
        validate_number({function, ": position_ids[", row, ", ", token, "]"}, p, p >= 0.0, {">= 0"});
    });
}

/// Checks all arguments before anything is written: positions and operands as for a rotation, and the temperatures.
/// Returns false without queries.
template <class P, class O>
bool check_query_call(const char* function, const head_temperatures& temperatures, const position_view<P>& ids,
                      const O& q) {
    temperatures.validate();
    const basis at_rest({0.0});
    const angle_detail::positions_and_bases<P> positions(function, at_rest, ids, 1);
    const auto size = rotate_detail::check_all<rotate_detail::memory::host>(function, positions, q);
    if (q.shape().heads != temperatures.heads()) {
        fail<shape_error>({function, ": temperatures have ", temperatures.heads(), " heads, must have the ",
                           q.shape().heads, " heads of ", describe(q.shape())});
    }
    if (!size.is_empty) check_not_negative(function, ids);
    return !size.is_empty;
}

/// Calls use(lanes of a token, head, ln(p + 1), the factor in O's arithmetic) for every query, on all lanes of its
/// head, whichever are rotated; a token without a slot is left out.
template <class P, class O, class Use>
void for_each_query(const head_temperatures& temperatures, const position_view<P>& ids, O q, const Use& use) {
    q.first_lane = 0;
    const heads_shape& shape = q.shape();
    for_each_token(shape.tokens, 0, shape.batch * shape.tokens, [&](index_t row, index_t token) {
        const auto lanes = q.lanes_of(row, token);
        if (lanes.y == nullptr) return;
        const double log_position = std::log1p(position_traits<P>::value(ids.at(ids.batch == 1 ? 0 : row, token)));
        for (index_t head = 0; head < shape.heads; ++head) {
            const auto factor = static_cast<typename O::compute>(temperatures.factor(head, log_position));
            use(lanes, head, log_position, factor);
        }
    });
}

/// y = factor x on `count` lanes; y may be x.
template <class XFormat, class YFormat, class X, class Y>
void multiply_lanes(typename XFormat::compute factor, const X* x, Y* y, index_t count) {
    for (index_t i = 0; i < count; ++i) y[i] = YFormat::store(factor * XFormat::load(x[i]));
}

/// Whether Format is the element_traits of T, by which elements are read and stored one at a time.
template <class T, class Format>
inline constexpr bool is_plain_view = std::same_as<Format, element_traits<std::remove_const_t<T>>>;

}  // namespace attention_detail

/// y = (scale_h ln(p + 1) + bias_h) x for the query of every head h at position p, on all lanes; before or after the
/// rotation, which commute.
///
///   scale_queries(temperatures, position_ids, in_place(q));    // or from_to(q, y)
///
/// Positions as for exact_angles. The factor is computed in double and rounded once to the type of the arithmetic
/// (float, or double for doubles); the product is rounded once. (transformers computes it in the type of q.) Serial.
/// @throws value_error or shape_error  as a rotation by these positions, and naming a position below 0, a scale or bias
///                                     that is not finite, or different numbers of heads; before anything is written
template <class Row, class X, class Y, class XFormat, class YFormat>
void scale_queries(const head_temperatures& temperatures, Row&& position_ids,
                   const operand<X, Y, XFormat, YFormat>& q) {
    static_assert(attention_detail::is_plain_view<X, XFormat> && attention_detail::is_plain_view<Y, YFormat>,
                  "cordage::scale_queries: q must be of elements with element_traits, in their own format");
    const position_view<angle_detail::position_of_row<Row>> ids(std::forward<Row>(position_ids));
    if (!attention_detail::check_query_call("scale_queries", temperatures, ids, q)) return;
    attention_detail::for_each_query(temperatures, ids, q, [&](const auto& lanes, index_t head, double, auto factor) {
        attention_detail::multiply_lanes<XFormat, YFormat>(factor, lanes.x + head * q.x.head_stride,
                                                           lanes.y + head * q.y.head_stride, q.shape().head_dim);
    });
}

/// The gradients of scale_queries: with f = scale_h ln(p + 1) + bias_h and s = sum over lanes of grad_y x,
///
///   grad_x = f grad_y,   dL/dscale_h += sum over tokens of ln(p + 1) s,   dL/dbias_h += sum over tokens of s
///
///   scale_queries_backward(temperatures, position_ids, {.scale = grad_scale, .bias = grad_bias},
///                          grad_through(grad_q, q, grad_q));
///
/// @param q  grad_y, x and grad_x, as for grad_through: x is the input of scale_queries (not its result, which is 0
///           where f is 0); grad_x may be grad_y or x
/// Sums are in double and in a fixed order. Throws as scale_queries, and shape_error for sums that are not [heads].
template <class Row, class T, class Format>
void scale_queries_backward(const head_temperatures& temperatures, Row&& position_ids,
                            const head_temperature_gradients& sums, const backward_operand<T, Format>& q) {
    static_assert(attention_detail::is_plain_view<T, Format>,
                  "cordage::scale_queries_backward: q must be of elements with element_traits, in their own format");
    using compute = typename Format::compute;
    const position_view<angle_detail::position_of_row<Row>> ids(std::forward<Row>(position_ids));
    const char* const function = "scale_queries_backward";
    const bool has_queries = attention_detail::check_query_call(function, temperatures, ids, q);
    for (const auto& [name, of] : {std::pair{"scale", sums.scale}, std::pair{"bias", sums.bias}}) {
        if (!of.empty() && std::ssize(of) != temperatures.heads()) {
            fail<shape_error>(
                {function, ": gradient of ", name, " size ", of.size(), " must be 0 or heads ", temperatures.heads()});
        }
    }
    const auto use = [&](const auto& lanes, index_t head, double log_position, auto factor) {
        const T* const grad_y = lanes.grad_y + head * q.grad_y.head_stride;
        const T* const x = lanes.y + head * q.y.head_stride;
        T* const grad_x = lanes.grad_x + head * q.grad_x.head_stride;
        double sum = 0.0;
        for (index_t lane = 0; lane < q.shape().head_dim; ++lane) {
            const compute grad = Format::load(grad_y[lane]);
            sum += double{grad} * double{Format::load(x[lane])};
            grad_x[lane] = Format::store(factor * grad);
        }
        const auto h = static_cast<std::size_t>(head);
        if (!sums.scale.empty()) sums.scale[h] += log_position * sum;
        if (!sums.bias.empty()) sums.bias[h] += sum;
    };
    if (has_queries) attention_detail::for_each_query(temperatures, ids, q, use);
}

}  // namespace cordage
