// SPDX-License-Identifier: MIT
// The code of heads_kernel: norm, rotation and store of heads in registers; serves stage rotation.
#pragma once

#include "cordage/backend/cuda/angles.cuh"
#include "cordage/backend/cuda/heads.hpp"
#include "cordage/backend/cuda/run_formats.cuh"
#include "cordage/backend/cuda/team.cuh"

namespace cordage::backend {

/// What is written of one operand, as one thread sees it. All threads of a warp call write together.
template <class X, pairing Pairing, class Written>
class heads_writer {
 public:
    static constexpr int N = runs_in_registers<X, Pairing>::pairs;
    using runs = runs_of_pairs<Pairing, N>;
    using stored = stored_pairs<X, Pairing, N>;
    using Y = typename Written::element;
    using format = device_format<typename Written::format_type>;

    __device__ heads_writer(const team& of, const read_heads<X>& read, const Written& written, std::int32_t row,
                            std::int32_t token)
        : team_(of),
          written_(written),
          held_(of.member, read.first_lane, read.pairs, read.others),
          is_rotated_(read.is_rotated && held_.is_of_pairs),
          may_be_invalid_(read.is_rotated) {
        place_ = written.y.place_of(row, token);
        y_ = in_register(written.y.at(place_.row, place_.token));
        heads_ = place_.row >= 0 ? read.heads : 0;
        if constexpr (Written::is_normalized) {
            is_rotated_first_ = written.norm.is_after_rotation, is_rounded_ = written.norm.is_rounded_between;
            if (held_.is_active) {
                weights_ = runs::pairs_of(
                    [&](int r, float* to) { load_factors<runs::length>(written.norm, held_.lane[r], to); });
            }
        }
    }

    /// Writes head number `head`, if there is such a head.
    /// @param x           the thread's lanes of it
    /// @param is_invalid  whether an angle of the token is
    /// @param next        called when x may be overwritten
    template <class Next>
    __device__ void write(stored& x, const pair_values<N>& at, bool is_invalid, std::int32_t head, const Next& next) {
        const bool is_there = head < heads_;
        Y* const y = y_ + index_t{head} * written_.y.head_stride;
        if constexpr (Written::may_copy) {  // lanes that are not rotated keep their bits
            const stored kept = x;
            next();
            if (!is_there) return;
            if (is_rotated_) {
                stored::packed(rotated(at, kept.values())).store(y, held_.lane);
            } else if (!written_.is_in_place) {
                kept.store(y, held_.lane);
            }
        } else {
            pair_values<N> v = x.values();
            next();
            if constexpr (Written::is_normalized) {
                if (is_rotated_first_) rotate(at, v);
                if (is_rotated_first_ && is_rounded_) v = stored::packed(v).values();
                normalize(v);
                if (!is_rotated_first_ && is_rounded_) v = stored::packed(v).values();
                if (!is_rotated_first_) rotate(at, v);
            } else {
                rotate(at, v);
            }
            float lanes[2 * N], numbers[runs::count] = {};
            runs::lanes(v, lanes);
            if constexpr (Written::has_scales)
                find_scales(lanes, y, head, is_there, is_invalid && may_be_invalid_, numbers);
            if (!is_there) return;
#pragma unroll
            for (int r = 0; r < runs::count; ++r) {
                store_run<runs::length>(written_.format, y, held_.lane[r], lanes + r * runs::length, numbers[r]);
            }
        }
    }

 private:
    __device__ void rotate(const pair_values<N>& at, pair_values<N>& v) const {
        if (is_rotated_) v = rotated(at, v);
    }
    __device__ void normalize(pair_values<N>& v) const {
        float squares = 0.0f;
        v.for_each([&](float z) { squares = lane_traits<float>::fused(z, z, squares); });
        if (!held_.is_active) squares = 0.0f;
        const float r = rsqrtf(lane_traits<float>::fused(team_.sum(squares), written_.one_lane, written_.epsilon));
#pragma unroll
        for (int i = 0; i < N; ++i) {
            v.first[i] *= r * weights_.first[i];
            v.second[i] *= r * weights_.second[i];
        }
    }

