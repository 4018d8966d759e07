// SPDX-License-Identifier: MIT
// The code of general_backward_kernel: grad_x and all other gradients of any operand; serves stage rotation.
#pragma once

#include "cordage/backend/cuda/angles.cuh"
#include "cordage/backend/cuda/general_backward.hpp"
#include "cordage/backend/cuda/gradient_sums.cuh"
#include "cordage/backend/cuda/team.cuh"

namespace cordage::backend {

/// A block's chunk, as one thread sees it.
template <class Operand, class Source>
class general_backward {
 public:
    using kernel_type = general_backward_kernel<Operand, Source>;
    static constexpr bool is_normalized = Operand::is_normalized;

    __device__ general_backward(const kernel_type& k, double* shared)
        : k_(k), o_(k.of), weights_(shared), row_(index_t{blockIdx.x} * k.to.row_size) {
        weights_size_ = k.to.weight_sums == nullptr || is_over_all_heads() ? 0 : k.head_dim;
        scratch_ = shared + warps_ * weights_size_;
        cos_ = reinterpret_cast<float*>(scratch_ + 2 * warps_);
        sin_ = cos_ + k.pairs_at_once;
        grad_angles_ = sin_ + k.pairs_at_once;
    }

    __device__ void run() {
        clear();
        first_pair_ = 0;
        do {
            count_ = min(k_.pairs - first_pair_, k_.pairs_at_once);
            const index_t end = k_.chunks.end(blockIdx.x);
#pragma unroll 1
            for (index_t number = k_.chunks.begin(blockIdx.x); number < end; ++number) backward_of_token(number);
            first_pair_ += k_.pairs_at_once;
        } while (first_pair_ < k_.pairs);
        finish();
    }

 private:
    __device__ std::int32_t thread() const { return warp_ * 32 + member_; }
    __device__ std::int32_t threads() const { return warps_ * 32; }
    // The sum over the block, in all threads.
    __device__ double over_block(double x, int which = 0) const {
        x = sum_of_warp(x);
        __syncthreads();
        if (member_ == 0) scratch_[which * warps_ + warp_] = x;
        __syncthreads();
        x = 0.0;
#pragma unroll 1
        for (std::int32_t i = 0; i < warps_; ++i) x += scratch_[which * warps_ + i];
        return x;
    }
    __device__ index_t weights() const {
        if constexpr (is_normalized) return o_.norm.rows(k_.heads) * k_.head_dim;
        return 0;
    }

    __device__ void clear() {
#pragma unroll 1
        for (index_t i = thread(); i < warps_ * weights_size_; i += threads()) weights_[i] = 0.0;
        if (k_.to.weight_sums != nullptr) {
#pragma unroll 1
            for (index_t i = thread(); i < weights(); i += threads()) k_.to.weight_sums[row_ + i] = 0.0;
        }
        if (k_.to.sums != nullptr) {
            const index_t sums = angle_detail::bases_of_token(k_.angles) * k_.angles.pairs();
#pragma unroll 1
            for (index_t i = thread(); i < sums; i += threads()) k_.to.sums[row_ + i] = 0.0;
        }
        __syncthreads();
    }

    __device__ void backward_of_token(index_t number) {
        const quotient_and_rest at = divided(number, k_.tokens);
        const auto [g, y, x] = o_.lanes_of(at.quotient, at.rest);
        if (x == nullptr) return;
        if (k_.to.only_basis >= 0 && angle_detail::basis_of(k_.angles, at.quotient, at.rest) != k_.to.only_basis)
            return;
        g_ = g - k_.first_lane, y_ = y - k_.first_lane, x_ = x - k_.first_lane;
        __syncthreads();
#pragma unroll 1
        for (std::int32_t p = thread(); p < count_; p += threads()) {
            const auto of = angles_of<1>(k_.angles, direction_data{1, false}, at.quotient, at.rest, first_pair_ + p);
            cos_[p] = of.first[0], sin_[p] = of.second[0];
        }
#pragma unroll 1
        for (std::int32_t i = thread(); i < warps_ * k_.pairs_at_once; i += threads()) grad_angles_[i] = 0.0f;
        __syncthreads();
        dot_of_token_ = 0.0f;
        float squares = 0.0f, products = 0.0f;
        if (is_over_all_heads()) {
#pragma unroll 1
            for (std::int32_t head = warp_; head < k_.heads; head += warps_) add_head(head, squares, products);
            squares = static_cast<float>(over_block(squares, 0));
            products = static_cast<float>(over_block(products, 1));
        }
#pragma unroll 1
        for (std::int32_t head = warp_; head < k_.heads; head += warps_) {
            if (is_normalized && !is_over_all_heads()) {
                squares = products = 0.0f;
                add_head(head, squares, products);
                squares = sum_of_warp(squares), products = sum_of_warp(products);
            }
            make_gradients(head, squares, products);
        }
        dot_ += static_cast<double>(dot_of_token_);
        if (k_.pairs == 0) return;
        __syncthreads();
        add_of_token(number, at.quotient, at.rest);
    }

