// SPDX-License-Identifier: MIT
// The code of team_backward_kernel: grad_x and all other gradients of heads in registers; serves stage rotation.
#pragma once

#include "cordage/backend/cuda/angles.cuh"
#include "cordage/backend/cuda/gradient_sums.cuh"
#include "cordage/backend/cuda/team.cuh"
#include "cordage/backend/cuda/team_backward.hpp"

namespace cordage::backend {

/// The sums of all threads of a block, in double.
template <int Slots>
struct thread_sums {
    static constexpr int threads = 256;
    double of[Slots][threads];

    __device__ double& mine(int slot) { return of[slot][thread()]; }
    __device__ static int thread() { return static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x); }
    /// Calls write(slot, sum) for each slot, by one warp, in its first `blockDim.x` threads: the sum over all threads
    /// with the same threadIdx.x. Call it after a barrier.
    template <class Write>
    __device__ void for_each(const Write& write) const {
        const int in_warp = thread() % 32;
#pragma unroll 1
        for (int slot = thread() / 32; slot < Slots; slot += threads / 32) {
            double sum = 0.0;
#pragma unroll
            for (int i = 0; i < threads; i += 32) sum += of[slot][i + in_warp];
            sum = over_teams(sum, 32);
            if (in_warp < static_cast<int>(blockDim.x)) write(slot, sum);
        }
    }
    /// The sum over `width` threads of a warp that have the same threadIdx.x.
    __device__ static double over_teams(double x, std::int32_t width) {
#pragma unroll 1
        for (auto distance = static_cast<std::int32_t>(blockDim.x); distance < width; distance *= 2) {
            x += __shfl_xor_sync(whole_warp, x, distance);
        }
        return x;
    }
    /// The sum over all threads, in the first one.
    __device__ double all(double x) {
        for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(whole_warp, x, distance);
        __syncthreads();
        if (thread() % 32 == 0) of[0][thread() / 32] = x;
        __syncthreads();
        x = 0.0;
        for (int i = 0; i < threads / 32; ++i) x += of[0][i];
        return x;
    }
};

/// A block's chunk, as one thread sees it.
template <class T, class Norm, pairing Pairing, class Angles>
class team_backward {
 public:
    using kernel_type = team_backward_kernel<T, Norm, Pairing, Angles>;
    static constexpr bool is_normalized = !std::same_as<Norm, no_norm>;
    static constexpr bool has_positions = requires(const Angles& a) { a.position(0, 0, 0); };
    static constexpr int N = kernel_type::pairs_of_thread, ahead = kernel_type::ahead;
    static constexpr int slots = is_normalized ? 3 * N : N;  // of pairs, then of the weights of their lanes
    using stored = stored_pairs<T, Pairing, N>;
    using runs = runs_of_pairs<Pairing, N>;
    using all_sums = thread_sums<slots>;

    __device__ team_backward(const kernel_type& k, const team_gradients<T, Norm>& o, all_sums& sums)
        : k_(k), o_(o), sums_(sums), held_(member_, o.first_lane, o.pairs, o.others) {
        first_head_ = static_cast<std::int32_t>(threadIdx.y) & (o.teams_of_token - 1);
        held_.from_first(lane_);
#pragma unroll 1
        for (int i = 0; i < slots; ++i) sums.mine(i) = 0.0;
        if constexpr (is_normalized) load_weights();
    }

