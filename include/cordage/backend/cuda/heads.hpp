// SPDX-License-Identifier: MIT
// The CUDA rotation of whole heads: norms, formats of whole heads, and operands in the same call; serves stage
// rotation.
#pragma once

#include <span>
#include <tuple>
#include <utility>

#include "cordage/backend/cuda/angles.hpp"
#include "cordage/backend/cuda/head_units.hpp"
#include "cordage/backend/cuda/heads_plan.hpp"
#include "cordage/core/bits.hpp"
#include "cordage/pair/rotate.hpp"

namespace cordage::backend {

/// A team of threads processes a head: a power of two of threads, one for about 8 lanes, at most a warp.
///
///   x -> lanes of a head, in units, pairs or single ones
///   y -> every threads.y-th head of a chunk of threads.y * heads_of_team
///   z -> every (threads.z * blocks.x)-th token;   blocks.y -> which operand, and which chunks of its heads
///
///   for each token:    cos, sin of all pairs -> shared floats
///     for each chunk:  x -> shared floats -> norm, rotation -> y
///
/// A thread's shared data are visible to the others after the next barrier. x of a head is read before y is written.
template <pairing Pairing, class Direction, class Source, class Operands>
struct heads_kernel {
    static constexpr int blocks_per_processor = 2;  // at most 128 registers; 53 to 69 at 9.0, 112 at 12.0

    Source angles;
    index_t rows;
    index_t tokens;  // of a row
    heads_layout layout;
    planned_operands<Operands> operands;

    CORDAGE_HOST_DEVICE index_t phases(const block_view& at) const noexcept {
        return operands.visit(static_cast<std::int32_t>(at.block.y), [&](const auto& o, std::int32_t) {
            const index_t rounds = divided(rows * tokens - 1 - first_token(at), token_step(at)).quotient + 1;
            return rounds * phases_of_token(o);
        });
    }
    CORDAGE_HOST_DEVICE void run(index_t phase, const block_view& at) const noexcept {
        operands.visit(static_cast<std::int32_t>(at.block.y), [&](const auto& o, std::int32_t group) {
            const std::int32_t each = phases_of_token(o), chunks = o.chunks_of_group;
            quotient_and_rest of_token{0, phase};
            if (phase >= each) of_token = divided(phase, each);
            auto rest = static_cast<std::int32_t>(of_token.rest);
            const index_t number = first_token(at) + at.thread.z + of_token.quotient * token_step(at);
            team here{at, layout, number, number < rows * tokens, o.heads};
            if (rest == 0) return clear(here);
            if (rest == 1) return make_angles(o, here);
            const bool is_first = (rest -= 2) < o.first.count * chunks;
            if (!is_first) rest -= o.first.count * chunks;
            const phase_list& list = is_first ? o.first : o.each;
            here.chunk = group * o.chunks_of_group + rest / list.count;
            run_phase(list.phases[rest % list.count], o, here);
        });
    }

 private:
    // A thread in its team, its token, and its current chunk of heads. Heads and lanes are counted in 32 bits.
    class team {
     public:
        CORDAGE_HOST_DEVICE team(const block_view& where, const heads_layout& of_block, index_t token_number,
                                 bool is_there, std::int32_t count) noexcept
            : token(token_number),
              is_token(is_there),
              member(narrow(where.thread.x)),
              members(narrow(where.threads.x)),
              number(narrow(where.thread.y)),
              teams(narrow(where.threads.y)),
              layout_(of_block),
              shared_(static_cast<float*>(where.shared) + index_t{narrow(where.thread.z)} * of_block.token_size(teams)),
              heads_(count) {}

        index_t token;  // counted over the rows
        bool is_token;  // whether the token exists
        std::int32_t member, members;
        std::int32_t number, teams;
        std::int32_t chunk = 0;

        CORDAGE_HOST_DEVICE float& is_changed() const noexcept { return shared_[0]; }
        CORDAGE_HOST_DEVICE float& is_invalid() const noexcept { return shared_[1]; }
        CORDAGE_HOST_DEVICE float& cos(std::int32_t pair) const noexcept { return shared_[4 + pair]; }
        CORDAGE_HOST_DEVICE float& sin(std::int32_t pair) const noexcept { return shared_[4 + layout_.pairs + pair]; }
        // Head number h of the team in the chunk.
        CORDAGE_HOST_DEVICE std::int32_t head(int h) const noexcept {
            return (chunk * layout_.heads_of_team + h) * teams + number;
        }
        CORDAGE_HOST_DEVICE bool has_head(int h) const noexcept {
            return h < layout_.heads_of_team && head(h) < heads_;
        }
        CORDAGE_HOST_DEVICE float* lanes(int h) const noexcept { return lanes_of_team(h, number); }
        CORDAGE_HOST_DEVICE float* scratch(int h) const noexcept { return scratch_of_team(h, number); }
        CORDAGE_HOST_DEVICE float* scratch_of_team(int h, std::int32_t y) const noexcept {
            return lanes_of_team(h, y) + layout_.lanes;
        }

