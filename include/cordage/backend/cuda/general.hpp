// SPDX-License-Identifier: MIT
// The launch of the CUDA rotation of any operand, element by element; serves stage rotation.
#pragma once

#include <algorithm>

#include "cordage/angles/angle_source.hpp"
#include "cordage/backend/cuda/device_format.hpp"
#include "cordage/backend/cuda/launch.hpp"
#include "cordage/backend/cuda/rotation.hpp"

namespace cordage::backend {

/// One operand whose heads do not stay in registers: any strides, any format, any number of lanes. A warp processes a
/// head, a block some heads of a token:
///
///   x -> every 32nd pair, lane or unit     y, blocks.y -> every (threads.y * blocks.y)-th head
///   blocks.x -> every blocks.x-th token, counted over the rows
///
/// Heads that are only rotated go pair by pair. Others are staged as floats in shared memory:
///
///   m cos [pairs] | m sin [pairs] | for each warp: a sum, -, -, - | lanes [head_dim] | numbers of scales
///
/// With one mean for all heads of a token, its heads are read twice.
template <class Operand, class Source>
struct general_kernel {
    static constexpr int block_threads = 256, blocks_per_processor = 2;
    static constexpr int team_size = 32;

    Source angles;
    direction_data direction;
    Operand of;
    pairing_value pairing;
    index_t rows, tokens;  // tokens of a row
    std::int32_t pairs;    // 0 for an unrotated operand
    std::int32_t scales;   // of a head
    bool keeps_bits;       // lanes that are not rotated: x and y have one format

    CORDAGE_HOST_DEVICE index_t floats_of_warp() const noexcept { return 4 + of.shape().head_dim + scales; }
};

/// Launches one checked operand. Heads to be staged have at most most_lanes_of_head lanes.
template <pairing Pairing, class Source, class Operand, kernel_launcher Launcher>
void launch_general(const char* function, const Launcher& where, const Source& angles, const direction_data& direction,
                    const Operand& o) {
    using kernel_type = general_kernel<Operand, Source>;
    static_assert(device_kernel<kernel_type>);
    const heads_shape& s = o.shape();
    const index_t pairs = o.is_rotated() ? angles.pairs() : 0, tokens = s.batch * s.tokens;
    index_t scales = 1, warps = 8, shared = 0, blocks_of_token = 0;
    if constexpr (!Operand::is_plain) {
        using format = std::remove_cvref_t<decltype(o.y.format)>;
        scales = s.head_dim / device_format<format>::lanes_of_scale(stored_format(o.y.format), s.head_dim);
    }
    const kernel_type kernel{angles,
                             direction,
                             o,
                             pairing_value::of<Pairing>(),
                             s.batch,
                             s.tokens,
                             static_cast<std::int32_t>(pairs),
                             static_cast<std::int32_t>(scales),
                             is_same_format(o.x.format, o.y.format)};
    while (warps > 1 && warps / 2 >= s.heads) warps /= 2;
    if constexpr (!Operand::is_plain) {
        const auto bytes = [&] { return 4 * (2 * pairs + warps * kernel.floats_of_warp()); };
        while (bytes() > most_shared_bytes) warps /= 2;
        shared = bytes();
        if constexpr (Operand::is_normalized) blocks_of_token = o.norm.is_over_all_heads ? 1 : 0;
    }
    if (blocks_of_token == 0) blocks_of_token = std::min(rounded_up_quotient(s.heads, warps), most_blocks_yz);
    where.launch(
        function, kernel,
        {sizes(kernel_type::team_size, warps), sizes(std::min(tokens, most_blocks_x), blocks_of_token), shared});
}

}  // namespace cordage::backend
