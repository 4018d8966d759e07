// SPDX-License-Identifier: MIT
// The launch plan for whole heads: phases of each operand, threads, blocks and shared memory; serves the CUDA kernel of
// the cache path.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <tuple>
#include <utility>

#include "cordage/backend/cuda/block_view.hpp"
#include "cordage/backend/cuda/head_units.hpp"
#include "cordage/backend/cuda/thread_heads.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

/// Work of a block's threads between two barriers.
enum class heads_phase : std::uint8_t {
    clear,      // resets the flags of the token's angles
    angles,     // m cos, m sin of every pair
    load,       // x -> floats
    squares,    // a sum for each thread
    rotate,     // and normalize, if the norm comes first
    normalize,  // if the norm follows the rotation
    largest,    // lane of each run of lanes that share a scale
    scale,      // writes scales; computes the factors of lanes
    store       // floats -> y
};

/// A sequence of phases.
struct phase_list {
    heads_phase phases[8] = {};
    int count = 0;

    void add(heads_phase phase) noexcept { phases[count++] = phase; }
};

/// How the lanes of a head are distributed to find their scales: groups of one scale each, made of runs, a run for each
/// thread.
struct scale_runs {
    std::int32_t lanes = 0;  ///< of a group
    std::int32_t groups = 1;
    std::int32_t runs = 1;  ///< of a group
    std::int32_t lanes_of_run = 0;
};

/// An operand and how its heads are processed, one chunk at a time.
template <class Operand>
struct planned_operand;
template <class X, class Y, class XFormat, class YFormat, class Norm>
struct planned_operand<operand<X, Y, XFormat, YFormat, Norm>> {
    using operand_type = operand<X, Y, XFormat, YFormat, Norm>;
    using x_units = units_of<X, XFormat>;
    using y_units = units_of<Y, YFormat>;
    static constexpr bool is_x_of_elements = format_of<XFormat, X>;
    static constexpr bool is_y_quantised = head_format<YFormat, Y>;
    static constexpr bool may_copy = operand_type::is_plain && std::same_as<X, Y>;

    operand_type of;
    std::int32_t heads = 0, head_dim = 0, first_lane = 0;
    std::int32_t pairs = 0;  ///< 0 for an unrotated operand
    bool is_x_wide = false, is_y_wide = false;
    bool copies = false;    ///< lanes that are not rotated keep their bits
    phase_list first = {};  ///< for a norm over all heads: run over all chunks, before `each`
    phase_list each = {};   ///< run for every chunk
    scale_runs scales = {};
    std::int32_t groups = 0;           ///< blocks of a token that share the operand's chunks
    std::int32_t chunks_of_group = 1;  ///< chunks of the last group may be empty
};

/// The operands of a launch. A block belongs to a group of one operand: visit(group, f) calls f(planned, its group).
template <class List>
struct planned_operands;
template <class O>
struct planned_operands<std::span<const O* const>> {
    planned_operand<O> all[most_operands];

    template <class F>
    void plan(std::span<const O* const> operands, const F& f) {
        for (std::size_t i = 0; i < operands.size(); ++i) f(all[i] = {.of = *operands[i]});
    }
    template <class F>
    CORDAGE_HOST_DEVICE auto visit(std::int32_t group, const F& f) const noexcept {
        const planned_operand<O>* o = all;
        for (; group >= o->groups; ++o) group -= o->groups;
        return f(*o, group);
    }
};
template <class O, class... More>
struct planned_operands<std::tuple<const O&, const More&...>> {
    planned_operand<O> first;
    planned_operands<std::tuple<const More&...>> more;

    template <class F>
    void plan(const std::tuple<const O&, const More&...>& operands, const F& f) {
        f(first = {.of = std::get<0>(operands)});
        std::apply([&](const O&, const More&... others) { more.plan(std::tie(others...), f); }, operands);
    }
    template <class F>
    CORDAGE_HOST_DEVICE auto visit(std::int32_t group, const F& f) const noexcept {
        return group < first.groups ? f(first, group) : more.visit(group - first.groups, f);
    }
};
template <class O>
struct planned_operands<std::tuple<const O&>> {
    planned_operand<O> last;

