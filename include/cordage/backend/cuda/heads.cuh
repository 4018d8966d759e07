// SPDX-License-Identifier: MIT
// The code of heads_kernel: norm, rotation and store of heads in registers; serves stage rotation.
#pragma once

#include "cordage/backend/cuda/angles.cuh"
#include "cordage/backend/cuda/heads.hpp"
#include "cordage/backend/cuda/run_formats.cuh"
#include "cordage/backend/cuda/team.cuh"

namespace cordage::backend {

/// The heads of one operand, as one thread sees them.
template <class X, pairing Pairing, class Written>
class operand_in_registers {
 public:
    using sizes = runs_in_registers<X, Pairing>;
    static constexpr int N = sizes::pairs, E = static_cast<int>(sizes::others);
    using stored = stored_pairs<X, Pairing, N>;
    using runs = runs_of_pairs<Pairing, N>;
    using Y = typename Written::element;
    using format = device_format<typename Written::format_type>;
    static constexpr bool is_normalized = Written::is_normalized;

    /// @param is_invalid  whether an angle of the token is
    __device__ operand_in_registers(const team& of, const read_heads<X>& read, const Written& written, std::int32_t row,
                                    std::int32_t token, bool is_invalid)
        : team_(of), read_(read), written_(written), is_invalid_(is_invalid && read.is_rotated) {
        place_ = written.y.place_of(row, token);
        y_ = written.y.at(place_.row, place_.token);
        if constexpr (is_normalized) {
            if (is_active())
                weights_ =
                    runs::pairs_of([&](int r, float* to) { load_factors<runs::length>(written.norm, lane(r), to); });
        }
    }
    __device__ bool has_slot() const { return place_.row >= 0; }
    __device__ bool is_active() const { return team_.member * N < read_.pairs; }

    /// Writes head number `head`. Lanes that are only copied keep their bits.
    /// @param x     its first lane
    /// @param kept  the thread's pairs of it, if it has any
    __device__ void write(const X* x, const stored& kept, const pair_values<N>& at, std::int32_t head) {
        auto* const y = y_ + index_t{head} * written_.y.head_stride;
        if constexpr (Written::may_copy) {
            if (!written_.is_in_place) {
                for_each_other([&](std::int32_t lane) { run_of<X, E>::load(x + lane).store(y + lane); });
            }
            if (!read_.is_rotated) {
                if (is_active()) kept.store(y + read_.first_lane, team_.member, read_.pairs);
                return;
            }
        }
        pair_values<N> v{};
        if (is_active()) v = kept.values();
        const bool is_rotated_first = [&] {
            if constexpr (is_normalized) return written_.norm.is_after_rotation;
            return true;
        }();
        if (read_.is_rotated && is_rotated_first) v = rotated(at, v);
        if constexpr (is_normalized) {
            if (is_rotated_first && written_.norm.is_rounded_between) v.for_each(round);
            inverse_rms_ = inverse_rms(v, x);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                v.first[i] *= inverse_rms_ * weights_.first[i];
                v.second[i] *= inverse_rms_ * weights_.second[i];
            }
            if (!is_rotated_first) {
                if (written_.norm.is_rounded_between) v.for_each(round);
                if (read_.is_rotated) v = rotated(at, v);
            }
        }
        store(x, v, y, head);
    }

 private:
    __device__ std::int32_t lane(int r) const { return read_.first_lane + runs::lane(r, team_.member, read_.pairs); }

