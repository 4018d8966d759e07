// SPDX-License-Identifier: MIT
// The launch of the CUDA rotation of heads that stay in registers: norms, slots, two types, formats with scales, lanes
// that are not rotated, and several such operands in one launch; serves stage rotation.
#pragma once

#include <bit>
#include <tuple>

#include "cordage/backend/cuda/device_format.hpp"
#include "cordage/backend/cuda/operands.hpp"
#include "cordage/backend/cuda/rotation.hpp"

namespace cordage::backend {

/// What is read of an operand.
template <class X>
struct read_heads {
    slotted_grid<const X> x;
    std::int32_t first_lane = 0;
    std::int32_t pairs = 0;   ///< held as pairs: lanes [first_lane, first_lane + 2 pairs)
    std::int32_t others = 0;  ///< all other lanes
    std::int32_t heads = 0;
    bool is_rotated = false;
};

/// What is written of an operand.
template <class Operand>
struct written_heads;
template <class X, class Y, class YFormat, class Norm>
struct written_heads<operand<X, Y, element_traits<X>, YFormat, Norm>> {
    static constexpr bool is_normalized = !std::same_as<Norm, no_norm>;
    static constexpr bool has_scales = !std::same_as<YFormat, element_traits<Y>>;
    static constexpr bool may_copy = !is_normalized && std::same_as<X, Y> && !has_scales;
    using element = Y;
    using format_type = YFormat;

    slotted_grid<Y> y;
    YFormat format;
    Norm norm;
    float one_lane = 0.0f, epsilon = 0.0f;  // 1 / lanes of a head; of the norm
    std::int32_t head_dim = 0, lanes_of_scale = 0;
    bool is_in_place = false;

    written_heads() = default;
    template <class Operand>
    explicit written_heads(const Operand& o) noexcept
        : y(o.y),
          format(o.y.format),
          norm(o.norm),
          one_lane(1.0f / static_cast<float>(o.shape().head_dim)),
          head_dim(small(o.shape().head_dim)),
          is_in_place(o.is_in_place()) {
        if constexpr (is_normalized) epsilon = static_cast<float>(o.norm.epsilon);
        if constexpr (has_scales)
            lanes_of_scale = small(device_format<YFormat>::lanes_of_scale(format, o.shape().head_dim));
    }
};

/// The written tensors of a launch; visit(f) calls f(written, index) for each.
template <class List>
struct written_list;
template <class O>
struct written_list<std::span<const O* const>> {
    static constexpr bool has_scales = written_heads<O>::has_scales;
    written_heads<O> all[most_operands];

    void set(std::size_t index, const O& o) noexcept { all[index] = written_heads<O>(o); }
    template <class F>
    CORDAGE_HOST_DEVICE void visit(const F& f) const noexcept {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
        for (std::size_t i = 0; i < most_operands; ++i) f(all[i], static_cast<std::int32_t>(i));
    }
};
template <class O, class... More>
struct written_list<std::tuple<const O&, const More&...>> {
    using rest = written_list<std::tuple<const More&...>>;
    static constexpr bool has_scales = written_heads<O>::has_scales || rest::has_scales;
    written_heads<O> first;
    rest more;

    template <class Any>
    void set(std::size_t index, const Any& o) noexcept {
        if constexpr (std::same_as<Any, O>) {
            if (index == 0) first = written_heads<O>(o);
        }
        if (index > 0) more.set(index - 1, o);
    }
    template <class F>
    CORDAGE_HOST_DEVICE void visit(const F& f, std::int32_t index = 0) const noexcept {
        f(first, index);
        more.visit(f, index + 1);
    }
};
template <>
struct written_list<std::tuple<>> {
    static constexpr bool has_scales = false;
    template <class Any>
    void set(std::size_t, const Any&) noexcept {}
    template <class F>
    CORDAGE_HOST_DEVICE void visit(const F&, std::int32_t) const noexcept {}
};

/// A team, a power of two of threads, holds a head in registers:
///
///   x -> N pairs, or 2 N lanes that are not rotated; y, z and blocks as in rotation_kernel
///
///   x -> [norm] -> rotation -> [norm] -> [scales] -> y      sums and largest values by shuffles in the team
///
/// All threads of a warp take every step together. x of a head is read before its y is written, by the same threads. No
/// shared memory.
template <class X, class Written, pairing Pairing, class Angles>
struct heads_kernel {
    static constexpr bool adds_angles =
        requires { requires std::same_as<typename Angles::rule, angle_detail::sum_rule>; };
    static constexpr int block_threads = 128, blocks_per_processor = adds_angles ? 4 : 5;
    static constexpr int wanted_threads = 320, heads_of_thread = 8;
    static constexpr bool has_whole_warps = true;