    template <class F>
    void plan(const std::tuple<const O&>& operands, const F& f) {
        f(last = {.of = std::get<0>(operands)});
    }
    template <class F>
    CORDAGE_HOST_DEVICE auto visit(std::int32_t group, const F& f) const noexcept {
        return f(last, group);
    }
};

/// Upper bound on the heads of a team's chunk.
inline constexpr int most_heads_of_team = 2;

/// Shared memory of a block, in floats; all sizes are multiples of 4. For each of its tokens:
///
///   changed, invalid, -, - | m cos [pairs] | m sin [pairs] | for each head: lanes [head_dim], scratch
struct heads_layout {
    std::int32_t heads_of_team;
    std::int32_t pairs;  ///< capacity
    std::int32_t lanes;
    std::int32_t scratch;

    CORDAGE_HOST_DEVICE std::int32_t head_size() const noexcept { return lanes + scratch; }
    CORDAGE_HOST_DEVICE std::int32_t token_size(std::int32_t teams) const noexcept {
        return 4 + 2 * pairs + teams * heads_of_team * head_size();
    }
};

/// Number of scales of a head in the format of a view.
template <class T, class Format>
index_t scales_of_head(const heads_view<T, Format>& v) noexcept {
    if constexpr (head_format<Format, std::remove_const_t<T>>) {
        return v.shape.head_dim / device_format<Format>::lanes_of_scale(v.format, v.shape.head_dim);
    }
    return 1;
}

/// The phases of an operand's heads.
template <class Planned>
void plan_phases(Planned& planned) noexcept {
    using enum heads_phase;
    const auto& o = planned.of;
    phase_list& each = planned.each;
    if constexpr (Planned::operand_type::is_normalized) {
        const bool is_rotated_first = o.norm.is_after_rotation && planned.pairs > 0;
        const auto to_squares = [&](phase_list& list, bool ends) {
            list.add(load);
            if (is_rotated_first) list.add(rotate);
            if (ends) list.add(squares);
        };
        if (o.norm.is_over_all_heads) to_squares(planned.first, true);
        to_squares(each, !o.norm.is_over_all_heads);
        each.add(o.norm.is_after_rotation ? normalize : rotate);
    } else {
        if (planned.pairs == 0 && o.is_in_place()) return;
        each.add(load);
        if (planned.pairs > 0) each.add(rotate);
    }
    if constexpr (Planned::is_y_quantised) {
        each.add(largest);
        each.add(scale);
    }
    each.add(store);
}

/// Fills in all fields of a planned operand except `of`.
///
/// @param pairs    of the angles
/// @param chunk    heads of a block, one or two for each team
/// @param members  threads of a team
template <class Planned>
void plan_operand(Planned& planned, index_t pairs, index_t chunk, index_t members, index_t chunks_of_group) noexcept {
    const auto narrow = [](index_t n) { return static_cast<std::int32_t>(n); };
    const auto& o = planned.of;
    planned.heads = narrow(o.shape().heads);
    planned.head_dim = narrow(o.shape().head_dim);
    planned.first_lane = narrow(o.first_lane);
    planned.pairs = o.is_rotated() ? narrow(pairs) : 0;
    planned.is_x_wide = Planned::x_units::is_wide(o.x);
    planned.is_y_wide = Planned::y_units::is_wide(o.y);
    plan_phases(planned);
    if constexpr (Planned::may_copy) {  // whole units
        constexpr std::int32_t size = Planned::y_units::wide::lanes_of_unit;
        planned.copies = is_same_format(o.x.format, o.y.format);
        planned.is_y_wide =
            planned.is_x_wide && planned.is_y_wide && planned.first_lane % size == 0 && 2 * planned.pairs % size == 0;
    }
    if constexpr (Planned::is_y_quantised) {
        scale_runs& s = planned.scales;
        s.groups = narrow(scales_of_head(o.y));
        s.lanes = planned.head_dim / s.groups;
        s.runs = std::max(narrow(members) / s.groups, 1);
        s.lanes_of_run = (s.lanes + s.runs - 1) / s.runs;
    }
    const index_t chunks = rounded_up_quotient(planned.heads, chunk);
    planned.chunks_of_group = narrow(planned.first.count > 0 ? std::max<index_t>(chunks, 1) : chunks_of_group);
    planned.groups = narrow(rounded_up_quotient(chunks, planned.chunks_of_group));
}