     private:
        CORDAGE_HOST_DEVICE static std::int32_t narrow(std::uint32_t n) noexcept {
            return static_cast<std::int32_t>(n);
        }
        CORDAGE_HOST_DEVICE float* lanes_of_team(int h, std::int32_t y) const noexcept {
            const int before = 4 + 2 * layout_.pairs + (h * teams + y) * layout_.head_size();
            return shared_ + before;
        }

        const heads_layout& layout_;
        float* shared_;  // of the token
        std::int32_t heads_;
    };

    CORDAGE_HOST_DEVICE static index_t first_token(const block_view& at) noexcept {
        return index_t{at.block.x} * at.threads.z;
    }
    CORDAGE_HOST_DEVICE static index_t token_step(const block_view& at) noexcept {
        return index_t{at.blocks.x} * at.threads.z;
    }
    template <class Planned>
    CORDAGE_HOST_DEVICE static std::int32_t phases_of_token(const Planned& o) noexcept {
        return 2 + (o.first.count + o.each.count) * o.chunks_of_group;
    }

    template <class Planned>
    CORDAGE_HOST_DEVICE void run_phase(heads_phase phase, const Planned& o, const team& here) const noexcept {
        using operand = typename Planned::operand_type;
        if (phase == heads_phase::load) return load(o, here);
        if (phase == heads_phase::rotate) return rotate(o, here);
        if (phase == heads_phase::store) return store(o, here);
        if constexpr (operand::is_normalized) {
            if (phase == heads_phase::squares) return add_squares(o, here);
            if (phase == heads_phase::normalize) return normalize(o, here);
        }
        if constexpr (Planned::is_y_quantised) {
            if (phase == heads_phase::largest) return find_largest(o, here);
            if (phase == heads_phase::scale) return write_scales(o, here);
        }
    }

    CORDAGE_HOST_DEVICE static void clear(const team& here) noexcept {
        if (here.member == 0 && here.number == 0) here.is_changed() = here.is_invalid() = 0.0f;
    }

    template <class Planned>
    CORDAGE_HOST_DEVICE void make_angles(const Planned& o, const team& here) const noexcept {
        if (!here.is_token) return;
        const token_place place = place_of(here.token, tokens);
        for (std::int32_t pair = here.number * here.members + here.member; pair < o.pairs;
             pair += here.members * here.teams) {
            const auto at = angles_of<Direction, 1>(angles, place.row, place.token, pair).angle(0);
            here.cos(pair) = at.cos;
            here.sin(pair) = at.sin;
            if (!is_finite(at.cos)) here.is_invalid() = 1.0f;
            if (!is_finite(at.cos) || at.cos != 1.0f || at.sin != 0.0f) here.is_changed() = 1.0f;
        }
    }

    // First elements of the token's heads; null if nothing is to be done. Quantised heads that do not change keep their
    // bytes.
    template <class Planned>
    CORDAGE_HOST_DEVICE auto heads_of(const Planned& planned, const team& here) const noexcept {
        using operand = typename Planned::operand_type;
        const operand& o = planned.of;
        const bool may_keep = operand::has_head_format && !operand::is_normalized && o.is_in_place();
        typename operand::token_lanes lanes{nullptr, nullptr};
        if (!here.is_token || (may_keep && here.is_changed() == 0.0f)) return lanes;
        const token_place place = place_of(here.token, tokens);
        lanes = o.lanes_of(place.row, place.token);
        if (lanes.x != nullptr) lanes = {lanes.x - o.first_lane, lanes.y - o.first_lane};
        return lanes;
    }
    // Places of the heads, if the format needs them.
    template <class T, class Format>
    CORDAGE_HOST_DEVICE head_place place_in(const heads_view<T, Format>& v, const team& here) const noexcept {
        if constexpr (head_format<Format, std::remove_const_t<T>>) {
            const token_place place = place_of(here.token, tokens);
            return v.place(place.row, place.token);
        } else {
            return {};
        }
    }

