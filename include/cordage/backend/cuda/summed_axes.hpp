// SPDX-License-Identifier: MIT
// Exact angles of positions with several axes that rotate every pair together, on a device; serves the CUDA backend.
#pragma once

#include "cordage/angles/summed_axes.hpp"
#include "cordage/backend/cuda/device_basis.hpp"

namespace cordage {

/// summed_axes for a device: bases and position_ids point to device memory. The attention factor of a row is that of
/// its first basis; unlike on the host, equality with the others is not checked.
///
///   const device_summed_axes<float> angles(device_basis(words, pairs, 2), axis_minor(patches, 2, 1, tokens));
///   rotate_forward<half_split>(on(stream), angles + free_angles(phi, 1, tokens, pairs), in_place(q));
template <position_type P>
class device_summed_axes : public angle_detail::device_positions_and_bases<P> {
 public:
    static constexpr bool sums_axes = true;
    static constexpr index_t most_axes = summed_axes<P>::most_axes;

    /// @param bases         of device_words of [axes] or [rows, axes] bases
    /// @param position_ids  [axes, batch, tokens], at most 4 axes
    /// @throws shape_error
    device_summed_axes(const device_basis& bases, const position_view<P>& position_ids)
        : angle_detail::device_positions_and_bases<P>("device_summed_axes", bases.view(), position_ids, most_axes,
                                                      position_ids.axes) {
        angle_detail::check_bases_of_axes("device_summed_axes", bases.view(), position_ids.axes);
    }

    CORDAGE_HOST_DEVICE std::uint64_t phase(index_t row, index_t token, index_t pair) const noexcept {
        std::uint64_t sum = 0;
        for (index_t axis = 0; axis < this->axes(); ++axis) {
            sum += this->phase_of_pair(position_traits<P>::split(this->position_id(row, token, axis)),
                                       this->basis_index(row, token) + axis, pair);
        }
        return sum;
    }
    CORDAGE_HOST_DEVICE bool is_valid(index_t row, index_t token, index_t) const noexcept {
        for (index_t axis = 0; axis < this->axes(); ++axis) {
            if (!this->is_valid_at(row, token, axis)) return false;
        }
        return true;
    }
};
static_assert(angle_source<device_summed_axes<std::int32_t>> &&
              differentiable_angle_source<device_summed_axes<double>>);

}  // namespace cordage