/// Space that the operands of a launch need.
struct heads_needs {
    index_t tokens = 0;
    index_t pairs = 0;
    index_t heads = 0;        ///< total of all operands
    index_t most_heads = 0;   ///< maximum over operands
    index_t least_heads = 0;  ///< minimum over operands that have heads
    index_t lanes = 0;        ///< maximum of a head
    index_t scales = 1;       ///< maximum of a head

    template <class Operand>
    void add(const Operand& o) noexcept {
        const heads_shape& s = o.shape();
        tokens = s.batch * s.tokens;
        if (s.heads == 0) return;
        least_heads = heads == 0 ? s.heads : std::min(least_heads, s.heads);
        most_heads = std::max(most_heads, s.heads);
        heads += s.heads;
        lanes = std::max(lanes, s.head_dim);
        scales = std::max(scales, scales_of_head(o.y));
    }
};

/// Threads, blocks except their y, and shared memory.
struct heads_launch {
    launch_size size;
    heads_layout layout;
};

/// Threads of the team that processes a head: a power of two, one for about 8 lanes, at most a warp.
inline index_t threads_of_head(index_t lanes) noexcept {
    return std::bit_ceil(static_cast<std::uint32_t>(std::min<index_t>(rounded_up_quotient(lanes, 8), 32)));
}

/// Two heads for each team if there is work for eight full blocks a processor; then teams for the operand with the
/// fewest heads, or for 8 heads, then tokens: at least a warp, and more as long as every processor has a block.
inline heads_launch plan_heads(const heads_needs& needs, index_t processors) noexcept {
    const auto padded = [](index_t count) { return static_cast<std::int32_t>(rounded_up_quotient(count, 4) * 4); };
    const auto narrow = [](index_t n) { return static_cast<std::uint32_t>(n); };
    const index_t team = threads_of_head(needs.lanes);
    const index_t most_at_once = std::max(needs.least_heads, std::min<index_t>(needs.most_heads, 8));
    heads_layout layout{1, padded(needs.pairs), padded(needs.lanes), padded(std::max(team, needs.scales))};
    const auto bytes = [&](index_t teams, index_t tokens) {
        return tokens * layout.token_size(static_cast<std::int32_t>(teams)) * static_cast<index_t>(sizeof(float));
    };
    const auto fits = [&](index_t teams, index_t tokens) {
        const index_t threads = team * teams * tokens, heads = teams * layout.heads_of_team;
        const index_t blocks = rounded_up_quotient(needs.tokens, tokens) * rounded_up_quotient(needs.heads, heads);
        return threads <= most_threads && bytes(teams, tokens) <= most_shared_bytes &&
               (threads <= 32 || blocks >= processors);
    };
    layout.heads_of_team = most_heads_of_team;
    const bool are_many =
        saturated_product(needs.tokens, needs.heads * team) / (index_t{most_heads_of_team} * most_threads) >=
        8 * processors;
    if (!are_many || most_at_once < most_heads_of_team || bytes(1, 1) > most_shared_bytes / 2) layout.heads_of_team = 1;
    index_t teams = 1, tokens = 1;
    while (teams * layout.heads_of_team < most_at_once && fits(2 * teams, 1)) teams *= 2;
    while (tokens < needs.tokens && 2 * tokens <= most_threads_z && fits(teams, 2 * tokens)) tokens *= 2;
    return {{.threads = {narrow(team), narrow(teams), narrow(tokens)},
             .blocks = {narrow(std::min(rounded_up_quotient(needs.tokens, tokens), most_blocks_x)), 1, 1},
             .shared_bytes = bytes(teams, tokens)},
            layout};
}

}  // namespace cordage::backend