    __device__ void run() {
        const std::int32_t chunk = static_cast<std::int32_t>(blockIdx.x) - o_.first_block;
        const std::int32_t basis = chunk / o_.chunks_of_basis,
                           begin = basis * o_.share + chunk % o_.chunks_of_basis * o_.length;
        const std::int32_t end = min(begin + o_.length, (basis + 1) * o_.share);
        place at = place_of(begin + static_cast<std::int32_t>(threadIdx.y) / o_.teams_of_token);
        begin_token(at.number, end);
#pragma unroll
        for (int i = 0; i < ahead; ++i) load_next(i, end);
#pragma unroll 1
        for (std::int32_t left = end - begin; left > 0; left -= o_.tokens_of_step) {
            token_sums sums{};
            bool is_mine = at.number < end;
            pair_values<N> angle;
#pragma unroll
            for (int i = 0; i < N; ++i) angle.first[i] = 1.0f, angle.second[i] = 0.0f;
            if (is_mine) {
                if (k_.to.only_basis >= 0)
                    is_mine = angle_detail::basis_of(k_.angles, at.row, at.token) == k_.to.only_basis;
                if (is_rotated()) {
                    angle = angles_of<N>(k_.angles, direction_data{1, false}, at.row, at.token, member_ * N);
                }
            }
            T* to = o_.grad_x.at(at.row, at.token, first_head_) + held_.lane[0];
            // As often in all threads, since sums by shuffles take whole warps.
#pragma unroll 1
            for (std::int32_t head = first_head_; head < o_.padded_heads;) {
#pragma unroll
                for (int i = 0; i < ahead; ++i) {
                    const bool is_there = is_mine && head < o_.heads && is_active();
                    if (!is_normalized && !is_rotated() && is_there) next_g_[i].store(to, lane_);
                    pair_values<N> g = next_g_[i].values(), y = next_y_[i].values();
                    load_next(i, end);
                    make_gradients(g, y, angle, is_there, to, sums);
                    head += o_.teams_of_token;
                    to += o_.grad_x_step;
                }
            }
            if (is_mine) add(at, sums);
            if (k_.to.position != nullptr || k_.to.angle != nullptr) add_of_token(at, is_mine, sums);
            at = place_of(at.number + o_.tokens_of_step);
        }
        write_row();
    }

 private:
    struct place {
        std::int32_t number, row, token;
    };
    /// Of a thread's heads of one token.
    struct token_sums {
        float angle[N];
        pair_values<N> weight;
        float dot;  // grad_y . y
    };

    __device__ bool is_rotated() const { return held_.is_of_pairs; }
    __device__ bool is_active() const { return held_.is_active; }
    __device__ place place_of(std::int32_t number) const {
        const auto tokens = static_cast<std::uint32_t>(k_.tokens), n = static_cast<std::uint32_t>(number);
        return {number, static_cast<std::int32_t>(n / tokens), static_cast<std::int32_t>(n % tokens)};
    }
    // Where heads are to be loaded from. Behind the last token and behind the last head of a token it is one that is
    // there, so that loads need no condition.
    __device__ void begin_token(std::int32_t number, std::int32_t end) {
        const place at = place_of(min(number, end - 1));
        next_number_ = number, next_head_ = first_head_;
        from_g_ = o_.grad_y.at(at.row, at.token, first_head_) + held_.lane[0];
        from_y_ = o_.y.at(at.row, at.token, first_head_) + held_.lane[0];
    }
    __device__ void load_next(int i, std::int32_t end) {
        next_g_[i] = stored::load(from_g_, lane_);
        next_y_[i] = stored::load(from_y_, lane_);
        next_head_ += o_.teams_of_token;
        if (next_head_ < o_.heads) {
            from_g_ += o_.grad_y_step;
            from_y_ += o_.y_step;
        }
        if (next_head_ >= o_.padded_heads) begin_token(next_number_ + o_.tokens_of_step, end);
    }
    // The factors of the thread's lanes, and those of dL/dangle: of the other lane of a pair, if the norm is first.
    __device__ void load_weights() {
        weights_ = runs::pairs_of([&](int r, float* to) { load_factors<runs::length>(o_.norm, held_.lane[r], to); });
        of_angle_ = weights_;
        if (o_.norm.is_after_rotation) return;
#pragma unroll
        for (int i = 0; i < N; ++i) of_angle_.set(i, {weights_.second[i], weights_.first[i]});
    }