    // Calls f(lane) for the thread's runs of lanes that are not rotated.
    template <class F>
    __device__ void for_each_other(const F& f) const {
#pragma unroll 1
        for (std::int32_t i = team_.member * E; i < read_.others; i += team_.size * E) {
            f(i < read_.first_lane ? i : i + 2 * read_.pairs);
        }
    }
    // Rounds to the type of x.
    __device__ static void round(float& z) { z = element_traits<X>::load(element_traits<X>::store(z)); }
    __device__ float inverse_rms(const pair_values<N>& v, const X* x) const {
        float squares = 0.0f;
        const auto add = [&](float z) { squares = lane_traits<float>::fused(z, z, squares); };
#pragma unroll
        for (int i = 0; i < N; ++i) add(v.first[i]), add(v.second[i]);
        for_each_other([&](std::int32_t lane) {
            float z[E];
            run_of<X, E>::load(x + lane).unpack(z);
            for (int i = 0; i < E; ++i) add(z[i]);
        });
        return written_.norm.inverse_rms(team_.sum(squares), head_dim());
    }
    // A run of lanes that are not rotated, normalized if there is a norm.
    __device__ void load_other(const X* x, std::int32_t lane, float (&z)[E]) const {
        run_of<X, E>::load(x + lane).unpack(z);
        if constexpr (is_normalized) {
            float weights[E];
            load_factors<E>(written_.norm, lane, weights);
            for (int i = 0; i < E; ++i) z[i] *= inverse_rms_ * weights[i];
            if (written_.norm.is_rounded_between && !written_.norm.is_after_rotation) {
                for (int i = 0; i < E; ++i) round(z[i]);
            }
        }
    }

    __device__ void store(const X* x, const pair_values<N>& v, Y* y, std::int32_t head) const {
        float lanes[2 * N];
        runs::lanes(v, lanes);
        float numbers[runs::count] = {}, of_others = 0.0f;
        if constexpr (Written::has_scales) find_scales(x, lanes, y, head, numbers, of_others);
        if (is_active()) {
#pragma unroll
            for (int r = 0; r < runs::count; ++r) {
                store_run<runs::length>(written_.format, y, lane(r), lanes + r * runs::length, numbers[r]);
            }
        }
        if constexpr (!Written::may_copy) {
            for_each_other([&](std::int32_t lane) {
                float z[E], number = of_others;
                load_other(x, lane, z);
                if constexpr (Written::has_scales) {
                    if (!makes_scales()) number = given(y, lane, head);
                }
                store_run<E>(written_.format, y, lane, z, number);
            });
        }
    }

