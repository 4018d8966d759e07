// SPDX-License-Identifier: MIT
// Exact angles of positions with several axes for the device, and what they are to a kernel; serves the CUDA backend.
#pragma once

#include "cordage/angles/axis_angles.hpp"
#include "cordage/backend/cuda/kernel_basis.hpp"

namespace cordage {

/// The axis of each pair, four bits each, to travel among a kernel's arguments: nothing to copy to the device, checked
/// on the host, and no load waits for it.
struct device_axis_table {
    static constexpr index_t most_axes = 8, most_pairs = 256;

    std::uint32_t packed[most_pairs / 8] = {};

    /// The axes of up to 8 pairs from `pair` on, the first in the lowest bits. A unit's pairs lie in one word.
    CORDAGE_HOST_DEVICE std::uint32_t axes_from(index_t pair) const noexcept {
        return packed[pair / 8] >> (4 * (pair % 8));
    }
    CORDAGE_HOST_DEVICE index_t axis(index_t pair) const noexcept { return index_t{axes_from(pair) & 15u}; }
};

/// axis_angles for the device: what position_ids points to lies there, axis_of_pair on the host, where it is read once,
/// now. With a basis for each row it is row_angles of axis_angles. A view: allocates nothing.
///
///   const auto axes = interleaved_axes({24, 20, 20});                                       // Qwen3-VL's M-RoPE
///   const device_axis_angles<std::int32_t> angles(b, axes, axis_major(position_ids, 3, 1, tokens));
///   rotate_forward<half_split>(on(stream), angles, in_place(q), in_place(k));
template <position_type P>
class device_axis_angles {
 public:
    /// @param axis_of_pair  [rotary_dim/2], at most 256 pairs, each below position_ids.axes
    /// @param position_ids  [axes, batch, tokens], at most 8 axes
    /// @throws shape_error, value_error
    device_axis_angles(const device_basis& b, std::span<const std::uint8_t> axis_of_pair,
                       const axis_position_view<P>& position_ids)
        : basis_(b), position_ids_(position_ids) {
        constexpr const char* who = "device_axis_angles";
        angle_detail::check_axes(who, b.pairs(), axis_of_pair, position_ids);
        if (b.pairs() > device_axis_table::most_pairs || position_ids.axes > device_axis_table::most_axes) {
            fail<shape_error>({who, ": [axes ", position_ids.axes, ", pairs ", b.pairs(), "] must be at most [",
                               device_axis_table::most_axes, ", ", device_axis_table::most_pairs, "] on a device"});
        }
        device_basis_detail::check_rows(who, b, position_ids.batch);
        for (std::size_t pair = 0; pair < axis_of_pair.size(); ++pair) {
            table_.packed[pair / 8] |= std::uint32_t{axis_of_pair[pair]} << (4 * (pair % 8));
        }
    }
    index_t batch() const noexcept { return std::max(basis_.bases(), position_ids_.batch); }
    index_t tokens() const noexcept { return position_ids_.tokens; }
    index_t pairs() const noexcept { return basis_.pairs(); }
    index_t bases() const noexcept { return basis_.bases(); }
    index_t axes() const noexcept { return position_ids_.axes; }
    const device_basis& basis_view() const noexcept { return basis_; }
    const device_axis_table& axis_table() const noexcept { return table_; }
    const axis_position_view<P>& position_ids() const noexcept { return position_ids_; }

 private:
    device_basis basis_;
    device_axis_table table_;
    axis_position_view<P> position_ids_;
};
static_assert(angles_of_tokens<device_axis_angles<std::int32_t>>);

namespace backend {

/// What device_axis_angles is to a kernel. Each position type has a kernel of its own, as a unit's pairs each read
/// theirs.
template <position_type P>
struct axis_phase_angles : kernel_basis {
    device_axis_table table;
    index_t axis_count;
    const P* positions;
    index_t axis_stride;
    index_t row_stride;  // 0 where all rows share their positions
    index_t token_stride;

    CORDAGE_HOST_DEVICE index_t axes() const noexcept { return axis_count; }
    CORDAGE_HOST_DEVICE index_t axis(index_t pair) const noexcept { return table.axis(pair); }
    CORDAGE_HOST_DEVICE double position(index_t row, index_t token, index_t of_axis) const noexcept {
        return static_cast<double>(positions[of_axis * axis_stride + row * row_stride + token * token_stride]);
    }

    template <int N>
    struct fetched {
        P position[N];
        kernel_basis::unit_rates<N> rates;
    };
    template <int N>
    CORDAGE_HOST_DEVICE fetched<N> fetch(index_t row, index_t token, index_t pair) const noexcept {
        static_assert(8 % N == 0);
        const std::uint32_t axes = table.axes_from(pair);
        const P* first = positions + row * row_stride + token * token_stride;
        fetched<N> of;
        for (int i = 0; i < N; ++i) of.position[i] = first[((axes >> (4 * i)) & 15u) * axis_stride];
        of.rates = this->template rates<N>(row, pair);
        return of;
    }
    template <int N>
    CORDAGE_HOST_DEVICE pair_values<N> turn(const fetched<N>& of) const noexcept {
        std::uint64_t phase[N];
        for (int i = 0; i < N; ++i) {
            phase[i] = phase_of(split_of(of.position[i]), of.rates.fraction[i], of.rates.whole + i);
        }
        return this->turn_of(phase, of.rates.factor);
    }

 private:
    CORDAGE_HOST_DEVICE static split_position split_of(P position) noexcept {
        if constexpr (std::integral<P>) {
            return split(static_cast<std::int64_t>(position));
        } else {
            return split(static_cast<double>(position));
        }
    }
};

template <class Direction, position_type P>
axis_phase_angles<P> kernel_angles(const device_axis_angles<P>& angles) noexcept {
    const axis_position_view<P>& ids = angles.position_ids();
    return {kernel_basis::of<Direction>(angles.basis_view()),
            angles.axis_table(),
            ids.axes,
            ids.data,
            ids.axis_stride,
            ids.batch == 1 ? 0 : ids.batch_stride,
            ids.token_stride};
}

}  // namespace backend

}  // namespace cordage
