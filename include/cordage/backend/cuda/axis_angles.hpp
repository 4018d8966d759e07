// SPDX-License-Identifier: MIT
// Exact angles of positions with several axes on a device; serves the CUDA backend.
#pragma once

#include "cordage/angles/axis_angles.hpp"
#include "cordage/backend/cuda/device_basis.hpp"

namespace cordage {

/// axis_angles for a device: position_ids points to device memory. axis_of_pair is host memory, read by the constructor
/// and packed into the kernel arguments. A view of the positions: allocates nothing.
///
///   const auto axes = interleaved_axes({24, 20, 20});                                       // Qwen3-VL's M-RoPE
///   const device_axis_angles<std::int32_t> angles(b, axes, axis_major(position_ids, 3, 1, tokens));
///   rotate_forward<half_split>(on(stream), angles, in_place(q), in_place(k));
template <position_type P>
class device_axis_angles : public angle_detail::device_positions_and_bases<P> {
 public:
    static constexpr index_t most_axes = 8, most_pairs = 256;

    /// @param axis_of_pair  [rotary_dim/2], at most 256 pairs, each below position_ids.axes
    /// @param position_ids  [axes, batch, tokens], at most 8 axes
    /// @throws shape_error, value_error
    device_axis_angles(const device_basis& bases, std::span<const std::uint8_t> axis_of_pair,
                       const position_view<P>& position_ids)
        : angle_detail::device_positions_and_bases<P>("device_axis_angles", bases.view(), position_ids, most_axes) {
        if (bases.pairs() > most_pairs) {
            fail<shape_error>({"device_axis_angles: rotary_dim/2 ", bases.pairs(), " must be at most ", most_pairs});
        }
        angle_detail::check_axes("device_axis_angles", bases.pairs(), axis_of_pair, position_ids.axes);
        for (std::size_t pair = 0; pair < axis_of_pair.size(); ++pair) {
            packed_axes_[pair / 8] |= std::uint32_t{axis_of_pair[pair]} << (4 * (pair % 8));
        }
    }

    CORDAGE_HOST_DEVICE index_t axis(index_t pair) const noexcept {
        return index_t{(packed_axes_[pair / 8] >> (4 * (pair % 8))) & 15u};
    }
    CORDAGE_HOST_DEVICE std::uint64_t phase(index_t row, index_t token, index_t pair) const noexcept {
        return this->phase_at_axis(row, token, pair, axis(pair));
    }
    CORDAGE_HOST_DEVICE bool is_valid(index_t row, index_t token, index_t pair) const noexcept {
        return this->is_valid_at(row, token, axis(pair));
    }

 private:
    std::uint32_t packed_axes_[most_pairs / 8] = {};  // four bits for each pair
};
static_assert(angle_source<device_axis_angles<std::int32_t>>);

}  // namespace cordage
