// SPDX-License-Identifier: MIT
// The rotation on a device: what rotate_forward, rotate_inverse, rebase and rotate_backward do where their first
// argument is a stream; stage rotation. Plain C++: what launches, on(stream), comes from backend/cuda/launch.cuh.
#pragma once

#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/backend/cuda/forward.hpp"
#include "cordage/rotate/forward.hpp"

namespace cordage::rotate_detail {

// A thread counts heads and lanes in 32 bits; offsets have 64.
template <class Operands>
void check_device_operands(const char* function, const Operands& operands) {
    for_each_operand(operands, [&](const auto& o) {
        constexpr index_t most = index_t{1} << 24;
        const heads_shape& shape = o.shape();
        if (shape.heads > most || shape.head_dim > most) {
            fail<shape_error>({function, ": ", describe(shape), " must have at most 2^24 heads and lanes on a device"});
        }
    });
}

// Spans of at most most_operands operands of one type, each a launch.
template <class O, class F>
void for_each_launch(std::span<const O* const> operands, const F& f) {
    for (std::size_t i = 0; i < operands.size(); i += backend::most_operands) {
        f(operands.subspan(i, std::min<std::size_t>(operands.size() - i, backend::most_operands)));
    }
}
template <class... O, class F>
void for_each_launch(const std::tuple<O...>& operands, const F& f) {
    for_each_operand(operands, [&]<class Operand>(const Operand& o) {
        const Operand* const only = &o;
        f(std::span<const Operand* const>(&only, 1));
    });
}

/// The device's path of a verb: enqueues one kernel for each four operands of one type, and returns. What the views,
/// slot tables and angles point to lies on the device.
///
/// where     on(stream); on(stream).overlapping()
/// angles    device_angles, device_axis_angles, a difference of two of them, a cos_sin_view<float>, or one of the
///           caller's that says is_on_device
/// operands  as the host's; floats, 16-bit types and formats of one's own, which compute in float
/// Throws shape_error and value_error for all that the host can see, before the launch; cuda_error for what the launch
/// returned. What lies on the device is not checked: a position that is not valid, or an index that names no basis,
/// makes the lanes of its token NaN; a slot outside of the cache is left out like -1; a slot that is listed twice, or a
/// table's factor of 0, gives what it gives. Allocates nothing, waits for nothing, and may be captured in a CUDA graph.
/// Precision: as on the host; exact angles are good to 8e-8 m, also with --use_fast_math. Moves 16 bytes at a time
/// where pointers, strides, head_dim, first_lane and rotary_dim/2 (half_split) or rotary_dim (interleaved) are
/// multiples of 16 bytes, else elements.
template <pairing Pairing, class Direction, backend::kernel_launcher Launcher, class Source, class... Operands>
void launch_rotation(on_device, const char* function, const Launcher& where, const Source& angles,
                     const Operands&... given) {
    require_source<Source>();
    require_operands<Direction, Operands...>();
    static_assert((Operands::is_plain && ...),
                  "cordage: a device rotates operands without 'normalized', in formats of elements");
    static_assert(
        is_device_source<Source>,
        "cordage: on a device angles are device_angles, device_axis_angles, a cos_sin_view<float> that points "
        "there, or a source with 'static constexpr bool is_on_device = true'");
    check_all<memory::device>(function, angles, given...);
    const auto run = [&](const auto& operands) {
        check_device_operands(function, operands);
        for_each_launch(operands, [&]<class O>(std::span<const O* const> some) {
            static_assert(std::same_as<typename O::compute, float>, "cordage: a device rotates in float");
            backend::launch_rotation<Pairing, Direction>(function, where, angles, some);
        });
    };
    with_operands(run, given...);
}

}  // namespace cordage::rotate_detail
