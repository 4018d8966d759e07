// SPDX-License-Identifier: MIT
// The code of general_backward_kernel: grad_x and all other gradients of any operand; serves stage rotation.
#pragma once

#include "cordage/backend/cuda/angles.cuh"
#include "cordage/backend/cuda/general_backward.hpp"
#include "cordage/backend/cuda/gradient_sums.cuh"
#include "cordage/backend/cuda/team.cuh"

namespace cordage::backend {

/// A block's chunk, as one thread sees it. Names as in scalar/normalized_backward.hpp.
template <class Operand, pairing Pairing, class Source>
class general_backward {
 public:
    using kernel_type = general_backward_kernel<Operand, Pairing, Source>;

    __device__ general_backward(const kernel_type& k, double* shared)
        : k_(k), o_(k.of), weights_(shared), row_(index_t{blockIdx.x} * k.row_size) {
        if constexpr (Operand::is_normalized)
            weights_size_ = k.weight_sums == nullptr || o_.norm.is_over_all_heads ? 0 : k.head_dim;
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
    __device__ std::int32_t thread() const { return warp_ * 32 + lane_; }
    __device__ std::int32_t threads() const { return warps_ * 32; }
    // The sum over the block, in all threads.
    __device__ double over_block(double x, int which = 0) const {
        x = sum_of_warp(x);
        __syncthreads();
        if (lane_ == 0) scratch_[which * warps_ + warp_] = x;
        __syncthreads();
        x = 0.0;
#pragma unroll 1
        for (std::int32_t i = 0; i < warps_; ++i) x += scratch_[which * warps_ + i];
        return x;
    }
    __device__ index_t weights() const {
        if constexpr (Operand::is_normalized) return o_.norm.rows(k_.heads) * k_.head_dim;
        return 0;
    }

    __device__ void clear() {
#pragma unroll 1
        for (index_t i = thread(); i < warps_ * weights_size_; i += threads()) weights_[i] = 0.0;
        if (k_.weight_sums != nullptr) {
#pragma unroll 1
            for (index_t i = thread(); i < weights(); i += threads()) k_.weight_sums[row_ + i] = 0.0;
        }
        if (k_.sums != nullptr) {
            const index_t sums = angle_detail::bases_of_token(k_.angles) * k_.angles.pairs();
#pragma unroll 1
            for (index_t i = thread(); i < sums; i += threads()) k_.sums[row_ + i] = 0.0;
        }
        __syncthreads();
    }

    __device__ void backward_of_token(index_t number) {
        const quotient_and_rest at = divided(number, k_.tokens);
        const auto lanes = o_.lanes_of(at.quotient, at.rest);
        if (lanes.grad_x == nullptr) return;
        if (k_.only_basis >= 0 && angle_detail::basis_of(k_.angles, at.quotient, at.rest) != k_.only_basis) return;
        __syncthreads();
#pragma unroll 1
        for (std::int32_t p = thread(); p < count_; p += threads()) {
            const auto of = angles_of<1>(k_.angles, direction_numbers{}, at.quotient, at.rest, first_pair_ + p);
            cos_[p] = of.first[0], sin_[p] = of.second[0];
        }
#pragma unroll 1
        for (std::int32_t i = thread(); i < warps_ * k_.pairs_at_once; i += threads()) grad_angles_[i] = 0.0f;
        __syncthreads();
        float dot = 0.0f;
        if constexpr (Operand::is_normalized) {
            float squares = 0.0f, products = 0.0f;
            const bool is_over_all = o_.norm.is_over_all_heads;
            if (is_over_all) {
#pragma unroll 1
                for (std::int32_t head = warp_; head < k_.heads; head += warps_)
                    add_head(lanes, head, squares, products);
                squares = static_cast<float>(over_block(squares, 0)),
                products = static_cast<float>(over_block(products, 1));
            }
#pragma unroll 1
            for (std::int32_t head = warp_; head < k_.heads; head += warps_) {
                if (!is_over_all) {
                    squares = products = 0.0f;
                    add_head(lanes, head, squares, products);
                    squares = sum_of_warp(squares), products = sum_of_warp(products);
                }
                make_gradients(lanes, head, squares, products, dot);
            }
        } else {
#pragma unroll 1
            for (std::int32_t head = warp_; head < k_.heads; head += warps_) make_gradients(lanes, head, dot);
        }
        dot_ += static_cast<double>(dot);
        if (k_.pairs == 0) return;
        __syncthreads();
        add_of_token(number, at.quotient, at.rest);
    }

    __device__ std::int32_t lane_of(std::int32_t pair, bool is_second) const {
        return k_.first_lane + static_cast<std::int32_t>(is_second ? Pairing::second(first_pair_ + pair, k_.pairs)
                                                                   : Pairing::first(first_pair_ + pair, k_.pairs));
    }
    __device__ cos_sin<float> angle(std::int32_t pair) const { return {cos_[pair], sin_[pair]}; }
    // Calls f(lane) for the thread's lanes that are not rotated.
    template <class F>
    __device__ void for_each_other(const F& f) const {
#pragma unroll 1
        for (std::int32_t i = lane_; i < k_.head_dim - 2 * k_.pairs; i += 32)
            f(i < k_.first_lane ? i : i + 2 * k_.pairs);
    }
    __device__ void add_angle(std::int32_t pair, const lane_pair<float>& g, const lane_pair<float>& y,
                              float& dot) const {
        float& sum = grad_angles_[warp_ * k_.pairs_at_once + pair];
        sum = plus_grad_angle(sum, g, y);
        dot = plus_grad_factor(dot, g, y);
    }

    // grad_x of one head without a norm.
    __device__ void make_gradients(const auto& lanes, std::int32_t head, float& dot) const {
        const auto* const g = lanes.grad_y - k_.first_lane + head * o_.grad_y.head_stride;
        const auto* const y = lanes.y - k_.first_lane + head * o_.y.head_stride;
        auto* const x = lanes.grad_x - k_.first_lane + head * o_.grad_x.head_stride;
#pragma unroll 1
        for (std::int32_t p = lane_; p < count_; p += 32) {
            const std::int32_t lane0 = lane_of(p, false), lane1 = lane_of(p, true);
            const lane_pair<float> of_g{o_.grad_y.format.load(g[lane0]), o_.grad_y.format.load(g[lane1])};
            add_angle(p, of_g, {o_.y.format.load(y[lane0]), o_.y.format.load(y[lane1])}, dot);
            const lane_pair<float> of_x = rotated(transposed(angle(p)), of_g);
            x[lane0] = o_.grad_x.format.store(of_x.first);
            x[lane1] = o_.grad_x.format.store(of_x.second);
        }
        if (g == x || first_pair_ > 0) return;
        for_each_other([&](std::int32_t lane) { x[lane] = g[lane]; });
    }

    struct both {
        float z, t;
    };
    struct head_lanes {
        const general_backward& block;
        const typename Operand::token_lanes& of;
        std::int32_t head;

        __device__ both read(std::int32_t lane) const {
            const Operand& o = block.o_;
            return {o.x.format.load(of.x[head * o.x.head_stride + lane - block.k_.first_lane]),
                    o.grad_y.format.load(of.grad_y[head * o.grad_y.head_stride + lane - block.k_.first_lane])};
        }
        __device__ void write(std::int32_t lane, float number) const {
            const Operand& o = block.o_;
            of.grad_x[head * o.grad_x.head_stride + lane - block.k_.first_lane] = o.grad_x.format.store(number);
        }
        __device__ float factor(std::int32_t lane) const {
            return block.o_.norm.template factor<float>(head, lane, block.k_.head_dim);
        }
        // Of the norm's input and the gradient of its output.
        __device__ lane_pair<both> pair(std::int32_t p, std::int32_t lane0, std::int32_t lane1) const {
            const both first = read(lane0), second = read(lane1);
            lane_pair<float> z{first.z, second.z}, t{first.t, second.t};
            if (block.o_.norm.is_after_rotation) {
                z = rotated(block.angle(p), z);
            } else {
                t = rotated(transposed(block.angle(p)), t);
            }
            return {{z.first, t.first}, {z.second, t.second}};
        }
    };

    __device__ void add_head(const auto& lanes, std::int32_t number, float& squares, float& products) const {
        const head_lanes head{*this, lanes, number};
        const auto add = [&](const both& at, std::int32_t lane) {
            squares += at.z * at.z;
            products += at.t * head.factor(lane) * at.z;
        };
#pragma unroll 1
        for (std::int32_t p = lane_; p < count_; p += 32) {
            const std::int32_t lane0 = lane_of(p, false), lane1 = lane_of(p, true);
            const auto at = head.pair(p, lane0, lane1);
            add(at.first, lane0), add(at.second, lane1);
        }
        for_each_other([&](std::int32_t lane) { add(head.read(lane), lane); });
    }
    __device__ void make_gradients(const auto& lanes, std::int32_t number, float squares, float products,
                                   float& dot) const {
        const head_lanes head{*this, lanes, number};
        const index_t count = weights();
        const rms_norm_gradient<float> gradient{o_.norm.inverse_rms(squares, count),
                                                products / static_cast<float>(count)};
        double* const of_weights = k_.weight_sums == nullptr ? nullptr
                                   : weights_size_ > 0       ? weights_ + warp_ * weights_size_
                                                             : k_.weight_sums + row_ + index_t{number} * k_.head_dim;
        const auto grad_z = [&](const both& at, std::int32_t lane) {
            if (of_weights != nullptr) of_weights[lane] += static_cast<double>(at.t * (at.z * gradient.r));
            return gradient(at.z, at.t, head.factor(lane));
        };
#pragma unroll 1
        for (std::int32_t p = lane_; p < count_; p += 32) {
            const std::int32_t lane0 = lane_of(p, false), lane1 = lane_of(p, true);
            const auto at = head.pair(p, lane0, lane1);
            lane_pair<float> x{grad_z(at.first, lane0), grad_z(at.second, lane1)};
            // The gradient of the rotation's output, and that output.
            lane_pair<float> g{at.first.t, at.second.t};
            lane_pair<float> n{at.first.z * gradient.r * head.factor(lane0),
                               at.second.z * gradient.r * head.factor(lane1)};
            if (o_.norm.is_after_rotation) {
                g = x;
                n = {at.first.z, at.second.z};
                x = rotated(transposed(angle(p)), x);
            }
            add_angle(p, g, n, dot);
            head.write(lane0, x.first);
            head.write(lane1, x.second);
        }
        for_each_other([&](std::int32_t lane) { head.write(lane, grad_z(head.read(lane), lane)); });
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
        if (k_.angle != nullptr) {
            for_each_pair([&](std::int32_t pair, double sum) { k_.angle[number * k_.pairs + pair] += sum; });
        }
        if constexpr (differentiable_angle_source<Source>) {
            using namespace angle_detail;
            const auto together = static_cast<std::int32_t>(bases_of_token(k_.angles));
#pragma unroll 1
            for (std::int32_t b = 0; k_.sums != nullptr && b < together; ++b) {
                for_each_pair([&](std::int32_t pair, double sum) {
                    const index_t axis = sums_axes<Source> ? b : axis_of(k_.angles, pair);
                    k_.sums[row_ + b * k_.pairs + pair] += k_.angles.position(row, token, axis) * sum;
                });
            }
#pragma unroll 1
            for (std::int32_t axis = 0; k_.position != nullptr && axis < axes_of(k_.angles); ++axis) {
                const double* const rates =
                    k_.angles.inv_freq(basis_of(k_.angles, row, token) + (sums_axes<Source> ? axis : 0));
                double all = 0.0;
                for_each_pair([&](std::int32_t pair, double sum) {
                    if (sums_axes<Source> || axis_of(k_.angles, pair) == axis) all += rates[pair] * sum;
                });
                all = over_block(all);
                if (thread() == 0) k_.position[axis * k_.axis_stride + number] += all;
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
            k_.weight_sums[row_ + lane] = sum;
        }
        if (k_.sums == nullptr) return;
        const double dot = over_block(dot_);
        if (thread() == 0) k_.sums[row_ + angle_detail::bases_of_token(k_.angles) * k_.angles.pairs()] = dot;
    }

    const kernel_type& k_;
    const Operand& o_;
    const std::int32_t lane_ = static_cast<std::int32_t>(threadIdx.x), warp_ = static_cast<std::int32_t>(threadIdx.y),
                       warps_ = static_cast<std::int32_t>(blockDim.y);
    double *weights_, *scratch_;
    float *cos_, *sin_, *grad_angles_;
    index_t row_;
    std::int32_t weights_size_ = 0;  // of a warp
    std::int32_t first_pair_, count_;
    double dot_ = 0.0;
};

template <class Operand, pairing Pairing, class Source>
__device__ void run(const general_backward_kernel<Operand, Pairing, Source>& k) {
    extern __shared__ double general_backward_memory[];
    general_backward<Operand, Pairing, Source>(k, general_backward_memory).run();
}

}  // namespace cordage::backend
