// SPDX-License-Identifier: MIT
// The code of general_kernel; serves stage rotation.
#pragma once

#include "cordage/backend/cuda/angles.cuh"
#include "cordage/backend/cuda/general.hpp"
#include "cordage/backend/cuda/team.cuh"

namespace cordage::backend {

/// The work of one thread of a general_kernel.
template <class Operand, class Source>
class general_work {
 public:
    using kernel = general_kernel<Operand, Source>;

    __device__ explicit general_work(const kernel& k) : k_(k), o_(k.of), head_dim_(o_.shape().head_dim) {
        extern __shared__ float shared_floats[];
        cos_ = shared_floats;
        sin_ = cos_ + k.pairs;
        own_ = sin_ + k.pairs + threadIdx.y * k.floats_of_warp();
    }

    // A token of a plain operand: pair by pair, then the lanes that are not rotated.
    __device__ void rotate_elements(index_t row, index_t token) const {
        const auto [x, y] = o_.lanes_of(row, token);
        if (x == nullptr) return;
        for (std::int32_t pair = member(); pair < k_.pairs; pair += step()) {
            const cos_sin<float> at = angles_of<1>(k_.angles, k_.direction, row, token, pair).angle(0);
            const index_t lane0 = k_.pairing.first(pair, k_.pairs), lane1 = k_.pairing.second(pair, k_.pairs);
            for (index_t head = first_head(); head < o_.shape().heads; head += head_step()) {
                const auto* const from = x + head * o_.x.head_stride;
                auto* const to = y + head * o_.y.head_stride;
                const lane_pair<float> z =
                    rotated(at, lane_pair<float>{o_.x.format.load(from[lane0]), o_.x.format.load(from[lane1])});
                to[lane0] = o_.y.format.store(z.first);
                to[lane1] = o_.y.format.store(z.second);
            }
        }
        if (o_.is_in_place()) return;
        for (std::int32_t i = member(); i < head_dim_ - 2 * k_.pairs; i += step()) {
            const index_t lane = (i < o_.first_lane ? i : i + 2 * k_.pairs) - o_.first_lane;
            for (index_t head = first_head(); head < o_.shape().heads; head += head_step()) {
                y[head * o_.y.head_stride + lane] = copied(x[head * o_.x.head_stride + lane]);
            }
        }
    }

    // A token of any other operand. All threads of the block call it.
    __device__ void rotate_staged(index_t row, index_t token) {
        const auto [x, y] = o_.lanes_of(row, token);
        if (x == nullptr) return;
        __syncthreads();  // the token before is done
        for (std::int32_t pair = member() + step() * threadIdx.y; pair < k_.pairs; pair += step() * blockDim.y) {
            const cos_sin<float> at = angles_of<1>(k_.angles, k_.direction, row, token, pair).angle(0);
            cos_[pair] = at.cos, sin_[pair] = at.sin;
        }
        __syncthreads();
        bool changes = false, is_invalid = false;
        for (std::int32_t pair = member(); pair < k_.pairs; pair += step()) {
            if (!is_finite(cos_[pair])) is_invalid = true;
            if (!is_finite(cos_[pair]) || cos_[pair] != 1.0f || sin_[pair] != 0.0f) changes = true;
        }
        is_invalid_ = __any_sync(whole_warp, is_invalid) != 0;
        changes = __any_sync(whole_warp, changes) != 0;
        // Quantised heads that do not change keep their bytes.
        if (Operand::has_head_format && !Operand::is_normalized && o_.is_in_place() && !changes) return;
        x_ = x - o_.first_lane, y_ = y - o_.first_lane;
        of_x_ = o_.x.place(row, token), of_y_ = o_.y.place(row, token);
        if constexpr (Operand::is_normalized) {
            if (o_.norm.is_over_all_heads) find_inverse_rms_of_token();
        }
        for (index_t head = first_head(); head < o_.shape().heads; head += head_step()) write(head);
    }

