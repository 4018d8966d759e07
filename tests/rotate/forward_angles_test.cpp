// SPDX-License-Identifier: MIT
#include "cordage/rotate/forward.hpp"

#include <limits>

#include "cordage/rotate/cos_sin_table.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// Six positions, as two rows of three and as one row for both.
template <class T, class Position>
void check_positions(const std::vector<Position>& positions) {
    for_each_kernel([&]<class Pairing, class Backend>(Pairing, Backend) {
        const double m = 1.138629436111989;
        const basis b(frequencies(32), m);
        const heads_shape shape{2, 3, 2, 40};
        const auto x = random_elements<T>(shape, 2);
        const position_view<Position> own(positions.data(), 2, 3, 3), shared(positions.data(), 1, 3, 0);
        for (const auto& view : {own, shared}) {
            std::vector<T> y(x.size());
            rotate_forward<Pairing, Backend>(exact_angles(b, view),
                                             from_to(token_major(x.data(), shape), token_major(y.data(), shape)));
            const std::vector<Position> used(positions.begin(), positions.begin() + 3 * view.batch);
            const naive_rotation naive(shape, frequencies(32), m, used, is_interleaved<Pairing>);
            naive.check(values(x), y, naive.rotated(values(x)));
        }
    });
}

}  // namespace

TEST_CASE("rotate/forward: positions of every type, far, negative and fractional, rows with their own") {
    const std::vector<std::int32_t> whole{0, -1, 131071, 1'000'000, std::numeric_limits<std::int32_t>::max(), -70'000};
    check_positions<double>(whole);
    check_positions<float>(whole);
    check_positions<float>(std::vector<std::int64_t>{5, 1'000'000, std::int64_t{1} << 31, -3, 4096, 0});
    const std::vector<double> real{0.5, -0.25, 100'000.125, 2147483646.5, 1.0 / 3.0, 4095.75};
    check_positions<double>(real);
    check_positions<float>(real);
    check_positions<float>(std::vector<float>{0.5f, -7.75f, 131071.0f, 16777215.0f, 0.1f, 12345.5f});
}

TEST_CASE("rotate/forward: frequencies of whole turns per position, negative ones and 0") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const std::vector<double> theta{7.5, -0.3, 0.0, 100.25, 1e-12, -6.5, 6.283185307179586, 1.0};
        const basis b(theta, -0.75);
        const std::vector<double> positions{0.5, 1000.25, -3.125};
        const heads_shape shape{1, 3, 2, 16};
        const auto x = random_elements<float>(shape, 3);
        std::vector<float> y = x;
        rotate_forward<Pairing, Backend>(exact_angles(b, positions), in_place(token_major(y.data(), shape)));
        const naive_rotation naive(shape, theta, -0.75, positions, is_interleaved<Pairing>);
        naive.check(values(x), y, naive.rotated(values(x)));
    });
}

TEST_CASE("rotate/forward: a table, of floats or of doubles, gives the result of its angles") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const basis b(frequencies(20), 1.25);
        const std::vector<std::int32_t> positions{3, 4, 5, 1000, 1001, 1'000'002};
        const exact_angles angles(b, position_view<std::int32_t>(positions.data(), 2, 3, 3));
        const heads_shape shape{2, 3, 4, 24};
        const auto x = random_elements<float>(shape, 4);
        std::vector<float> in_float = x, in_double = x;
        const cos_sin_table<float> floats(angles);
        const cos_sin_table<double> doubles(angles);
        rotate_forward<Pairing, Backend>(floats.view(), in_place(token_major(in_float.data(), shape)));
        rotate_forward<Pairing, Backend>(doubles.view(), in_place(token_major(in_double.data(), shape)));
        const naive_rotation naive(shape, frequencies(20), 1.25, positions, is_interleaved<Pairing>);
        naive.check(values(x), in_float, naive.rotated(values(x)));
        naive.check(values(x), in_double, naive.rotated(values(x)));
    });
}

TEST_CASE("rotate/forward: a table of the same backend gives the bits of no table") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const basis b(frequencies(38), 1.25);
        const std::vector<std::int32_t> positions{3, 1000, 1'000'002};
        const exact_angles angles(b, positions);
        const heads_shape shape{1, 3, 2, 40};
        const auto x = random_elements<bfloat16>(shape, 4);
        auto with_table = x, without = x;
        const cos_sin_table<float> table(angles, serial{}, Backend{});
        rotate_forward<Pairing, Backend>(table.view(), in_place(token_major(with_table.data(), shape)));
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(without.data(), shape)));
        CHECK(same_bits(with_table, without));
    });
}

// x = (1, 0) gives cos and sin of the rotation.
TEST_CASE("rotate/forward: cos and sin of every backend are right over the whole circle") {
    for_each_backend([]<class Backend>(Backend) {
        std::vector<double> circle;
        for (int i = -600; i <= 600; ++i) circle.push_back(i * (3.14159265358979 / 600.0) * 1.01);
        const auto pairs = static_cast<index_t>(circle.size());
        const basis b(circle);
        for (const std::int32_t position : {1, 7, 131071}) {
            std::vector<float> y(circle.size() * 2, 0.0f);
            std::fill_n(y.begin(), circle.size(), 1.0f);
            const std::vector<std::int32_t> one{position};
            rotate_forward<half_split, Backend>(exact_angles(b, one),
                                                in_place(token_major(y.data(), {1, 1, 1, 2 * pairs})));
            for (std::size_t i = 0; i < circle.size(); ++i) {
                const long double angle = exact_angle(position, circle[i]);
                REQUIRE(std::fabs(static_cast<double>(y[i] - std::cos(angle))) < cos_sin_float);
                REQUIRE(std::fabs(static_cast<double>(y[i + circle.size()] - std::sin(angle))) < cos_sin_float);
            }
        }
    });
}