    // grad_x of one head without a norm.
    __device__ void make_gradients(pair_values<N>& g, pair_values<N>& y, const pair_values<N>& angle, bool is_there,
                                   T* to, token_sums& sums) const
        requires(!is_normalized)
    {
        if (!is_there || !is_rotated()) return;
        pair_values<N> x;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x.set(i, rotated(transposed(angle.angle(i)), g.pair(i)));
            sums.angle[i] = plus_grad_angle(sums.angle[i], g.pair(i), y.pair(i));
            sums.dot = plus_grad_factor(sums.dot, g.pair(i), y.pair(i));
        }
        stored::packed(x).store(to, lane_);
    }
    // The same behind a norm or before it, as in scalar/normalized_backward.hpp: z is the norm's input, t the gradient
    // of its output.
    __device__ void make_gradients(pair_values<N>& t, pair_values<N>& z, const pair_values<N>& angle, bool is_there,
                                   T* to, token_sums& sums) const
        requires(is_normalized)
    {
        const bool is_after = o_.norm.is_after_rotation;
        if (is_after) {
            turn(angle, 1.0f, z);
        } else {
            turn(angle, -1.0f, t);
        }
        const pair_values<N>& w = weights_;
        float squares = 0.0f, products = 0.0f;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            squares = plus_grad_factor(squares, z.pair(i), z.pair(i));
            products = plus_grad_factor(products, {t.first[i] * w.first[i], t.second[i] * w.second[i]}, z.pair(i));
        }
        if (!is_active()) squares = products = 0.0f;
        const float own_squares = squares, own_products = products;
