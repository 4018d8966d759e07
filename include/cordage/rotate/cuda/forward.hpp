// SPDX-License-Identifier: MIT
// The rotation on a device: rotate_forward, rotate_inverse, rebase and rotate_backward where their first argument is a
// stream; stage rotation. Plain C++: the launcher, on(stream), is in backend/cuda/launch.cuh.
#pragma once

#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/backend/cuda/general.hpp"
#include "cordage/backend/cuda/heads.hpp"
#include "cordage/backend/cuda/operands.hpp"
#include "cordage/rotate/forward.hpp"

namespace cordage::rotate_detail {

// Kernels count heads and lanes in 32 bits (offsets have 64), and hold heads that are converted in shared memory.
template <class Operand>
void check_on_device(const char* function, const Operand& o) {
    constexpr index_t most = index_t{1} << 24, lanes = Operand::is_plain ? most : most_lanes_of_head;
    const heads_shape& shape = o.shape();
    if (shape.heads <= most && shape.head_dim <= lanes) return;
    fail<shape_error>({function, ": ", describe(shape), " must have at most ", most, " heads and ", lanes,
                       " lanes on a device", Operand::is_plain ? "" : " with a norm or in a format of whole heads"});
}

// Calls f with the operands of a list, at most most_operands at a time.
template <class O, class F>
void for_each_group(std::span<const O* const> operands, const F& f) {
    for (std::size_t i = 0; i < operands.size(); i += backend::most_operands) {
        f(operands.subspan(i, std::min(operands.size() - i, backend::most_operands)));
    }
}
template <std::size_t First = 0, class... O, class F>
void for_each_group(const std::tuple<const O&...>& operands, const F& f) {
    constexpr std::size_t count = std::min(sizeof...(O) - First, backend::most_operands);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        with_operands(f, std::get<First + I>(operands)...);
    }(std::make_index_sequence<count>{});
    if constexpr (First + count < sizeof...(O)) for_each_group<First + count>(operands, f);
}

// At most most_operands operands: the smallest kernel that can process all of them, else one for each. (Operands of
// several types whose x are of one are not tried alone: each would add kernels.)
template <pairing Pairing, class Launcher, class Source, class List>
void launch_group(const char* function, const Launcher& where, const Source& angles,
                  const backend::direction_data& direction, const List& operands) {
    heads_shape shape;
    index_t heads = 0, count = 0;
    for_each_operand(operands, [&](const auto& o) { shape = o.shape(), heads += shape.heads, ++count; });
    if (shape.batch * shape.tokens == 0 || heads == 0) return;
    const auto launch_team = [&](const auto& some) {  // together, in one launch
        return backend::launch_rotation<Pairing>(function, where, angles, direction, some) ||
               backend::launch_heads<Pairing>(function, where, angles, direction, some);
    };
    if (launch_team(operands)) return;
    for_each_operand(operands, [&]<class O>(const O& o) {
        if (o.shape().heads == 0) return;
        if constexpr (std::is_void_v<backend::x_in_registers<List>> || std::same_as<List, std::span<const O* const>>) {
            const O* const only = &o;
            const std::span<const O* const> alone(&only, 1);
            if (count > 1 && launch_team(alone)) return;
        }
        backend::launch_general<Pairing>(function, where, angles, direction, o);
    });
}

template <pairing Pairing, class Direction, class Launcher, class Source, class List>
void launch_operands(const char* function, const Launcher& where, const Source& angles, const List& operands) {
    for_each_group(operands,
                   [&](const auto& some) { launch_group<Pairing>(function, where, angles, Direction::data, some); });
}

template <class Operand>
inline constexpr bool has_device_formats = false;
template <class X, class Y, class XFormat, class YFormat, class Norm>
inline constexpr bool has_device_formats<operand<X, Y, XFormat, YFormat, Norm>> =
    (!head_format<XFormat, X> || backend::device_head_format<XFormat, X>)&&(!head_format<YFormat, Y> ||
                                                                            backend::device_head_format<YFormat, Y>);

/// The device path of a rotation: enqueues kernels and returns. One for every four operands whose x have one element
/// type, if one kernel takes them all (docs/backends.md); otherwise one for each operand. Views, slot tables, weights,
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
/// Precision: as on the host; cos and sin of exact angles are within 8e-8 m, also with --use_fast_math.
template <pairing Pairing, class Direction, backend::kernel_launcher Launcher, class Source, class... Operands>
void rotate_on_device(on_device, Direction, const char* function, const Launcher& where, const Source& angles,
                      const Operands&... given) {
    if constexpr (require_source<Source>() && require_operands<Direction, Operands...>()) {
        static_assert((std::same_as<typename Operands::compute, float> && ...), "cordage: a device rotates in float");
        static_assert(
            (has_device_formats<Operands> && ...),
            "cordage: on a device a format of whole heads needs a specialisation of cordage::device_format with "
            "lanes_of_unit, lanes_of_scale, load, write_scale and store; cordage/backend/cuda/device_format.hpp");
        static_assert(
            is_device_source<Source>,
            "cordage: on a device angles are device_angles, device_axis_angles, device_summed_axes, free_angles or a "
            "cos_sin_view<float> that points there, or a source with 'static constexpr bool is_on_device = true'");
        check_all<memory::device>(function, angles, given...);
        const auto run = [&](const auto& operands) {
            for_each_operand(operands, [&](const auto& o) { check_on_device(function, o); });
            launch_operands<Pairing, Direction>(function, where, angles, operands);
        };
        with_operands(run, given...);
    }
}

}  // namespace cordage::rotate_detail
