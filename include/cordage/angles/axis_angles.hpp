// SPDX-License-Identifier: MIT
// Exact angles of positions with several axes, each pair turned by one of them; stage angles.
#pragma once

#include "cordage/angles/angle_source.hpp"
#include "cordage/positions/axis_positions.hpp"

namespace cordage {

namespace angle_detail {

// What position_ids points to is not read.
template <position_type P>
void check_axes(const char* who, index_t pairs, std::span<const std::uint8_t> axis_of_pair,
                const axis_position_view<P>& ids) {
    if (ids.axes < 1 || ids.batch < 1 || ids.tokens < 0 || ids.axis_stride < 0 || ids.batch_stride < 0 ||
        ids.token_stride < 0) {
        fail<shape_error>({who, ": position_ids [", ids.axes, ", ", ids.batch, ", ", ids.tokens, "] with strides [",
                           ids.axis_stride, ", ", ids.batch_stride, ", ", ids.token_stride,
                           "] must have axes >= 1, batch >= 1, tokens >= 0 and no negative stride"});
    }
    if (ids.axes > most_axes) {
        fail<shape_error>({who, ": position_ids has ", ids.axes, " axes, must have at most ", most_axes});
    }
    if (!is_addressable({ids.axes, ids.batch, ids.tokens}, {ids.axis_stride, ids.batch_stride, ids.token_stride})) {
        fail<shape_error>({who, ": position_ids [", ids.axes, ", ", ids.batch, ", ", ids.tokens, "] with strides [",
                           ids.axis_stride, ", ", ids.batch_stride, ", ", ids.token_stride,
                           "] must span at most 2^58 entries"});
    }
    if (ids.data == nullptr && ids.tokens > 0) {
        fail<shape_error>({who, ": position_ids.data nullptr must point to the positions"});
    }
    if (static_cast<index_t>(axis_of_pair.size()) != pairs) {
        fail<shape_error>(
            {who, ": axis_of_pair has ", axis_of_pair.size(), " entries, must have rotary_dim/2 = ", pairs});
    }
    for (std::size_t pair = 0; pair < axis_of_pair.size(); ++pair) {
        if (axis_of_pair[pair] >= ids.axes) {
            fail<value_error>({who, ": axis_of_pair[", pair, "] ", int{axis_of_pair[pair]},
                               " must be below position_ids.axes ", ids.axes});
        }
    }
}

}  // namespace angle_detail

/// angle(token, pair) = position_ids[axis_of_pair[pair]][token] * inv_freq[pair], as exact as exact_angles: M-RoPE,
/// axial RoPE. A view: holds no numbers, allocates nothing, and what it was made of must outlive it.
///
///   const auto axes = interleaved_axes({24, 20, 20});
///   rotate_forward<half_split>(axis_angles(b, axes, position_ids), in_place(q), in_place(k));
template <position_type P>
class axis_angles {
 public:
    /// @param b             rotary_dim/2 frequencies and the attention factor
    /// @param axis_of_pair  [rotary_dim/2], each below position_ids.axes; made by contiguous_axes or interleaved_axes
    /// @param position_ids  [axes, batch, tokens], at most 256 axes; int32, int64, float or double, any sign;
    /// |position| < 2^63
    /// @throws shape_error, value_error
    axis_angles(const basis& b, std::span<const std::uint8_t> axis_of_pair, const axis_position_view<P>& position_ids)
        : basis_(&b), axis_of_pair_(axis_of_pair), position_ids_(position_ids) {
        angle_detail::check_axes("axis_angles", b.pairs(), axis_of_pair, position_ids);
    }
    axis_angles(const basis&&, std::span<const std::uint8_t>, const axis_position_view<P>&) = delete;
    axis_angles(const basis&, std::vector<std::uint8_t>&&, const axis_position_view<P>&) = delete;

    index_t batch() const noexcept { return position_ids_.batch; }
    index_t tokens() const noexcept { return position_ids_.tokens; }
    index_t pairs() const noexcept { return basis_->pairs(); }
    double attention_factor(index_t = 0) const noexcept { return basis_->attention_factor(); }

    template <class T>
    CORDAGE_ALWAYS_INLINE cos_sin<T> at(index_t row, index_t token, index_t pair) const noexcept {
        return angle_detail::scaled<T>(cos_sin_of_phase(phase(row, token, pair)), attention_factor());
    }
    /// The angle in units of 2^-64 turn.
    std::uint64_t phase(index_t row, index_t token, index_t pair) const noexcept {
        return phase_of(basis_->turns_per_position()[static_cast<std::size_t>(pair)],
                        position_id(row, token, axis(pair)));
    }

    /// @param first_row  of the batch that these positions are rows of, for the message
    /// @throws value_error  naming the first position that is none; one look at each, at the door of a rotation or
    /// table
    void check_positions(const char* who, index_t first_row = 0) const {
        if constexpr (!std::is_integral_v<P>) {
            for (index_t axis = 0; axis < axes(); ++axis) {
                for (index_t row = 0; row < batch(); ++row) {
                    for (index_t token = 0; token < tokens(); ++token) {
                        const P p = position_id(row, token, axis);
                        if (angle_detail::is_position(p)) continue;
                        angle_detail::refuse_position(who, message(axis, ", ", first_row + row, ", ", token), double{p},
                                                      angle_detail::expected_position);
                    }
                }
            }
        }
    }

    static constexpr index_t bases() noexcept { return 1; }
    std::span<const double> inv_freq(index_t = 0) const noexcept { return basis_->inv_freq(); }
    index_t axes() const noexcept { return position_ids_.axes; }
    index_t axis(index_t pair) const noexcept { return axis_of_pair_[static_cast<std::size_t>(pair)]; }
    double position(index_t row, index_t token, index_t axis) const noexcept {
        return static_cast<double>(position_id(row, token, axis));
    }
    P position_id(index_t row, index_t token, index_t axis) const noexcept {
        return position_ids_.at(axis, position_ids_.batch == 1 ? 0 : row, token);
    }
    std::span<const std::uint8_t> axis_of_pair() const noexcept { return axis_of_pair_; }
    std::span<const std::uint64_t> fractions_of_turn() const noexcept { return basis_->fractions_of_turn(); }

 private:
    const basis* basis_;
    std::span<const std::uint8_t> axis_of_pair_;
    axis_position_view<P> position_ids_;
};

}  // namespace cordage