    template <class Planned>
    CORDAGE_HOST_DEVICE void load(const Planned& o, const team& here) const noexcept {
        const auto& view = o.of.x;
        const auto* const x = heads_of(o, here).x;
        if (x == nullptr) return;
        const head_place place = place_in(view, here);
        with_units<typename Planned::x_units>(o.is_x_wide, [&]<class Units>(Units) {
            constexpr int size = Units::lanes_of_unit;
            for (std::int32_t unit = here.member; unit < o.head_dim / size; unit += here.members) {
                float lanes[most_heads_of_team][size];  // all loads in flight at once
                for (int h = 0; h < most_heads_of_team; ++h) {
                    if (!here.has_head(h)) continue;
                    const index_t head = here.head(h);
                    Units::load(view.format, x + head * view.head_stride, {place.row, place.token, head}, unit,
                                lanes[h]);
                }
                for (int h = 0; h < most_heads_of_team; ++h) {
                    if (here.has_head(h)) put_lanes<Units>(lanes[h], unit, here.lanes(h));
                }
            }
        });
    }

    // For a norm over all heads, a thread's sum continues from chunk to chunk.
    template <class Planned>
    CORDAGE_HOST_DEVICE static void add_squares(const Planned& o, const team& here) noexcept {
        const bool is_over_all = o.of.norm.is_over_all_heads;
        float all = is_over_all && here.chunk > 0 ? here.scratch(0)[here.member] : 0.0f;
        for (int h = 0; h < most_heads_of_team; ++h) {
            if (!here.has_head(h)) continue;
            const float* const lanes = here.lanes(h);
            float sum = 0.0f;
            for (std::int32_t lane = here.member; lane < o.head_dim; lane += here.members) {
                sum = lane_traits<float>::multiply_add(lanes[lane], lanes[lane], sum);
            }
            if (!is_over_all) here.scratch(h)[here.member] = sum;
            all += sum;
        }
        if (is_over_all) here.scratch(0)[here.member] = all;
    }
    template <class Planned>
    CORDAGE_HOST_DEVICE static float inverse_rms(const Planned& o, int h, const team& here) noexcept {
        const bool is_over_all = o.of.norm.is_over_all_heads;
        float sum = 0.0f;
        for (std::int32_t y = 0; y < (is_over_all ? here.teams : 1); ++y) {
            const float* const sums = is_over_all ? here.scratch_of_team(0, y) : here.scratch(h);
            for (std::int32_t i = 0; i < here.members; ++i) sum += sums[i];
        }
        return o.of.norm.inverse_rms(sum, index_t{is_over_all ? o.heads : 1} * o.head_dim);
    }

    // The factors of the lanes of the team's heads.
    template <class Planned>
    struct norm_of_team {
        const Planned& o;
        const team& here;
        bool applies;
        float inverse_rms_of[most_heads_of_team] = {};

        CORDAGE_HOST_DEVICE norm_of_team(const Planned& planned, const team& at, bool is_wanted) noexcept
            : o(planned), here(at), applies(is_wanted) {
            if constexpr (Planned::operand_type::is_normalized) {
                for (int h = 0; h < most_heads_of_team; ++h) {
                    if (applies && here.has_head(h)) inverse_rms_of[h] = inverse_rms(o, h, here);
                }
            }
        }
        // Weight of a lane; `before`, that of the previous head, unless each head has its own weights.
        CORDAGE_HOST_DEVICE float factor(std::int32_t lane, int h, float before) const noexcept {
            if constexpr (Planned::operand_type::is_normalized) {
                if (applies && (h == 0 || o.of.norm.is_over_all_heads)) {
                    return o.of.norm.template factor<float>(here.head(h), lane, o.head_dim);
                }
            }
            return before;
        }
        CORDAGE_HOST_DEVICE float operator()(float x, int h, float factor) const noexcept {
            return applies ? x * inverse_rms_of[h] * factor : x;
        }
    };
    template <class Planned>
    CORDAGE_HOST_DEVICE static float rounded(const Planned& o, float x) noexcept {
        if constexpr (Planned::operand_type::is_normalized && Planned::is_x_of_elements) {
            if (o.of.norm.is_rounded_between) return o.of.x.format.load(o.of.x.format.store(x));
        }
        return x;
    }