 private:
    __device__ static std::int32_t member() { return static_cast<std::int32_t>(threadIdx.x); }
    __device__ static constexpr std::int32_t step() { return kernel::team_size; }
    __device__ static index_t first_head() { return index_t{blockIdx.y} * blockDim.y + threadIdx.y; }
    __device__ static index_t head_step() { return index_t{blockDim.y} * gridDim.y; }
    // An element of x as one of y.
    template <class X>
    __device__ auto copied(const X& x) const {
        if constexpr (std::same_as<const X, const std::remove_cvref_t<decltype(*o_.y.data)>>) {
            if (k_.keeps_bits) return x;
        }
        return o_.y.format.store(o_.x.format.load(x));
    }
    __device__ float* lanes() const { return own_ + 4; }
    __device__ float* numbers() const { return lanes() + head_dim_; }
    template <class F>
    __device__ void for_each_lane(const F& f) const {
        for (std::int32_t lane = member(); lane < head_dim_; lane += step()) f(lane, lanes()[lane]);
        __syncwarp();
    }

    __device__ void write(index_t head) {
        load(head);
        if constexpr (Operand::is_normalized) {
            if (o_.norm.is_after_rotation) rotate(), round_between();
            if (!o_.norm.is_over_all_heads) inverse_rms_ = o_.norm.inverse_rms(sum_of_squares(), head_dim_);
            for_each_lane([&](std::int32_t lane, float& z) {
                z *= inverse_rms_ * o_.norm.template factor<float>(head, lane, head_dim_);
            });
            if (!o_.norm.is_after_rotation) round_between(), rotate();
        } else {
            rotate();
        }
        store(head);
    }

    __device__ void load(index_t head) const {
        using units = device_format<std::remove_cvref_t<decltype(o_.x.format)>>;
        constexpr int size = units::lanes_of_unit;
        for (std::int32_t unit = member(); unit < head_dim_ / size; unit += step()) {
            float z[size];
            units::load(stored_format(o_.x.format),
                        x_ + head * o_.x.head_stride + group_shift(o_.x.format, unit * size),
                        {of_x_.row, of_x_.token, head}, unit, z);
            for (int i = 0; i < size; ++i) lanes()[lane_of<units>(unit, i)] = z[i];
        }
        __syncwarp();
        transform(hadamard_size(o_.x.format));
    }
    __device__ void rotate() const {
        for (std::int32_t pair = member(); pair < k_.pairs; pair += step()) {
            float& a = lanes()[o_.first_lane + k_.pairing.first(pair, k_.pairs)];
            float& b = lanes()[o_.first_lane + k_.pairing.second(pair, k_.pairs)];
            const lane_pair<float> z = rotated(cos_sin<float>{cos_[pair], sin_[pair]}, lane_pair<float>{a, b});
            a = z.first, b = z.second;
        }
        __syncwarp();
    }
    // Rounds to the type of x, if the norm says so.
    __device__ void round_between() const {
        if constexpr (format_of<std::remove_cvref_t<decltype(o_.x.format)>, std::remove_cvref_t<decltype(*x_)>>) {
            if (!o_.norm.is_rounded_between) return;
            for_each_lane([&](std::int32_t, float& z) { z = o_.x.format.load(o_.x.format.store(z)); });
        }
    }
    __device__ float sum_of_squares() const {
        float sum = 0.0f;
        for_each_lane([&](std::int32_t, float& z) { sum = lane_traits<float>::fused(z, z, sum); });
        return sum_of_warp(sum);
    }
    __device__ void find_inverse_rms_of_token() {
        float sum = 0.0f;
        for (index_t head = first_head(); head < o_.shape().heads; head += head_step()) {
            load(head);
            if (o_.norm.is_after_rotation) rotate(), round_between();
            sum += sum_of_squares();
        }
        if (member() == 0) own_[0] = sum;
        __syncthreads();
        float all = 0.0f;
        for (std::uint32_t warp = 0; warp < blockDim.y; ++warp) all += sin_[k_.pairs + warp * k_.floats_of_warp()];
        inverse_rms_ = o_.norm.inverse_rms(all, o_.shape().heads * head_dim_);
    }

