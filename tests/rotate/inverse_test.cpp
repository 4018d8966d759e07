// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/forward.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

const heads_shape shape{1, 5, 2, 80};
const std::vector<double> positions{0.0, -3.5, 4095.0, 131071.25, 1e6};

// 35 pairs, the last of which are a partial vector.
template <class T>
void check_directions() {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const double m = 1.3465735902799727;
        const basis b(frequencies(70), m);
        const exact_angles angles(b, positions);
        const naive_rotation naive(shape, frequencies(70), m, positions, is_interleaved<Pairing>);
        const auto x = random_elements<T>(shape, 20);
        const auto from = token_major(x.data(), shape);
        std::vector<T> back(x.size()), undone(x.size());
        rotate_backward<Pairing, Backend>(angles, from_to(from, token_major(back.data(), shape)));
        rotate_inverse<Pairing, Backend>(angles, from_to(from, token_major(undone.data(), shape)));
        naive.check(values(x), back, naive.rotated_back(values(x)));
        naive.check(values(x), undone, naive.undone(values(x)));

        std::vector<T> y = x;
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(y.data(), shape)));
        rotate_inverse<Pairing, Backend>(angles, in_place(token_major(y.data(), shape)));
        const double there_and_back = std::same_as<T, double> ? 1e-14 : std::same_as<T, float> ? 2e-6 : 0.05;
        for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(std::fabs(value(y[i]) - value(x[i])) < there_and_back);
    });
}

}  // namespace

TEST_CASE("rotate/inverse: the transpose and the inverse, double") { check_directions<double>(); }
TEST_CASE("rotate/inverse: the transpose and the inverse, float") { check_directions<float>(); }
TEST_CASE("rotate/inverse: the transpose and the inverse, 16 bits") {
    check_directions<float16>();
    check_directions<bfloat16>();
}

TEST_CASE("rotate/inverse: a rotation keeps the norm of every pair, times the attention factor") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const basis b(frequencies(80), -0.5);
        const auto x = random_elements<double>(shape, 21);
        std::vector<double> y = x;
        rotate_forward<Pairing, Backend>(exact_angles(b, positions), in_place(token_major(y.data(), shape)));
        const naive_rotation naive(shape, frequencies(80), -0.5, positions, is_interleaved<Pairing>);
        naive.for_each_pair([&](std::size_t i0, std::size_t i1, std::size_t, std::size_t) {
            REQUIRE(std::fabs(std::hypot(y[i0], y[i1]) / (0.5 * std::hypot(x[i0], x[i1])) - 1.0) < 1e-14);
        });
    });
}

// The reason for RoPE: (R_m q) . (R_n k) depends on m - n only.
TEST_CASE("rotate/inverse: scores of q and k depend on the distance of their positions only, however far") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const basis b(frequencies(64));
        const heads_shape one{1, 1, 1, 64};
        const auto q = random_elements<double>(one, 22), k = random_elements<double>(one, 23);
        const auto score = [&](double m, double n) {
            std::vector<double> q_rotated = q, k_rotated = k;
            const std::vector<double> at_m{m}, at_n{n};
            rotate_forward<Pairing, Backend>(exact_angles(b, at_m), in_place(token_major(q_rotated.data(), one)));
            rotate_forward<Pairing, Backend>(exact_angles(b, at_n), in_place(token_major(k_rotated.data(), one)));
            double sum = 0.0;
            for (std::size_t i = 0; i < q.size(); ++i) sum += q_rotated[i] * k_rotated[i];
            return sum;
        };
        for (const double distance : {0.0, 1.0, 100.5}) {
            const double near = score(distance, 0.0);
            for (const double shift : {-1000.0, 4096.0, 1e6}) {
                // 128 terms of magnitude 4, rotated by angles with errors of at most 2e-19 * 1e6.
                REQUIRE(std::fabs(score(distance + shift, shift) - near) < 1e-12 + 512.0 * 2e-19 * 1e6);
            }
        }
    });
}

TEST_CASE("rotate/inverse: Theorem 1 of CLEX, positions times T rotate as frequencies times T") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        for (const double T : {0.25, 3.0, 7.5}) {
            std::vector<double> faster = frequencies(80), further = positions;
            for (double& theta : faster) theta *= T;
            for (double& position : further) position *= T;
            const auto x = random_elements<double>(shape, 24);
            std::vector<double> by_frequency = x, by_position = x;
            const basis scaled(faster), plain(frequencies(80));
            rotate_forward<Pairing, Backend>(exact_angles(scaled, positions),
                                             in_place(token_major(by_frequency.data(), shape)));
            rotate_forward<Pairing, Backend>(exact_angles(plain, further),
                                             in_place(token_major(by_position.data(), shape)));
            // Rounding theta * T moves the angle by up to 1e6 * T * 2^-53.
            for (std::size_t i = 0; i < x.size(); ++i) {
                REQUIRE(std::fabs(by_frequency[i] - by_position[i]) < 4.0 * (1e-15 + 1e6 * T * 0x1p-53));
            }
        }
    });
}