    template <class Planned>
    CORDAGE_HOST_DEVICE static void rotate(const Planned& o, const team& here) noexcept {
        bool is_norm_first = false;
        if constexpr (Planned::operand_type::is_normalized) is_norm_first = !o.of.norm.is_after_rotation;
        const norm_of_team<Planned> normalized(o, here, is_norm_first);
        for (std::int32_t pair = here.member; pair < o.pairs; pair += here.members) {
            const cos_sin<float> at{here.cos(pair), here.sin(pair)};
            const auto lane0 = o.first_lane + static_cast<std::int32_t>(Pairing::first(pair, o.pairs));
            const auto lane1 = o.first_lane + static_cast<std::int32_t>(Pairing::second(pair, o.pairs));
            float factor0 = 1.0f, factor1 = 1.0f;
            for (int h = 0; h < most_heads_of_team; ++h) {
                if (!here.has_head(h)) continue;
                factor0 = normalized.factor(lane0, h, factor0);
                factor1 = normalized.factor(lane1, h, factor1);
                float* const lanes = here.lanes(h);
                lane_pair<float> x{normalized(lanes[lane0], h, factor0), normalized(lanes[lane1], h, factor1)};
                if (is_norm_first) x = {rounded(o, x.first), rounded(o, x.second)};
                const lane_pair<float> y = rotated(at, x);
                lanes[lane0] = is_norm_first ? y.first : rounded(o, y.first);
                lanes[lane1] = is_norm_first ? y.second : rounded(o, y.second);
            }
        }
        if (is_norm_first) normalize_around(o, normalized, o.first_lane, 2 * o.pairs, here);
    }

    // The lanes before and after `count` rotated ones.
    template <class Planned>
    CORDAGE_HOST_DEVICE static void normalize_around(const Planned& o, const norm_of_team<Planned>& normalized,
                                                     std::int32_t begin, std::int32_t count,
                                                     const team& here) noexcept {
        if constexpr (Planned::operand_type::is_normalized) {
            for (std::int32_t i = here.member; i < o.head_dim - count; i += here.members) {
                const std::int32_t lane = i < begin ? i : i + count;
                float factor = 1.0f;
                for (int h = 0; h < most_heads_of_team; ++h) {
                    if (!here.has_head(h)) continue;
                    factor = normalized.factor(lane, h, factor);
                    float& x = here.lanes(h)[lane];
                    const float n = normalized(x, h, factor);
                    x = o.of.norm.is_after_rotation ? n : rounded(o, n);
                }
            }
        }
    }
    template <class Planned>
    CORDAGE_HOST_DEVICE static void normalize(const Planned& o, const team& here) noexcept {
        normalize_around(o, norm_of_team<Planned>(o, here, true), 0, 0, here);
    }

    template <class Planned>
    CORDAGE_HOST_DEVICE static void find_largest(const Planned& o, const team& here) noexcept {
        const scale_runs& of = o.scales;
        for (std::int32_t run = here.member; run < of.groups * of.runs; run += here.members) {
            const std::int32_t first = run / of.runs * of.lanes, end = first + of.lanes;
            for (int h = 0; h < most_heads_of_team; ++h) {
                if (!here.has_head(h)) continue;
                const float* const lanes = here.lanes(h);
                float largest = 0.0f;
                std::int32_t lane = first + run % of.runs * of.lanes_of_run;
                for (std::int32_t i = 0; i < of.lanes_of_run && lane < end; ++i, ++lane) {
                    largest = tensors_detail::larger_lane(largest, lanes[lane]);
                }
                here.scratch(h)[run] = largest;
            }
        }
    }

