// SPDX-License-Identifier: MIT
// Norms in the pass of the rotation, and operands that are not rotated, against sums in double.
#include <doctest/doctest.h>

#include <vector>

#include "cordage/rotate/forward.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

const std::vector<std::int32_t> positions{3, 17, 70'000};

// A head processed step by step in double: normalize, rotate, or the other way round.
template <class Pairing, class T>
std::vector<double> expected_head(const std::vector<double>& x, const basis& b, index_t position, index_t first_lane,
                                  const rms_norm<T>& norm, double mean, index_t head, bool rotates) {
    const auto count = static_cast<index_t>(x.size());
    std::vector<double> y = x;
    const auto normalize = [&] {
        double squares = 0.0;
        for (const double v : y) squares += v * v;
        const double r = 1.0 / std::sqrt((mean > 0.0 ? mean : squares / static_cast<double>(count)) + norm.epsilon);
        for (index_t i = 0; i < count; ++i) {
            const index_t at = norm.is_over_all_heads ? head * count + i : i;
            const double w = norm.weight == nullptr ? 1.0 : value(norm.weight[at]) + (norm.adds_one ? 1.0 : 0.0);
            y[static_cast<std::size_t>(i)] *= r * w;
        }
    };
    const auto rotate = [&] {
        for (index_t pair = 0; rotates && pair < b.pairs(); ++pair) {
            const auto lane0 = static_cast<std::size_t>(first_lane + Pairing::first(pair, b.pairs()));
            const auto lane1 = static_cast<std::size_t>(first_lane + Pairing::second(pair, b.pairs()));
            const cos_sin<double> at = cos_sin_of_phase(b.phase(pair, position));
            const double m = b.attention_factor(), x0 = y[lane0], x1 = y[lane1];
            y[lane0] = m * (at.cos * x0 - at.sin * x1);
            y[lane1] = m * (at.sin * x0 + at.cos * x1);
        }
    };
    if (norm.is_after_rotation) rotate();
    normalize();
    if (!norm.is_after_rotation) rotate();
    return y;
}

struct head_case {
    index_t heads, head_dim, pairs, first_lane;
};
// Whole and partial vectors, heads of more than one row of angles, lanes around the rotated ones, many heads.
const head_case cases[] = {{3, 128, 64, 0}, {2, 86, 35, 5}, {2, 300, 130, 20}, {1, 10, 3, 2}, {150, 16, 8, 0}};

template <class Pairing, class Backend, class T, class W>
void check_norm(const head_case& c, rms_norm<W> norm, bool rotates) {
    const heads_shape shape{1, 3, c.heads, c.head_dim};
    const basis b(frequencies(2 * c.pairs), 1.25);
    const auto x = random_elements<T>(shape, 5);
    const auto weights = random_elements<W>({1, 1, c.heads, c.head_dim}, 6);
    if (norm.weight == nullptr) norm.weight = weights.data();
    std::vector<T> y(x.size()), in_its_place = x;
    const auto with = [&](auto operand) {
        const auto normalized = operand.normalized(norm);
        rotate_forward<Pairing, Backend>(exact_angles(b, positions), rotates ? normalized : normalized.unrotated());
    };
    with(from_to(token_major(x.data(), shape), token_major(y.data(), shape), c.first_lane));
    with(in_place(token_major(in_its_place.data(), shape), c.first_lane));
    CHECK(same_bits(y, in_its_place));
    const auto size = static_cast<std::size_t>(c.head_dim);
    for (std::size_t token = 0; token < positions.size(); ++token) {
        double squares = 0.0;
        const std::size_t of_token = token * static_cast<std::size_t>(c.heads) * size;
        for (std::size_t i = 0; i < static_cast<std::size_t>(c.heads) * size; ++i) {
            const double v = value(x[of_token + i]);
            const auto lane = static_cast<index_t>(i % size) - c.first_lane;
            const bool is_scaled = norm.is_after_rotation && rotates && lane >= 0 && lane < 2 * c.pairs;
            squares += v * v * (is_scaled ? 1.25 * 1.25 : 1.0);
        }
        const double mean = norm.is_over_all_heads ? squares / static_cast<double>(c.heads * c.head_dim) : -1.0;
        for (index_t head = 0; head < c.heads; ++head) {
            const std::size_t first = of_token + static_cast<std::size_t>(head) * size;
            std::vector<double> in(size);
            for (std::size_t i = 0; i < size; ++i) in[i] = value(x[first + i]);
            const auto out = expected_head<Pairing>(in, b, positions[token], c.first_lane, norm, mean, head, rotates);
            for (std::size_t i = 0; i < size; ++i) {
                // A rounding of r, of w and of both products more than the rotation alone; values are below 8.
                const double room = std::same_as<T, double> ? 1e-13 : 8e-6;
                REQUIRE(std::fabs(value(y[first + i]) - out[i]) <=
                        room + (sizeof(T) == 2 ? unit_in_last_place<T>(out[i]) : 0.0));
            }
        }
    }
}

}  // namespace