    Angles angles;
    direction_data direction;
    std::int32_t rows, tokens;  // tokens of a row
    std::int32_t pairs;
    head_count heads;  // those of each operand from a multiple of threads.y on
    read_heads<X> read[most_operands];
    Written written;
};

namespace cuda_detail {

template <class Operand>
struct x_of {
    using type = void;
};
template <piece_element X, class Y, class YFormat, class Norm>
    requires is_run_norm<Norm> && (group_format<YFormat> || std::same_as<YFormat, q8_0> ||
                                   (piece_element<Y> && std::same_as<YFormat, element_traits<Y>>))
struct x_of<operand<X, Y, element_traits<X>, YFormat, Norm>> {
    using type = X;
};
template <class List>
struct x_of_list;
template <class O>
struct x_of_list<std::span<const O* const>> : x_of<O> {};
template <class O, class... More>
struct x_of_list<std::tuple<const O&, const More&...>> {
    using first = typename x_of<O>::type;
    using type = std::conditional_t<(std::same_as<first, typename x_of<More>::type> && ...), first, void>;
};

}  // namespace cuda_detail

/// The one element type of x of a list whose operands' types are for registers, else void.
template <class List>
using x_in_registers = typename cuda_detail::x_of_list<List>::type;

/// The runs of lanes of a thread in heads_kernel.
template <class X, pairing Pairing>
struct runs_in_registers {
    static constexpr int pairs = sizeof(X) == 2 ? 8 : 4;
    static constexpr bool is_half_split = std::same_as<Pairing, half_split>;
    static constexpr index_t lanes = is_half_split ? pairs : 2 * pairs;
    static constexpr index_t of_piece = 16 / static_cast<index_t>(sizeof(X));  ///< lanes of 16 bytes
};

/// Whether the scales of y belong to whole runs of lanes, which a thread or neighbouring threads hold.
template <class Runs, class Y, class Format, class Read>
bool has_whole_scales(const heads_view<Y, Format>& y, const Read& read) noexcept {
    const auto is_whole = [&](index_t lanes_of_scale, bool makes_scales) {
        if (lanes_of_scale == 0 || lanes_of_scale == y.shape.head_dim) return true;
        if (lanes_of_scale % Runs::lanes != 0 || read.first_lane % Runs::lanes != 0) return false;
        const index_t threads = lanes_of_scale / Runs::lanes;
        return !makes_scales || (read.others == 0 && std::has_single_bit(static_cast<std::uint64_t>(threads)) &&
                                 (!Runs::is_half_split || read.pairs % lanes_of_scale == 0));
    };
    if constexpr (requires { y.format.makes_scales; }) {
        return is_whole(y.format.lanes_of_scale, y.format.makes_scales);
    } else if constexpr (std::same_as<Format, q8_0>) {
        return is_whole(32, true);
    }
    return true;
}

/// Whether an operand's heads can be those of heads_kernel; fills in `read`.
template <pairing Pairing, class X, class Operand>
bool is_in_registers(const Operand& o, index_t pairs, read_heads<X>& read) noexcept {
    using runs = runs_in_registers<X, Pairing>;
    const index_t head_dim = o.shape().head_dim, held = o.is_rotated() ? pairs : head_dim / 2,
                  first = o.is_rotated() ? o.first_lane : 0;
    read = {slotted_grid<const X>(o.x), small(first),           small(held),
            small(head_dim - 2 * held), small(o.shape().heads), o.is_rotated()};
    if (!is_small(o.x) || !is_small(o.y) || held % runs::pairs != 0 ||
        (read.others != 0 && (read.others % (2 * runs::pairs) != 0 || first % runs::lanes != 0)) ||
        head_dim > 64 * runs::pairs || !has_heads_of_pieces(o.x, runs::of_piece, 16)) {
        return false;
    }
    using format = std::remove_cvref_t<decltype(o.y.format)>;
    constexpr index_t size = static_cast<index_t>(sizeof(*o.y.data)),
                      each = std::min<index_t>(2, lanes_of_element<format>);
    constexpr index_t bytes = std::min<index_t>(16, runs::lanes / each * size);
    const bool has_runs = std::same_as<format, q8_0> ||
                          (has_heads_of_pieces(o.y, bytes / size, bytes) && first / each * size % bytes == 0);
    if constexpr (Operand::is_normalized) {
        if (o.norm.is_over_all_heads || !is_aligned(o.norm.weight, 16) ||
            first * static_cast<index_t>(sizeof(*o.norm.weight)) % 16 != 0) {
            return false;
        }
    }
    return has_runs && has_whole_scales<runs>(o.y, read);
}

/// Launches at most most_operands operands, of one type or of several. Returns false, and launches nothing, if the
/// heads of one of them cannot stay in registers.
template <pairing Pairing, class Source, class List, kernel_launcher Launcher>
bool launch_heads(const char* function, const Launcher& where, const Source& angles, const direction_data& direction,
                  const List& operands) {
    using X = x_in_registers<List>;
    if constexpr (std::is_void_v<X>) {
        return false;
    } else {
        using runs = runs_in_registers<X, Pairing>;
        using kernel_type = heads_kernel<X, written_list<List>, Pairing, Source>;
        static_assert(device_kernel<kernel_type>);
        const index_t pairs = angles.pairs();
        if (pairs % runs::pairs != 0 || !has_aligned_words(angles)) return false;
        kernel_type kernel{angles, direction, 0, 0, small(pairs), {}, {}, {}};
        std::size_t i = 0;
        index_t units = 1, heads[most_operands];
        bool fits = true;
        for_each_operand(operands, [&](const auto& o) {
            kernel.rows = small(o.shape().batch), kernel.tokens = small(o.shape().tokens);
            fits = fits && is_in_registers<Pairing>(o, pairs, kernel.read[i]);
            kernel.written.set(i, o);
            heads[i++] = o.shape().heads;
            units = std::max(units, rounded_up_quotient(o.shape().head_dim, 2 * runs::pairs));
        });
        if (!fits) return false;
        const auto members = static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(units)));
        const launch_size size = heads_launch<kernel_type>(kernel.rows, kernel.tokens, {heads, i}, members,
                                                           where.processors(function), kernel.heads);
        where.launch(function, kernel, size);
        return true;
    }
}

}  // namespace cordage::backend