    template <class Planned>
    CORDAGE_HOST_DEVICE void write_scales(const Planned& o, const team& here) const noexcept {
        const auto& view = o.of.y;
        auto* const y = heads_of(o, here).y;
        if (y == nullptr) return;
        const head_place place = place_in(view, here);
        const bool is_invalid = o.pairs > 0 && here.is_invalid() != 0.0f;
        for (std::int32_t group = here.member; group < o.scales.groups; group += here.members) {
            for (int h = 0; h < most_heads_of_team; ++h) {
                if (!here.has_head(h)) continue;
                float* const found = here.scratch(h) + group * o.scales.runs;
                float largest = found[0];
                for (std::int32_t run = 1; run < o.scales.runs; ++run) {
                    largest = tensors_detail::larger_lane(largest, found[run]);
                }
                if (is_invalid) largest = lane_traits<float>::from_bits(0x7fff'ffffu);
                const index_t head = here.head(h);
                found[0] = Planned::y_units::narrow::write_scale(view.format, largest, y + head * view.head_stride,
                                                                 {place.row, place.token, head}, group);
            }
        }
    }

    template <class Planned>
    CORDAGE_HOST_DEVICE void store(const Planned& o, const team& here) const noexcept {
        const auto heads = heads_of(o, here);
        if (heads.y == nullptr) return;
        with_units<typename Planned::y_units>(o.is_y_wide, [&]<class Units>(Units) {
            constexpr int size = Units::lanes_of_unit;
            for (std::int32_t unit = here.member; unit < o.head_dim / size; unit += here.members) {
                const std::int32_t lane = lane_of<Units>(unit, 0);
                std::int32_t scale = 0;
                if (Planned::is_y_quantised && o.scales.groups > 1) scale = lane / o.scales.lanes * o.scales.runs;
                for (int h = 0; h < most_heads_of_team; ++h) {
                    if (!here.has_head(h)) continue;
                    auto* const y = heads.y + here.head(h) * o.of.y.head_stride;
                    if constexpr (Planned::may_copy) {
                        if (o.copies && (lane < o.first_lane || lane >= o.first_lane + 2 * o.pairs)) {
                            copy_unit<size>(heads.x + here.head(h) * o.of.x.head_stride + lane, y + lane);
                            continue;
                        }
                    }
                    float lanes[size];
                    get_lanes<Units>(here.lanes(h), unit, lanes);
                    Units::store(o.of.y.format, lanes, Planned::is_y_quantised ? here.scratch(h)[scale] : 0.0f, y,
                                 unit);
                }
            }
        });
    }
    template <int Size, class T>
    CORDAGE_HOST_DEVICE static void copy_unit(const T* x, T* y) noexcept {
        if (static_cast<const void*>(x) == static_cast<const void*>(y)) return;
        if constexpr (Size == 1) {
            *y = *x;
        } else {
            store_piece(load_piece(x), y);
        }
    }
};

/// Launches at most most_operands checked operands, of one type or of several.
template <pairing Pairing, class Direction, class Source, class Operands, kernel_launcher Launcher>
void launch_some_heads(const char* function, const Launcher& where, const Source& angles, const Operands& operands) {
    using kernel_type = heads_kernel<Pairing, Direction, Source, Operands>;
    static_assert(device_kernel<kernel_type>);
    heads_needs needs{.pairs = angles.pairs()};
    heads_shape shape;
    for_each_operand(operands, [&](const auto& o) {
        shape = o.shape();
        needs.add(o);
    });
    if (needs.tokens == 0 || needs.heads == 0) return;
    heads_launch launch = plan_heads(needs, where.processors(function));
    kernel_type kernel{angles, shape.batch, shape.tokens, launch.layout, {}};
    const index_t chunk_heads = index_t{launch.size.threads.y} * launch.layout.heads_of_team;
    const index_t chunks_of_group = rounded_up_quotient(rounded_up_quotient(needs.heads, chunk_heads), 32'768);
    index_t groups = 0;
    kernel.operands.plan(operands, [&](auto& planned) {
        plan_operand(planned, angles.pairs(), chunk_heads, launch.size.threads.x, chunks_of_group);
        groups += planned.groups;
    });
    launch.size.blocks.y = static_cast<std::uint32_t>(groups);
    where.launch(function, kernel, launch.size);
}

/// Any number of operands: one launch for every most_operands.
template <pairing Pairing, class Direction, class Source, class O, kernel_launcher Launcher>
void launch_heads(const char* function, const Launcher& where, const Source& angles,
                  std::span<const O* const> operands) {
    for (; operands.size() > most_operands; operands = operands.subspan(most_operands)) {
        launch_some_heads<Pairing, Direction>(function, where, angles, operands.first(most_operands));
    }
    launch_some_heads<Pairing, Direction>(function, where, angles, operands);
}
template <pairing Pairing, class Direction, class Source, class... O, kernel_launcher Launcher>
void launch_heads(const char* function, const Launcher& where, const Source& angles,
                  const std::tuple<const O&...>& operands) {
    const auto some = [&]<std::size_t First, std::size_t... I>(std::integral_constant<std::size_t, First>,
                                                               std::index_sequence<I...>) {
        launch_some_heads<Pairing, Direction>(function, where, angles, std::tie(std::get<First + I>(operands)...));
    };
    constexpr std::size_t each = most_operands, count = sizeof...(O);
    [&]<std::size_t... Launch>(std::index_sequence<Launch...>) {
        (some(std::integral_constant<std::size_t, each * Launch>{},
              std::make_index_sequence<std::min(each, count - each * Launch)>{}),
         ...);
    }
    (std::make_index_sequence<(count + each - 1) / each>{});
}

}  // namespace cordage::backend