TEST_CASE_TEMPLATE("rotate/normalized: a norm before or after the rotation equals separate calls", T, double, float,
                   float16, bfloat16) {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        for (const head_case& c : cases) {
            for (int kind = 0; kind < 8; ++kind) {
                const rms_norm<float> norm{.epsilon = 1e-5,
                                           .adds_one = kind == 3,
                                           .is_over_all_heads = (kind & 2) != 0,
                                           .is_after_rotation = (kind & 1) != 0};
                check_norm<Pairing, Backend, T>(c, norm, kind < 4);
            }
        }
        check_norm<Pairing, Backend, T>(cases[1], rms_norm<bfloat16>{.adds_one = true}, true);
        const std::vector<float> ones(300, 1.0f);
        check_norm<Pairing, Backend, T>(cases[2], rms_norm<float>{.weight = ones.data()}, true);
    });
}

namespace {

// Heads, and norms of them whose result or input is rounded.
template <class T>
struct rounded_heads {
    heads_shape shape{1, 3, 4, 86};
    basis b{frequencies(70), 1.25};
    exact_angles<std::int32_t> angles{b, positions};
    std::vector<float> weights = random_elements<float>({1, 1, 1, 86}, 6);
    std::vector<T> x = random_elements<T>(shape, 5);

    rms_norm<float> norm(bool is_after) const {
        return {.weight = weights.data(), .is_after_rotation = is_after, .is_rounded_between = true};
    }
};

}  // namespace

TEST_CASE_TEMPLATE("rotate/normalized: rounded between, one call has the bits of two", T, double, float, float16,
                   bfloat16) {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        const rounded_heads<T> c;
        const heads_shape& shape = c.shape;
        const auto& angles = c.angles;
        const std::vector<T>& x = c.x;
        for (const bool is_after : {false, true}) {
            const rms_norm<float> norm = c.norm(is_after);
            auto once = x, twice = x;
            const auto one = in_place(token_major(once.data(), shape), 5),
                       two = in_place(token_major(twice.data(), shape), 5);
            rotate_forward<Pairing, Backend>(angles, one.normalized(norm));
            if (is_after) rotate_forward<Pairing, Backend>(angles, two);
            rotate_forward<Pairing, Backend>(angles, two.normalized(norm).unrotated());
            if (!is_after) rotate_forward<Pairing, Backend>(angles, two);
            CHECK(same_bits(once, twice));
        }
    });
}