    // Multiplies groups of `size` lanes by a Hadamard matrix (tensors/hadamard.hpp); 0: none.
    __device__ void transform(index_t size) const {
        if (size == 0) return;
        for (std::int32_t half = 1; half < size; half *= 2) {
            for (std::int32_t i = member(); i < head_dim_ / 2; i += step()) {
                float* const at = lanes() + (i / half * 2 * half + i % half);
                const float a = at[0], b = at[half];
                at[0] = a + b, at[half] = a - b;
            }
            __syncwarp();
        }
        const float scale = __fdiv_rn(1.0f, __fsqrt_rn(static_cast<float>(size)));
        for_each_lane([&](std::int32_t, float& z) { z = __fmul_rn(z, scale); });
    }
    // The first lane of largest magnitude, with its sign, of `count` lanes from `first` on. NaNs are skipped, unless
    // the format keeps them.
    __device__ float largest_lane(std::int32_t first, std::int32_t count) const {
        using format = std::remove_cvref_t<decltype(stored_format(o_.y.format))>;
        const auto is_larger = [](float a, float b) {
            if constexpr (requires { requires format::keeps_nan; }) {
                return lane_traits<float>::bits(fabsf(a)) > lane_traits<float>::bits(fabsf(b));
            }
            return fabsf(a) > fabsf(b);
        };
        float largest = 0.0f;
        std::int32_t at = count;
        for (std::int32_t i = member(); i < count; i += step()) {
            const float z = lanes()[first + i];
            if (is_larger(z, largest)) largest = z, at = i;
        }
        for (int distance = 1; distance < kernel::team_size; distance *= 2) {
            const float other = __shfl_xor_sync(whole_warp, largest, distance);
            const std::int32_t other_at = __shfl_xor_sync(whole_warp, at, distance);
            const bool is_first = fabsf(other) == fabsf(largest) && other_at < at;
            if (is_larger(other, largest) || is_first) largest = other, at = other_at;
        }
        return is_invalid_ && k_.pairs > 0 ? lane_traits<float>::from_bits(0x7fff'ffffu) : largest;
    }

    __device__ void store(index_t head) const {
        using units = device_format<std::remove_cvref_t<decltype(o_.y.format)>>;
        auto* const y = y_ + head * o_.y.head_stride;
        transform(hadamard_size(o_.y.format));
        const auto lanes_of_scale = static_cast<std::int32_t>(head_dim_ / k_.scales);
        for (std::int32_t group = 0; group < k_.scales; ++group) {
            const float largest = largest_lane(group * lanes_of_scale, lanes_of_scale);
            if (member() != 0) continue;
            numbers()[group] = units::write_scale(stored_format(o_.y.format), largest,
                                                  y + group_shift(o_.y.format, group * lanes_of_scale),
                                                  {of_y_.row, of_y_.token, head}, group);
        }
        __syncwarp();
        constexpr int size = units::lanes_of_unit;
        for (std::int32_t unit = member(); unit < head_dim_ / size; unit += step()) {
            float z[size];
            for (int i = 0; i < size; ++i) z[i] = lanes()[lane_of<units>(unit, i)];
            units::store(stored_format(o_.y.format), z, numbers()[lane_of<units>(unit, 0) / lanes_of_scale],
                         y + group_shift(o_.y.format, unit * size), unit);
        }
        __syncwarp();
    }

    const kernel& k_;
    const Operand& o_;
    index_t head_dim_;
    float *cos_, *sin_, *own_;  // of the token, and of the warp
    decltype(o_.x.data) x_ = nullptr;
    decltype(o_.y.data) y_ = nullptr;
    head_place of_x_{}, of_y_{};
    float inverse_rms_ = 0.0f;
    bool is_invalid_ = false;
};

template <class Operand, class Source>
__device__ void run(const general_kernel<Operand, Source>& k) {
    general_work<Operand, Source> work(k);
    for (index_t number = blockIdx.x; number < k.rows * k.tokens; number += gridDim.x) {
        const quotient_and_rest place = divided(number, k.tokens);
        if constexpr (Operand::is_plain) {
            work.rotate_elements(place.quotient, place.rest);
        } else {
            work.rotate_staged(place.quotient, place.rest);
        }
    }
}

}  // namespace cordage::backend