    __device__ std::int32_t head_dim() const { return read_.others + 2 * read_.pairs; }
    __device__ bool makes_scales() const {
        if constexpr (requires { written_.format.makes_scales; }) return written_.format.makes_scales;
        return true;
    }
    __device__ std::int32_t lanes_of_scale() const {
        return static_cast<std::int32_t>(format::lanes_of_scale(written_.format, head_dim()));
    }
    // The number that lanes are multiplied by, from the largest magnitude of their group; writes a computed scale.
    template <bool Makes>
    __device__ float number_of(Y* y, float largest, std::int32_t head, std::int32_t group) const {
        auto of = written_.format;
        if constexpr (may_have_given_scales<typename Written::format_type>)
            of.makes_scales = Makes;  // known here, which saves code
        return format::write_scale(of, largest, y, {place_.row, place_.token, head}, group);
    }
    __device__ float given(Y* y, std::int32_t lane, std::int32_t head) const {
        const std::int32_t size = lanes_of_scale();
        return number_of<false>(y, 0.0f, head, size == head_dim() ? 0 : lane / size);
    }
    // The numbers of each run, and of lanes that are not rotated.
    __device__ void find_scales(const X* x, const float (&lanes)[2 * N], Y* y, std::int32_t head,
                                float (&numbers)[runs::count], float& of_others) const {
        if (!makes_scales()) {
#pragma unroll
            for (int r = 0; r < runs::count; ++r) numbers[r] = is_active() ? given(y, lane(r), head) : 0.0f;
            return;
        }
        const float invalid = lane_traits<float>::from_bits(0x7fff'ffffu);
        const auto larger = [](float a, float b) { return larger_magnitude<typename Written::format_type>(a, b); };
        float largest[runs::count];
#pragma unroll
        for (int r = 0; r < runs::count; ++r) {
            largest[r] = 0.0f;
            for (int i = 0; i < runs::length; ++i) largest[r] = larger(largest[r], fabsf(lanes[r * runs::length + i]));
        }
        const std::int32_t size = lanes_of_scale();
        if (size == head_dim()) {
            float of_head = largest[0];
            for (int r = 1; r < runs::count; ++r) of_head = larger(of_head, largest[r]);
            for_each_other([&](std::int32_t lane) {
                float z[E];
                load_other(x, lane, z);
                for (int i = 0; i < E; ++i) of_head = larger(of_head, fabsf(z[i]));
            });
            of_head = team_.largest(of_head, team_.size, larger);
            if (team_.member == 0) of_others = number_of<true>(y, is_invalid_ ? invalid : of_head, head, 0);
            of_others = team_.of_first(of_others, team_.size);
#pragma unroll
            for (int r = 0; r < runs::count; ++r) numbers[r] = of_others;
        } else {
            const std::int32_t threads = size / runs::length;
#pragma unroll
            for (int r = 0; r < runs::count; ++r) {
                const float of_group = team_.largest(largest[r], threads, larger);
                if (is_active() && team_.member % threads == 0) {
                    numbers[r] = number_of<true>(y, is_invalid_ ? invalid : of_group, head, lane(r) / size);
                }
                numbers[r] = team_.of_first(numbers[r], threads);
            }
        }
    }

    const team& team_;
    const read_heads<X>& read_;
    const Written& written_;
    Y* y_;
    typename slotted_grid<Y>::place place_;
    pair_values<N> weights_{};
    float inverse_rms_ = 0.0f;
    bool is_invalid_;
};

template <class X, class Written, pairing Pairing, class Angles>
__device__ void rotate_token(const heads_kernel<X, Written, Pairing, Angles>& k, std::int32_t row, std::int32_t token) {
    constexpr int N = runs_in_registers<X, Pairing>::pairs;
    using stored = stored_pairs<X, Pairing, N>;
    const team here;
    const auto step = static_cast<std::int32_t>(blockDim.y * gridDim.y);
    auto head = static_cast<std::int32_t>(blockIdx.y * blockDim.y + threadIdx.y);
    if (head >= k.heads.all) return;

    stored next;
    const X* next_x = nullptr;  // first lane of the next head; null where its token has no slot
    const auto read = [&](std::int32_t number) {
        if (number >= k.heads.all) return;
        const std::int32_t operand = k.heads.operand_of(number);
        const read_heads<X>& from = k.read[operand];
        const auto place = from.x.place_of(row, token);
        next_x = place.row < 0 ? nullptr : from.x.at(place.row, place.token, number - k.heads.before(operand));
        if (next_x != nullptr && here.member * N < from.pairs) {
            next = stored::load(next_x + from.first_lane, here.member, from.pairs);
        }
    };
    read(head);
    pair_values<N> at{};
    if (here.member * N < k.pairs) at = angles_of<N>(k.angles, k.direction, row, token, here.member * N);
    bool is_invalid = false;
#pragma unroll
    for (int i = 0; i < N; ++i) is_invalid = is_invalid || !is_finite(at.first[i]);
    is_invalid = here.any(is_invalid);
    k.written.visit([&](const auto& written, std::int32_t operand) {
        if (head >= k.heads.ends[operand] || head < k.heads.before(operand)) return;
        using Written1 = std::remove_cvref_t<decltype(written)>;
        operand_in_registers<X, Pairing, Written1> work(here, k.read[operand], written, row, token, is_invalid);
#pragma unroll 1
        for (; head < k.heads.ends[operand]; head += step) {
            const stored kept = next;
            const X* const x = next_x;
            read(head + step);
            if (x != nullptr && work.has_slot()) work.write(x, kept, at, head - k.heads.before(operand));
        }
    });
}

template <class X, class Written, pairing Pairing, class Angles>
__device__ void run(const heads_kernel<X, Written, Pairing, Angles>& k) {
    for_each_row(k, [&](std::int32_t row, std::int32_t token) { rotate_token(k, row, token); });
}

}  // namespace cordage::backend