    __device__ bool is_over_all_heads() const {
        if constexpr (is_normalized) return o_.norm.is_over_all_heads;
        return false;
    }
    __device__ bool is_before_rotation() const {
        if constexpr (is_normalized) return !o_.norm.is_after_rotation;
        return false;
    }
    __device__ float factor(std::int32_t head, std::int32_t lane) const {
        if constexpr (is_normalized) return o_.norm.template factor<float>(head, lane, k_.head_dim);
        return 1.0f;
    }
    __device__ cos_sin<float> angle(std::int32_t pair) const { return {cos_[pair], sin_[pair]}; }
    // Calls f(pair, lane, lane) for the thread's pairs, and f(lane) for its lanes that are not rotated.
    template <class F>
    __device__ void for_each_pair(const F& f) const {
#pragma unroll 1
        for (std::int32_t p = member_; p < count_; p += 32) {
            const index_t pair = first_pair_ + p;
            f(p, k_.first_lane + static_cast<std::int32_t>(k_.pairing.first(pair, k_.pairs)),
              k_.first_lane + static_cast<std::int32_t>(k_.pairing.second(pair, k_.pairs)));
        }
    }
    template <class F>
    __device__ void for_each_other(const F& f) const {
#pragma unroll 1
        for (std::int32_t i = member_; i < k_.head_dim - 2 * k_.pairs; i += 32)
            f(i < k_.first_lane ? i : i + 2 * k_.pairs);
    }

    // y of the forward pass, or its x where there is a norm, and grad_y; grad_x.
    __device__ float read_y(std::int32_t head, std::int32_t lane) const {
        return o_.y.format.load(y_[head * o_.y.head_stride + lane]);
    }
    __device__ float read_g(std::int32_t head, std::int32_t lane) const {
        return o_.grad_y.format.load(g_[head * o_.grad_y.head_stride + lane]);
    }
    __device__ void write(std::int32_t head, std::int32_t lane, float number) const {
        x_[head * o_.grad_x.head_stride + lane] = o_.grad_x.format.store(number);
    }
    // z: the norm's input, t: the gradient of its output; without a norm y and grad_y.
    struct lanes_of_pair {
        lane_pair<float> z, t;
    };
    __device__ lanes_of_pair read(std::int32_t head, std::int32_t p, std::int32_t lane0, std::int32_t lane1) const {
        lanes_of_pair of{{read_y(head, lane0), read_y(head, lane1)}, {read_g(head, lane0), read_g(head, lane1)}};
        if (is_before_rotation()) {
            of.t = rotated(transposed(angle(p)), of.t);
        } else if (is_normalized) {
            of.z = rotated(angle(p), of.z);
        }
        return of;
    }

    __device__ void add_head(std::int32_t head, float& squares, float& products) const {
        const auto add = [&](float z, float t, std::int32_t lane) {
            squares += z * z;
            products += t * factor(head, lane) * z;
        };
        for_each_pair([&](std::int32_t p, std::int32_t lane0, std::int32_t lane1) {
            const auto [z, t] = read(head, p, lane0, lane1);
            add(z.first, t.first, lane0), add(z.second, t.second, lane1);
        });
        for_each_other([&](std::int32_t lane) { add(read_y(head, lane), read_g(head, lane), lane); });
    }
    __device__ void make_gradients(std::int32_t head, float squares, float products) {
        rms_norm_gradient<float> gradient{1.0f, 0.0f};
        if constexpr (is_normalized) {
            const index_t count = weights();
            gradient = {o_.norm.inverse_rms(squares, count), products / static_cast<float>(count)};
        }
        double* const of_weights = k_.to.weight_sums == nullptr ? nullptr
                                   : weights_size_ > 0          ? weights_ + warp_ * weights_size_
                                                       : k_.to.weight_sums + row_ + index_t{head} * k_.head_dim;
        const auto grad_z = [&](float z, float t, std::int32_t lane) {
            if (!is_normalized) return t;
            if (of_weights != nullptr) of_weights[lane] += static_cast<double>(t * (z * gradient.r));
            return gradient(z, t, factor(head, lane));
        };
        for_each_pair([&](std::int32_t p, std::int32_t lane0, std::int32_t lane1) {
            const auto [z, t] = read(head, p, lane0, lane1);
            lane_pair<float> x{grad_z(z.first, t.first, lane0), grad_z(z.second, t.second, lane1)};
            lane_pair<float> g = x, n = z;  // the gradient of the rotation's output, and that output
            if (is_before_rotation()) {
                g = t;
                n = {z.first * gradient.r * factor(head, lane0), z.second * gradient.r * factor(head, lane1)};
            } else {
                x = rotated(transposed(angle(p)), x);
            }
            float& sum = grad_angles_[warp_ * k_.pairs_at_once + p];
            sum = plus_grad_angle(sum, g, n);
            dot_of_token_ = plus_grad_factor(dot_of_token_, g, n);
            write(head, lane0, x.first);
            write(head, lane1, x.second);
        });
        if constexpr (is_normalized) {
            for_each_other(
                [&](std::int32_t lane) { write(head, lane, grad_z(read_y(head, lane), read_g(head, lane), lane)); });
        } else if (first_pair_ == 0) {
            const auto* const from = g_ + head * o_.grad_y.head_stride;
            auto* const to = x_ + head * o_.grad_x.head_stride;
            if (from != to) for_each_other([&](std::int32_t lane) { to[lane] = from[lane]; });
        }
    }