    __device__ bool makes_scales() const {
        if constexpr (requires { written_.format.makes_scales; }) return written_.format.makes_scales;
        return true;
    }
    // The number that lanes are multiplied by, from the largest magnitude of their group; writes a computed scale.
    template <bool Makes>
    __device__ float number_of(Y* y, float largest, std::int32_t head, std::int32_t group) const {
        auto of = written_.format;
        if constexpr (may_have_given_scales<typename Written::format_type>)
            of.makes_scales = Makes;  // known here, which saves code
        return format::write_scale(of, largest, y, {place_.row, place_.token, head}, group);
    }
    // The number of each run.
    __device__ void find_scales(const float (&lanes)[2 * N], Y* y, std::int32_t head, bool is_there, bool is_invalid,
                                float (&numbers)[runs::count]) const {
        const std::int32_t size = written_.lanes_of_scale;
        const bool is_of_head = size == written_.head_dim;
        if (!makes_scales()) {
            if (!is_there) return;
#pragma unroll
            for (int r = 0; r < runs::count; ++r) {
                numbers[r] = number_of<false>(y, 0.0f, head, is_of_head ? 0 : held_.lane[r] / size);
            }
            return;
        }
        const float invalid = lane_traits<float>::from_bits(0x7fff'ffffu);
        const auto larger = [](float a, float b) { return larger_magnitude<typename Written::format_type>(a, b); };
        float largest[runs::count];
#pragma unroll
        for (int r = 0; r < runs::count; ++r) {
            largest[r] = 0.0f;
            for (int i = 0; i < runs::length; ++i) largest[r] = larger(largest[r], fabsf(lanes[r * runs::length + i]));
            if (!held_.is_active) largest[r] = 0.0f;
        }
        if (is_of_head) {
            float of_head = largest[0];
            for (int r = 1; r < runs::count; ++r) of_head = larger(of_head, largest[r]);
            of_head = team_.reduced(of_head, team_.size, larger);
            if (is_there && team_.member == 0) numbers[0] = number_of<true>(y, is_invalid ? invalid : of_head, head, 0);
            numbers[0] = team_.of_first(numbers[0], team_.size);
#pragma unroll
            for (int r = 1; r < runs::count; ++r) numbers[r] = numbers[0];
        } else {
            const std::int32_t threads = size / runs::length;
#pragma unroll
            for (int r = 0; r < runs::count; ++r) {
                const float of_group = team_.reduced(largest[r], threads, larger);
                if (is_there && team_.member % threads == 0) {
                    numbers[r] = number_of<true>(y, is_invalid ? invalid : of_group, head, held_.lane[r] / size);
                }
                numbers[r] = team_.of_first(numbers[r], threads);
            }
        }
    }

    const team& team_;
    const Written& written_;
    const held_lanes<Pairing, N> held_;
    const bool is_rotated_, may_be_invalid_;
    bool is_rotated_first_ = false, is_rounded_ = false;
    Y* y_;
    std::int32_t heads_;  // 0 if the token has no slot
    typename slotted_grid<Y>::place place_;
    pair_values<N> weights_{};
};

/// The heads that a thread reads, one after the other, each loaded while the one before it is written.
template <class X, pairing Pairing, class Kernel>
struct heads_reader {
    static constexpr int N = runs_in_registers<X, Pairing>::pairs;
    using stored = stored_pairs<X, Pairing, N>;

    const Kernel& k;
    const team& of;
    std::int32_t row, token;
    bool has_token;
    std::int32_t start = 0, end = 0;  // numbers of the operand whose heads are read, up to the start of the next one
    std::int32_t heads = 0;           // of them; 0 if the thread has no lanes, or the token no slot
    const X* x = nullptr;             // its first head, at the thread's first lane
    std::int32_t stride = 0;
    int lane[stored::runs::count] = {};  // from there

    stored next = {};
    std::int32_t next_head = most_small_size;  // of its operand; more than there are if nothing is loaded

    __device__ void read(std::int32_t number) {
        if (number >= end) begin(k.heads.operand_of(number));
        next_head = number - start;
        if (next_head < heads) {
            next = stored::load(x + index_t{next_head} * stride, lane);
        } else {
            next_head = most_small_size;
        }
    }

 private:
    __device__ void begin(std::int32_t operand) {
        const read_heads<X>& from = k.read[operand];
        const held_lanes<Pairing, N> held(of.member, from.first_lane, from.pairs, from.others);
        const auto place = from.x.place_of(row, token);
        start = k.heads.starts[operand];
        end = operand + 1 < static_cast<std::int32_t>(most_operands) ? k.heads.starts[operand + 1] : most_small_size;
        heads = has_token && place.row >= 0 && held.is_active ? from.heads : 0;
        stride = from.x.head_stride;
        x = in_register(from.x.at(place.row, place.token) + held.lane[0]);
        held.from_first(lane);
    }
};

template <class X, class Written, pairing Pairing, class Angles>
__device__ void rotate_token(const heads_kernel<X, Written, Pairing, Angles>& k, std::int32_t row, std::int32_t token,
                             bool has_token) {
    constexpr int N = runs_in_registers<X, Pairing>::pairs;
    const team here;
    const auto step = static_cast<std::int32_t>(blockDim.y * gridDim.y);
    const auto y = static_cast<std::int32_t>(threadIdx.y);
    auto first = static_cast<std::int32_t>(blockIdx.y * blockDim.y);  // of the block's heads
    if (first >= k.heads.all) return;
    heads_reader<X, Pairing, heads_kernel<X, Written, Pairing, Angles>> from{k, here, row, token, has_token};
    from.read(first + y);
    pair_values<N> at{};
    bool has_angles = false, is_invalid = false;
    k.written.visit([&](const auto& written, std::int32_t operand) {
        const std::int32_t start = k.heads.starts[operand], end = start + k.read[operand].heads;
        if (first < start || first >= end) return;
        using Written1 = std::remove_cvref_t<decltype(written)>;
        heads_writer<X, Pairing, Written1> to(here, k.read[operand], written, row, token);
        if (!has_angles) {  // now, with the loads of the writer in flight
            if (here.member * N < k.pairs) at = angles_of<N>(k.angles, k.direction, row, token, here.member * N);
            has_angles = true;
            if constexpr (Written::has_scales) {
#pragma unroll
                for (int i = 0; i < N; ++i) is_invalid = is_invalid || !is_finite(at.first[i]);
                is_invalid = here.any(is_invalid);
            }
        }
#pragma unroll 1
        do {
            first += step;
            to.write(from.next, at, is_invalid, from.next_head, [&] {
                if (first < k.heads.all) from.read(first + y);
            });
        } while (first < end);
    });
}

template <class X, class Written, pairing Pairing, class Angles>
__device__ void run(const heads_kernel<X, Written, Pairing, Angles>& k) {
    for_each_row(k,
                 [&](std::int32_t row, std::int32_t token, bool has_token) { rotate_token(k, row, token, has_token); });
}

}  // namespace cordage::backend
