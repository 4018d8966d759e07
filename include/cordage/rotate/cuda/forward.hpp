// SPDX-License-Identifier: MIT
// The door of the rotation on a device: forward, its adjoint and its inverse; stage rotation. Plain C++: what launches,
// on(stream), comes from backend/cuda/launch.cuh.
#pragma once

#include <array>

#include "cordage/backend/cuda/forward.hpp"
#include "cordage/rotate/checks.hpp"

namespace cordage {

namespace rotate_detail {

// What of the angles can be checked on the host: factors of a table's rows lie on the device.
inline cos_sin_view<float> without_row_factors(cos_sin_view<float> table) noexcept {
    if (table.row_attention_factors != nullptr) table.carried_attention_factor = 1.0;
    table.row_attention_factors = nullptr;
    return table;
}
template <class Source>
const Source& without_row_factors(const Source& angles) noexcept {
    return angles;
}

// A thread counts heads and lanes in 32 bits; offsets have 64.
inline void check_device_shape(const char* who, const heads_shape& shape) {
    constexpr index_t most = index_t{1} << 24;
    if (shape.heads > most || shape.head_dim > most) {
        fail<shape_error>({who, ": ", describe(shape), " must have at most 2^24 heads and lanes on a device"});
    }
}

template <class Source, class T, std::size_t Count>
void check_device_operands(const char* who, const Source& angles, const std::array<operand<T>, Count>& operands) {
    static_assert(Count <= std::size_t{backend::most_operands},
                  "cordage: one launch turns at most 4 operands; call again for the others");
    check_all(who, without_row_factors(angles), std::span<const operand<T>>(operands));
    for (const operand<T>& o : operands) check_device_shape(who, o.shape());
}

template <class Pairing, class Direction, class Launcher, class Source, class T, std::size_t Count>
void rotate_on_device(const char* who, const Launcher& where, const Source& angles,
                      const std::array<operand<T>, Count>& operands) {
    check_device_operands(who, angles, operands);
    backend::launch_rotation<Pairing, T>(who, where, backend::kernel_angles<Direction>(angles),
                                         std::span<const operand<T>>(operands), {operands[0].x.shape.batch});
}

}  // namespace rotate_detail

/// rotate_forward (rotate/forward.hpp) on a device: enqueues one kernel for all operands and returns. What the views
/// and angles point to lies on the device.
///
///   rotate_forward<half_split>(on(stream), angles, in_place(q), in_place(k));
///
/// @param where     on(stream)
/// @param angles    device_angles, device_axis_angles, or a cos_sin_view<float>, whose row_attention_factors lie on the
///                  device too: only rotate_inverse reads them, and nobody checks that they are 2^-60 to 2^60 in
///                  magnitude
/// @param first,more  one to four tensors of one type: float, float16 or bfloat16
/// @throws shape_error, value_error  as on the host, before the launch; cuda_error  what the launch returned
/// Allocates nothing, waits for nothing, and may be captured in a CUDA graph. Precision: as on the host; exact angles
/// are good to 8e-8 m, also with --use_fast_math. Moves 16 bytes at a time where pointers, strides, head_dim,
/// first_lane and rotary_dim/2 (half_split) or rotary_dim (interleaved) are multiples of 16 bytes, else elements.
template <pairing Pairing, backend::kernel_launcher Launcher, backend::device_angle_source Source,
          backend::device_element T, class... More>
requires(std::same_as<More, operand<T>>&&...) void rotate_forward(const Launcher& where, const Source& angles,
                                                                  const operand<T>& first, const More&... more) {
    rotate_detail::rotate_on_device<Pairing, backend::forward>(
        "rotate_forward", where, angles, std::array<operand<T>, 1 + sizeof...(More)>{first, more...});
}

/// rotate_inverse on a device; arguments and errors as above.
template <pairing Pairing, backend::kernel_launcher Launcher, backend::device_angle_source Source,
          backend::device_element T, class... More>
requires(std::same_as<More, operand<T>>&&...) void rotate_inverse(const Launcher& where, const Source& angles,
                                                                  const operand<T>& first, const More&... more) {
    rotate_detail::rotate_on_device<Pairing, backend::inverse>(
        "rotate_inverse", where, angles, std::array<operand<T>, 1 + sizeof...(More)>{first, more...});
}

/// grad_x alone: rotate_backward of operands on a device; arguments and errors as above.
template <pairing Pairing, backend::kernel_launcher Launcher, backend::device_angle_source Source,
          backend::device_element T, class... More>
requires(std::same_as<More, operand<T>>&&...) void rotate_backward(const Launcher& where, const Source& angles,
                                                                   const operand<T>& first, const More&... more) {
    rotate_detail::rotate_on_device<Pairing, backend::adjoint>(
        "rotate_backward", where, angles, std::array<operand<T>, 1 + sizeof...(More)>{first, more...});
}

}  // namespace cordage