    // dL/dangle of a pair, summed over the warps.
    __device__ double grad_angle(std::int32_t pair) const {
        double sum = 0.0;
#pragma unroll 1
        for (std::int32_t i = 0; i < warps_; ++i) sum += static_cast<double>(grad_angles_[i * k_.pairs_at_once + pair]);
        return sum;
    }
    __device__ void add_of_token(index_t number, index_t row, index_t token) const {
        const auto for_each_pair = [&](const auto& f) {
#pragma unroll 1
            for (std::int32_t p = thread(); p < count_; p += threads()) f(first_pair_ + p, grad_angle(p));
        };
        if (k_.to.angle != nullptr) {
            for_each_pair([&](std::int32_t pair, double sum) { k_.to.angle[number * k_.pairs + pair] += sum; });
        }
        if constexpr (differentiable_angle_source<Source>) {
            using namespace angle_detail;
            const auto together = static_cast<std::int32_t>(bases_of_token(k_.angles));
#pragma unroll 1
            for (std::int32_t b = 0; k_.to.sums != nullptr && b < together; ++b) {
                for_each_pair([&](std::int32_t pair, double sum) {
                    const index_t axis = sums_axes<Source> ? b : axis_of(k_.angles, pair);
                    k_.to.sums[row_ + b * k_.pairs + pair] += k_.angles.position(row, token, axis) * sum;
                });
            }
#pragma unroll 1
            for (std::int32_t axis = 0; k_.to.position != nullptr && axis < axes_of(k_.angles); ++axis) {
                const double* const rates =
                    k_.angles.inv_freq(basis_of(k_.angles, row, token) + (sums_axes<Source> ? axis : 0));
                double all = 0.0;
                for_each_pair([&](std::int32_t pair, double sum) {
                    if (sums_axes<Source> || axis_of(k_.angles, pair) == axis) all += rates[pair] * sum;
                });
                all = over_block(all);
                if (thread() == 0) k_.to.position[axis * k_.to.axis_stride + number] += all;
            }
        }
    }

    __device__ void finish() const {
        __syncthreads();
#pragma unroll 1
        for (std::int32_t lane = thread(); lane < weights_size_; lane += threads()) {
            double sum = 0.0;
#pragma unroll 1
            for (std::int32_t i = 0; i < warps_; ++i) sum += weights_[i * weights_size_ + lane];
            k_.to.weight_sums[row_ + lane] = sum;
        }
        if (k_.to.sums == nullptr) return;
        const double dot = over_block(dot_);
        if (thread() == 0) k_.to.sums[row_ + angle_detail::bases_of_token(k_.angles) * k_.angles.pairs()] = dot;
    }

    const kernel_type& k_;
    const Operand& o_;
    const std::int32_t member_ = static_cast<std::int32_t>(threadIdx.x), warp_ = static_cast<std::int32_t>(threadIdx.y),
                       warps_ = static_cast<std::int32_t>(blockDim.y);
    double *weights_, *scratch_;
    float *cos_, *sin_, *grad_angles_;
    const std::remove_pointer_t<decltype(Operand::grad_x.data)>*g_, *y_;  // of the token, lane 0 of head 0
    decltype(Operand::grad_x.data) x_;
    index_t row_;
    std::int32_t weights_size_ = 0;  // of a warp
    std::int32_t first_pair_, count_;
    float dot_of_token_;
    double dot_ = 0.0;
};

template <class Operand, class Source>
__device__ void run(const general_backward_kernel<Operand, Source>& k) {
    extern __shared__ double general_backward_memory[];
    general_backward<Operand, Source>(k, general_backward_memory).run();
}

}  // namespace cordage::backend