TEST_CASE_TEMPLATE("rotate/normalized: rounded between on the way to another type", T, float16, bfloat16) {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        const rounded_heads<T> c;
        const heads_shape& shape = c.shape;
        const auto& angles = c.angles;
        const std::vector<T>& x = c.x;
        const auto from = token_major(x.data(), shape);
        for (const bool is_after : {false, true}) {
            const rms_norm<float> norm = c.norm(is_after);
            std::vector<T> between(x.size());
            std::vector<float> once(x.size()), twice(x.size());
            std::vector<std::int8_t> codes(x.size()), codes_of_two(x.size());
            std::vector<float> scales(12), scales_of_two(12);
            const auto quantised = [&](std::vector<std::int8_t>& to, std::vector<float>& s) {
                return token_major(to.data(), shape, scaled_bytes<std::int8_t>{.scales = {s.data(), 12, 4, 1}});
            };
            const auto middle = token_major(between.data(), shape);
            const auto to_middle = from_to(from, middle, 5);
            rotate_forward<Pairing, Backend>(angles, from_to(from, token_major(once.data(), shape), 5).normalized(norm),
                                             from_to(from, quantised(codes, scales), 5).normalized(norm));
            const auto wide = from_to(middle, token_major(twice.data(), shape), 5);
            const auto narrow = from_to(middle, quantised(codes_of_two, scales_of_two), 5);
            if (is_after) {
                rotate_forward<Pairing, Backend>(angles, to_middle);
                rotate_forward<Pairing, Backend>(angles, wide.normalized(norm).unrotated(),
                                                 narrow.normalized(norm).unrotated());
            } else {
                rotate_forward<Pairing, Backend>(angles, to_middle.normalized(norm).unrotated());
                rotate_forward<Pairing, Backend>(angles, wide, narrow);
            }
            CHECK(same_bits(once, twice));
            CHECK(codes == codes_of_two);
            CHECK(same_bits(scales, scales_of_two));
        }
    });
}

TEST_CASE("rotate/normalized: v is stored with q and k, converted and not rotated") {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape shape{1, 3, 2, 86};
        const basis b(frequencies(70));
        const auto v = random_elements<float>(shape, 7);
        const std::vector<std::int64_t> slots{5, -1, 2};
        constexpr std::size_t slot_size = 172;
        const std::vector<bfloat16> before(8 * slot_size, bfloat16::from_bits(1));
        auto cache = before;
        auto q = random_elements<float>(shape, 8), alone = q;
        const exact_angles angles(b, positions);
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(q.data(), shape)),
                                         from_to(token_major(v.data(), shape),
                                                 in_slots(token_major(cache.data(), {2, 4, 2, 86}), slots.data(), 1, 3))
                                             .unrotated());
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(alone.data(), shape)));
        CHECK(same_bits(q, alone));
        std::vector<bfloat16> expected = before;
        for (std::size_t i = 0; i < slot_size; ++i) {
            expected[5 * slot_size + i] = element_traits<bfloat16>::store(v[i]);
            expected[2 * slot_size + i] = element_traits<bfloat16>::store(v[2 * slot_size + i]);
        }
        CHECK(same_bits(cache, expected));
        std::vector<float> narrow{1, 2, 3, 4, 5, 6, 7, 8, 9}, copied(9);  // heads of 3 lanes, fewer than are rotated
        rotate_forward<Pairing, Backend>(
            angles,
            from_to(token_major(narrow.data(), {1, 3, 1, 3}), token_major(copied.data(), {1, 3, 1, 3})).unrotated());
        CHECK(copied == narrow);
        auto untouched = v;
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(untouched.data(), shape)).unrotated());
        CHECK(same_bits(untouched, v));
    });
}

TEST_CASE("rotate/normalized: invalid norms are named before anything is written") {
    const heads_shape shape{1, 3, 2, 16};
    const basis b(frequencies(16));
    auto x = random_elements<float>(shape, 1);
    const auto before = x;
    const exact_angles angles(b, positions);
    const auto with = [&](const rms_norm<float>& norm) {
        rotate_forward<half_split>(angles, in_place(token_major(x.data(), shape)).normalized(norm));
    };
    CHECK_THROWS_WITH_AS(with({.epsilon = -1.0}), "rotate_forward: rms_norm's epsilon -1 must be finite and >= 0",
                         value_error);
    CHECK_THROWS_AS(with({.epsilon = std::numeric_limits<double>::quiet_NaN()}), value_error);
    CHECK_THROWS_WITH_AS(
        with({.weight = x.data() + 90}),
        "rotate_forward: rms_norm's weight [1, 1, 1, 16] must not overlap x [1, 3, 2, 16], as one of them is "
        "written",
        shape_error);
    CHECK(same_bits(x, before));
}
