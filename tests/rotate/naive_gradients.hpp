// SPDX-License-Identifier: MIT
// The gradients to frequencies, positions and factor implemented plainly in long double: the reference for every
// backend.
#pragma once

#include <vector>

#include "cordage/rotate/backward.hpp"
#include "rotate/naive_rotation.hpp"

namespace cordage_test {

/// The gradients to frequencies, positions and factor, and the sums of magnitudes to which their roundings are
/// relative.
struct naive_gradients {
    std::vector<long double> inv_freq, position, inv_freq_size, position_size;
    long double factor = 0, factor_size = 0;

    naive_gradients(std::size_t pairs, std::size_t tokens)
        : inv_freq(pairs), position(tokens), inv_freq_size(pairs), position_size(tokens) {}

    void add(const naive_rotation& r, const std::vector<double>& grad_y, const std::vector<double>& y) {
        r.for_each_pair([&](std::size_t i0, std::size_t i1, std::size_t token, std::size_t pair) {
            const long double g0 = grad_y[i0], g1 = grad_y[i1], p = r.positions[token].rounded, theta = r.theta[pair];
            const long double grad_angle = g1 * y[i0] - g0 * y[i1],
                              size = std::fabs(g1 * y[i0]) + std::fabs(g0 * y[i1]);
            inv_freq[pair] += p * grad_angle;
            inv_freq_size[pair] += std::fabs(p) * size;
            position[token] += theta * grad_angle;
            position_size[token] += std::fabs(theta) * size;
            factor += (g0 * y[i0] + g1 * y[i1]) / r.attention_factor;
            factor_size += (std::fabs(g0 * y[i0]) + std::fabs(g1 * y[i1])) / std::fabs(r.attention_factor);
        });
    }
};

/// Grad_x and all gradients of one type by every kernel. More pairs than a block of cos and sin holds; the last ones
/// are a partial vector.
template <class T>
void check_gradients() {
    using namespace cordage;
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape q_shape{2, 20, 3, 146}, k_shape{2, 20, 1, 142};
        const double m = 1.25;
        std::vector<double> positions(40);
        for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = 0.5 + 41.0 * static_cast<double>(i);
        const std::vector<double> theta = frequencies(142);
        const basis b(theta, m);
        const exact_angles angles(b, position_view<double>(positions.data(), 2, 20, 20));
        const naive_rotation q(q_shape, theta, m, positions, is_interleaved<Pairing>);
        const naive_rotation k(k_shape, theta, m, positions, is_interleaved<Pairing>);
        const auto q_y = random_elements<T>(q_shape, 30), q_g = random_elements<T>(q_shape, 31);
        const auto k_y = random_elements<T>(k_shape, 32), k_g = random_elements<T>(k_shape, 33);
        std::vector<T> q_x(q_y.size()), k_x(k_y.size());

        std::vector<double> to_inv_freq(71, 7.0), to_position(40, -3.0);  // gradients are added to these
        double to_factor = 100.0;
        rotate_backward<Pairing, Backend>(
            angles,
            rotation_gradients{
                .inv_freq = to_inv_freq, .position_ids = to_position, .attention_factor = {&to_factor, 1}},
            grad_through(token_major(q_g.data(), q_shape), token_major(q_y.data(), q_shape),
                         token_major(q_x.data(), q_shape)),
            grad_through(token_major(k_g.data(), k_shape), token_major(k_y.data(), k_shape),
                         token_major(k_x.data(), k_shape)));

        q.check(values(q_g), q_x, q.rotated_back(values(q_g)));
        k.check(values(k_g), k_x, k.rotated_back(values(k_g)));
        naive_gradients naive(71, 40);
        naive.add(q, values(q_g), values(q_y));
        naive.add(k, values(k_g), values(k_y));
        const auto is_close = [](double found, long double expected, long double size) {
            return std::fabs(static_cast<double>(found - expected)) <= gradient_sum<T> * static_cast<double>(size);
        };
        for (std::size_t i = 0; i < 71; ++i) {
            REQUIRE(is_close(to_inv_freq[i] - 7.0, naive.inv_freq[i], naive.inv_freq_size[i]));
        }
        for (std::size_t i = 0; i < 40; ++i) {
            REQUIRE(is_close(to_position[i] + 3.0, naive.position[i], naive.position_size[i] + 1.0L));
        }
        REQUIRE(is_close(to_factor - 100.0, naive.factor, naive.factor_size));
    });
}

}  // namespace cordage_test