#pragma unroll
        for (std::int32_t distance = 1; distance < 32; distance *= 2) {
            const float more_squares = __shfl_xor_sync(whole_warp, squares, distance);
            const float more_products = __shfl_xor_sync(whole_warp, products, distance);
            if (distance < members_) squares += more_squares, products += more_products;
        }
        if (!is_there) return;
        const float r = rsqrtf(lane_traits<float>::fused(squares, o_.one_lane, o_.epsilon));
        const float mean = products * o_.one_lane * r * r, mean_r = mean * r;
        // Of the rotation's output and its gradient: z and grad_z = r (t w - z mean), or z r w and t.
        if (is_rotated()) sums.dot += r * (is_after ? own_products - own_squares * mean : own_products);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const lane_pair<float> tr{t.first[i] * r, t.second[i] * r}, zi = z.pair(i);
            sums.angle[i] =
                plus_grad_angle(sums.angle[i], {tr.first * of_angle_.first[i], tr.second * of_angle_.second[i]}, zi);
            sums.weight.first[i] += tr.first * zi.first;
            sums.weight.second[i] += tr.second * zi.second;
            t.set(i, {tr.first * w.first[i] - zi.first * mean_r, tr.second * w.second[i] - zi.second * mean_r});
        }
        if (is_after) turn(angle, -1.0f, t);
        stored::packed(t).store(to, lane_);
    }
    __device__ static void turn(const pair_values<N>& angle, float sign, pair_values<N>& x) {
#pragma unroll
        for (int i = 0; i < N; ++i)
            x.set(i, rotated(cos_sin<float>{angle.first[i], sign * angle.second[i]}, x.pair(i)));
    }

    __device__ void add(const place& at, const token_sums& sums) {
        dot_ += static_cast<double>(sums.dot);
        if constexpr (has_positions) {
            if (k_.to.sums != nullptr && is_rotated()) {
#pragma unroll
                for (int i = 0; i < N; ++i) {
                    const index_t axis = angle_detail::axis_of(k_.angles, member_ * N + i);
                    sums_.mine(i) += k_.angles.position(at.row, at.token, axis) * static_cast<double>(sums.angle[i]);
                }
            }
        }
        if constexpr (is_normalized) {
            if (!o_.has_weights) return;
#pragma unroll
            for (int i = 0; i < N; ++i) {
                sums_.mine(N + i) += static_cast<double>(sums.weight.first[i]);
                sums_.mine(2 * N + i) += static_cast<double>(sums.weight.second[i]);
            }
        }
    }
    // Adds dL/dangle and dL/dposition of a token, summed over its teams, which are in one warp.
    __device__ void add_of_token(const place& at, bool is_mine, const token_sums& sums) const {
        double angle[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            angle[i] = static_cast<double>(sums.angle[i]);
        }
#pragma unroll 1
        for (std::int32_t distance = members_; distance < members_ * o_.teams_of_token; distance *= 2) {
#pragma unroll
            for (int i = 0; i < N; ++i) angle[i] += __shfl_xor_sync(whole_warp, angle[i], distance);
        }
        const bool writes = is_mine && is_rotated() && first_head_ == 0;
        const std::int32_t pair = member_ * N;
        if (k_.to.angle != nullptr && writes) {
            double* const of_pairs = k_.to.angle + index_t{at.number} * k_.angle_pairs + pair;
#pragma unroll
            for (int i = 0; i < N; ++i) of_pairs[i] += angle[i];
        }
        if constexpr (has_positions) {
            if (k_.to.position == nullptr) return;
            const double* rates = k_.inv_freq + pair;
            if (is_mine) rates += angle_detail::basis_of(k_.angles, at.row, at.token) * k_.angle_pairs;
#pragma unroll 1
            for (std::int32_t axis = 0; axis < k_.axes; ++axis) {
                double sum = 0.0;
#pragma unroll
                for (int i = 0; i < N; ++i) {
                    if (writes && angle_detail::axis_of(k_.angles, pair + i) == axis) sum += rates[i] * angle[i];
                }
                for (std::int32_t distance = 1; distance < members_; distance *= 2) {
                    sum += __shfl_xor_sync(whole_warp, sum, distance);
                }
                if (writes && member_ == 0) k_.to.position[axis * k_.to.axis_stride + at.number] += sum;
            }
        }
    }

    __device__ void write_row() {
        if (k_.to.row_size == 0) return;
        __syncthreads();
        const index_t row = index_t{blockIdx.x} * k_.to.row_size;
        sums_.for_each([&](int slot, double sum) {
            if (slot < N) {
                if (k_.to.sums != nullptr && is_rotated()) k_.to.sums[row + member_ * N + slot] = sum;
            } else if (o_.has_weights && is_active()) {
                const int i = slot % N, second = slot / N - 1;
                const std::int32_t first_lane = held_.lane[0], second_lane = held_.lane[runs::count - 1];
                const std::int32_t lane =
                    runs::is_half_split ? (second == 0 ? first_lane : second_lane) + i : first_lane + 2 * i + second;
                k_.to.weight_sums[row + lane] = sum;
            }
        });
        if (k_.to.sums == nullptr) return;
        const double dot = sums_.all(dot_);
        if (all_sums::thread() == 0) k_.to.sums[row + k_.angle_pairs] = dot;
    }

    const kernel_type& k_;
    const team_gradients<T, Norm>& o_;
    all_sums& sums_;
    const std::int32_t member_ = static_cast<std::int32_t>(threadIdx.x),
                       members_ = static_cast<std::int32_t>(blockDim.x);
    const held_lanes<Pairing, N> held_;
    int lane_[runs::count];  // from the thread's first one
    std::int32_t first_head_;
    std::int32_t next_number_, next_head_;  // of the next head to load
    const T *from_g_, *from_y_;
    pair_values<is_normalized ? N : 1> weights_, of_angle_;
    stored next_g_[ahead], next_y_[ahead];
    double dot_ = 0.0;
};

template <class T, class Norm, pairing Pairing, class Angles>
__device__ void run(const team_backward_kernel<T, Norm, Pairing, Angles>& k) {
    using work = team_backward<T, Norm, Pairing, Angles>;
    __shared__ typename work::all_sums sums;
    int operand = 0;
    while (operand + 1 < static_cast<int>(most_operands) &&
           static_cast<std::int32_t>(blockIdx.x) >= k.operands[operand + 1].first_block) {
        ++operand;
    }
    work(k, k.operands[operand], sums).run();
}

}  // namespace cordage::backend
