// SPDX-License-Identifier: MIT
// The rotation on a device: rotate_forward, rotate_inverse, rebase and rotate_backward where their first argument is a
// stream; stage rotation. Plain C++: the launcher, on(stream), is in backend/cuda/launch.cuh.
#pragma once

#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/backend/cuda/forward.hpp"
#include "cordage/backend/cuda/heads.hpp"
#include "cordage/rotate/forward.hpp"

namespace cordage::rotate_detail {

// Whether no operand of a list has a norm or a format of whole heads.
template <class List>
inline constexpr bool all_plain = false;
template <class O>
inline constexpr bool all_plain<std::span<const O* const>> = O::is_plain;
template <class... O>
inline constexpr bool all_plain<std::tuple<const O&...>> = (O::is_plain && ...);

// Kernels count heads and lanes in 32 bits; offsets have 64.
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

// Checks that heads to be converted fit into shared memory.
template <class Operand>
void check_lanes_on_device(const char* function, const Operand& o) {
    if (o.shape().head_dim <= most_lanes_of_head) return;
    fail<shape_error>({function, ": ", describe(o.shape()), " must have at most ", most_lanes_of_head,
                       " lanes on a device in a call with norms or formats of whole heads"});
}

// Groups of at most most_operands operands of one type, one launch each.
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

// Operands that are only rotated have their own kernel; a list with any other operand uses the kernel for whole heads.
template <pairing Pairing, class Direction, class Launcher, class Source, class List>
void launch_operands(const char* function, const Launcher& where, const Source& angles, const List& operands) {
    static_assert(std::same_as<compute_type<List>, float>, "cordage: a device rotates in float");
    if constexpr (all_plain<List>) {
        for_each_launch(operands, [&](const auto& some) {
            backend::launch_rotation<Pairing, Direction>(function, where, angles, some);
        });
    } else {
        for_each_operand(operands, [&](const auto& o) { check_lanes_on_device(function, o); });
        backend::launch_heads<Pairing, Direction>(function, where, angles, operands);
    }
}

template <class Operand>
inline constexpr bool has_device_formats = false;
template <class X, class Y, class XFormat, class YFormat, class Norm>
inline constexpr bool has_device_formats<operand<X, Y, XFormat, YFormat, Norm>> =
    (!head_format<XFormat, X> || backend::device_head_format<XFormat, X>)&&(!head_format<YFormat, Y> ||
                                                                            backend::device_head_format<YFormat, Y>);

/// The device path of a rotation: enqueues one kernel for every four operands of one type, or, if one operand is
/// normalized or in a format of whole heads, for every four of any type, and returns. Views, slot tables, weights,
/// scales and angles point to device memory.
///
/// where     on(stream); on(stream).overlapping()
/// angles    device_angles, device_axis_angles, device_summed_axes, free_angles, a sum or difference of two of them, a
///           cos_sin_view<float>, or a source of your own with is_on_device = true
/// operands  as for the host; float, 16-bit types and formats of your own that compute in float; formats of whole
///           heads that have a device_format; norms of heads of at most 2048 lanes
/// Throws shape_error and value_error for invalid arguments in host memory, before the launch; cuda_error if the launch
/// fails. Values in device memory are not checked. An invalid position, basis index or angle makes the lanes that it
/// rotates NaN. A slot outside the cache is skipped like -1. A slot that is listed twice, or a factor of 0 in a table,
/// gives an unspecified result. Elements read by a given scale that is NaN, infinite or 0 are NaN; a computed scale is
/// NaN if an angle of its token is invalid. (int8 has no NaN: with given scales, a token with an invalid position is
/// stored as a wrong number.) Allocates nothing, does not synchronise, and may be captured in a CUDA graph.
/// Precision: as on the host; cos and sin of exact angles are within 8e-8 m, also with --use_fast_math. Moves 16 bytes
/// at a time where pointers, strides, head_dim, first_lane and rotary_dim/2 (half_split) or rotary_dim (interleaved)
/// are multiples of 16 bytes, else elements.
template <pairing Pairing, class Direction, backend::kernel_launcher Launcher, class Source, class... Operands>
void launch_rotation(on_device, const char* function, const Launcher& where, const Source& angles,
                     const Operands&... given) {
    require_source<Source>();
    require_operands<Direction, Operands...>();
    static_assert((has_device_formats<Operands> && ...),
                  "cordage: on a device a format of whole heads needs a specialisation of cordage::device_format with "
                  "lanes_of_unit, lanes_of_scale, load, write_scale and store; cordage/backend/cuda/head_units.hpp");
    static_assert(
        is_device_source<Source>,
        "cordage: on a device angles are device_angles, device_axis_angles, device_summed_axes, free_angles or a "
        "cos_sin_view<float> that points there, or a source with 'static constexpr bool is_on_device = true'");
    check_all<memory::device>(function, angles, given...);
    const auto run = [&](const auto& operands) {
        check_device_operands(function, operands);
        launch_operands<Pairing, Direction>(function, where, angles, operands);
    };
    with_operands(run, given...);
}

}  // namespace cordage::rotate_detail
