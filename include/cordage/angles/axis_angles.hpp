// SPDX-License-Identifier: MIT
// Exact angles of positions with several axes, each pair rotated by one of them; stage angles.
#pragma once

#include <vector>

#include "cordage/angles/positions_and_bases.hpp"

namespace cordage {

namespace angle_detail {

inline void check_axes(const char* function, index_t pairs, std::span<const std::uint8_t> axis_of_pair, index_t axes) {
    if (static_cast<index_t>(axis_of_pair.size()) != pairs) {
        fail<shape_error>(
            {function, ": axis_of_pair has ", axis_of_pair.size(), " entries, must have rotary_dim/2 = ", pairs});
    }
    for (std::size_t pair = 0; pair < axis_of_pair.size(); ++pair) {
        if (axis_of_pair[pair] >= axes) {
            fail<value_error>({function, ": axis_of_pair[", pair, "] ", int{axis_of_pair[pair]},
                               " must be below position_ids.axes ", axes});
        }
    }
}

/// The axis of each pair, in memory of the caller; for a device four bits each, which a kernel is given.
template <bool IsOnDevice>
class axes_of_pairs {
 public:
    static constexpr index_t most = most_axes;
    axes_of_pairs(const char*, std::span<const std::uint8_t> axes) noexcept : axes_(axes.data()) {}
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t operator[](index_t pair) const noexcept { return axes_[pair]; }
    const std::uint8_t* data() const noexcept { return axes_; }

 private:
    const std::uint8_t* axes_;  // [pairs]
};
template <>
class axes_of_pairs<true> {
 public:
    static constexpr index_t most = 8, most_pairs = 256;
    axes_of_pairs(const char* function, std::span<const std::uint8_t> axes) {
        if (std::ssize(axes) > most_pairs) {
            fail<shape_error>({function, ": rotary_dim/2 ", axes.size(), " must be at most ", most_pairs});
        }
        for (std::size_t pair = 0; pair < axes.size(); ++pair) {
            packed_[pair / 8] |= std::uint32_t{axes[pair]} << (4 * (pair % 8));
        }
    }
    CORDAGE_HOST_DEVICE index_t operator[](index_t pair) const noexcept {
        return index_t{(packed_[pair / 8] >> (4 * (pair % 8))) & 15u};
    }

 private:
    std::uint32_t packed_[most_pairs / 8] = {};
};

}  // namespace angle_detail

/// angle(token, pair) = position_ids[axis_of_pair[pair]][token] * inv_freq[pair], as exact as exact_angles: M-RoPE,
/// axial RoPE. A view: allocates nothing; its arguments must outlive it.
///
///   const auto axes = interleaved_axes({24, 20, 20});
///   rotate_forward<half_split>(axis_angles(b, axes, position_ids), in_place(q), in_place(k));
template <position_type P, class Bases = basis_view>
class axis_angles : public angle_detail::positions_and_bases<P, Bases> {
    using shared = angle_detail::positions_and_bases<P, Bases>;
    static constexpr bool is_device = angle_detail::lie_on_device<Bases>;
    static constexpr const char* name = is_device ? "device_axis_angles" : "axis_angles";
    using axes_type = angle_detail::axes_of_pairs<is_device>;

 public:
    using shared::axes;

    /// @param bases         as for exact_angles
    /// @param axis_of_pair  [rotary_dim/2], each below position_ids.axes; made by contiguous_axes or interleaved_axes.
    ///                      In memory of the host; for a device a copy is kept, of at most 256 pairs
    /// @param position_ids  [axes, batch, tokens], at most 256 axes, on a device 8; any position type, any sign;
    ///                      |position| < 2^63
    /// @throws shape_error or value_error  for sizes that do not fit each other, or an axis that is out of range
    template <class Axes>
        requires std::convertible_to<Axes, std::span<const std::uint8_t>>
    axis_angles(const std::type_identity_t<Bases>& bases, Axes&& axis_of_pair, const position_view<P>& position_ids)
        : shared(name, bases, position_ids, axes_type::most), axes_(name, axis_of_pair) {
        static_assert(
            is_device || outlives_its_call<Axes>,
            "cordage::axis_angles: axis_of_pair must outlive the angles: pass a named vector, not a temporary");
        angle_detail::check_axes(name, this->pairs(), axis_of_pair, position_ids.axes);
    }

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t axis(index_t pair) const noexcept { return axes_[pair]; }
    CORDAGE_HOST_DEVICE bool is_valid(index_t row, index_t token, index_t pair) const noexcept {
        return this->is_valid_at(row, token, axis(pair));
    }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint64_t phase(index_t row, index_t token,
                                                                  index_t pair) const noexcept {
        return this->phase_of_pair(position_traits<P>::split(this->position_id(row, token, axis(pair))),
                                   this->basis_index(row, token), pair);
    }

    /// The phases of one token, whose position along each axis is split once.
    struct token_phases {
        std::uint64_t steps[256], rest[256];  // most_axes entries
        bool is_negative[256];
        bool is_whole;  // whether the positions on all axes are integers
        const std::uint64_t* fractions;
        const std::uint64_t* whole_turns;
        const std::uint8_t* axis_of_pair;

        CORDAGE_ALWAYS_INLINE std::uint64_t phase(index_t pair) const noexcept {
            const std::uint8_t a = axis_of_pair[pair];
            if (is_whole) return steps[a] * fractions[pair];
            return phase_of({steps[a], rest[a], is_negative[a]}, fractions[pair], whole_turns + pair);
        }
    };
    CORDAGE_ALWAYS_INLINE token_phases of_token(index_t row, index_t token) const noexcept {
        token_phases of;
        of.is_whole = true;
        for (index_t a = 0; a < this->axes(); ++a) {
            const split_position p = position_traits<P>::split(this->position_id(row, token, a));
            of.steps[a] = p.steps, of.rest[a] = p.rest;
            of.is_negative[a] = p.is_negative;
            of.is_whole = of.is_whole && p.is_whole();
        }
        const index_t first = this->basis_index(row, token) * this->pairs();
        of.fractions = this->bases_.fractions + first;
        of.whole_turns = this->bases_.whole_turns + first;
        of.axis_of_pair = axes_.data();
        return of;
    }

 private:
    axes_type axes_;
};
template <class Bases, class Axes, position_type P>
axis_angles(Bases&&, Axes&&, const position_view<P>&) -> axis_angles<P, angle_detail::bases_of_source<Bases>>;

static_assert(angle_source<axis_angles<std::int32_t>> && differentiable_angle_source<axis_angles<double>>);

}  // namespace cordage
