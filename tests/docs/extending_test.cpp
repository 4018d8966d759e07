// SPDX-License-Identifier: MIT
// The extensions of docs/extending.md and docs/kernels.md: a source of angles, a position type, a format and a backend.
// The regions are quoted by the pages.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "cordage/kernels.hpp"

// [own_position]
/// A position in units of 2^-16, such as the time of a frame.
struct fixed_point {
    std::int32_t units;
};
template <>
struct cordage::position_traits<fixed_point> {
    CORDAGE_HOST_DEVICE static constexpr split_position split(fixed_point p) noexcept {
        const auto steps = static_cast<std::uint64_t>(std::int64_t{p.units} >> 16);  // rounded down, modulo 2^64
        return {steps, static_cast<std::uint64_t>(p.units & 0xffff) << 48};          // and the rest in units of 2^-64
    }
    CORDAGE_HOST_DEVICE static constexpr double value(fixed_point p) noexcept { return p.units * 0x1p-16; }
};
static_assert(cordage::position_type<fixed_point>);
// [/own_position]

namespace {

using cordage::index_t;

// [own_source]
/// A basis at positions that are all moved by one number.
struct shifted_angles {
    const cordage::basis& b;
    std::span<const int> ids;
    int shift;

    index_t batch() const { return 1; }  // one row of positions, for every row of a batch
    index_t tokens() const { return std::ssize(ids); }
    index_t pairs() const { return b.pairs(); }
    double attention_factor(index_t, index_t) const { return b.attention_factor(); }
    std::uint64_t phase(index_t, index_t token, index_t pair) const { return b.phase(pair, at(token)); }

    // Optional: for gradients to positions and frequencies.
    double position(index_t, index_t token, index_t) const { return at(token); }
    const double* inv_freq(index_t) const { return b.inv_freq().data(); }

    int at(index_t token) const { return ids[static_cast<std::size_t>(token)] + shift; }
};
static_assert(cordage::angle_source<shifted_angles> && cordage::differentiable_angle_source<shifted_angles>);
// [/own_source]

// [own_format]
/// int8 times a scale, rounded to the nearest step; what is too large becomes the largest, a NaN the smallest.
struct scaled_int8 {
    using compute = float;
    float scale;

    CORDAGE_HOST_DEVICE float load(std::int8_t x) const noexcept { return scale * static_cast<float>(x); }
    CORDAGE_HOST_DEVICE std::int8_t store(float x) const noexcept {
        const float steps = x / scale + (x < 0.0f ? -0.5f : 0.5f);
        return static_cast<std::int8_t>(steps > 127.0f ? 127.0f : steps > -127.0f ? steps : -127.0f);
    }
    friend bool operator==(const scaled_int8&, const scaled_int8&) = default;
};
static_assert(cordage::format_of<scaled_int8, std::int8_t>);
// [/own_format]

// [own_backend]
/// A backend that finishes one tensor of a token before it begins the next.
struct tensor_by_tensor {};

template <cordage::pairing Pairing, class Direction, class Source, class O>
void rotate_range(tensor_by_tensor, const Source& angles, const cordage::operand_list<O>& operands, index_t begin,
                  index_t end) noexcept {
    using real = typename O::compute;  // float or double
    const index_t pairs = angles.pairs();
    for (index_t i = begin; i < end; ++i) {  // tokens, counted over the rows of the batch
        const index_t row = i / angles.tokens(), token = i % angles.tokens();
        const double extra = Direction::extra_factor(angles.attention_factor(row, token));
        for (const O& operand : operands) {
            for (index_t pair = 0; pair < pairs; ++pair) {
                auto at = cordage::cos_sin_at<real>(angles, row, token, pair);  // times the attention factor
                at = {at.cos * static_cast<real>(extra), at.sin * static_cast<real>(Direction::sine_sign * extra)};
                cordage::backend::rotate_pair<Pairing>(operand, row, token, pair, pairs, at);
            }
            cordage::backend::copy_unrotated(operand, row, token, 2 * pairs);
        }
    }
}
static_assert(cordage::backend::has_rotate_range<tensor_by_tensor>);
// [/own_backend]

using namespace cordage;

constexpr heads_shape shape{.batch = 2, .tokens = 5, .heads = 3, .head_dim = 20};  // 8 pairs, and 4 lanes that stay
const basis b({1.0, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01, 0.001}, 1.25);
const std::vector<int> ids{0, 3, -7, 1000, 100000};

template <class T = float>
std::vector<T> drawn() {
    std::vector<T> x(static_cast<std::size_t>(shape.batch * shape.tokens * shape.heads * shape.head_dim));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(static_cast<double>(i * i % 997)));
    return x;
}

}  // namespace

TEST_CASE("docs/extending: a user's source rotates as exact angles do, and has their gradients") {
    const std::vector<int> moved{40, 43, 33, 1040, 100040};
    auto x = drawn(), expected = x;
    const auto view = token_major(x.data(), shape), wanted = token_major(expected.data(), shape);
    rotate_forward<half_split>(shifted_angles{b, ids, 40}, in_place(view));
    rotate_forward<half_split>(exact_angles(b, moved), in_place(wanted));
    CHECK(x == expected);

    auto grad = drawn(), expected_grad = grad;
    std::vector<double> inv_freq(8), expected_inv_freq(8);
    const auto g = token_major(grad.data(), shape), wanted_g = token_major(expected_grad.data(), shape);
    rotate_backward<half_split>(shifted_angles{b, ids, 40}, rotation_gradients{.inv_freq = inv_freq},
                                grad_through(g, view, g));
    rotate_backward<half_split>(exact_angles(b, moved), rotation_gradients{.inv_freq = expected_inv_freq},
                                grad_through(wanted_g, wanted, wanted_g));
    CHECK(grad == expected_grad);
    CHECK(inv_freq == expected_inv_freq);
    CHECK(inv_freq[0] != 0.0);
}

TEST_CASE("docs/extending: a format of one's own is read and written by every verb") {
    auto k = drawn();
    std::vector<std::int8_t> cache(k.size(), 99);
    const auto bytes = token_major(cache.data(), shape, scaled_int8{0.02f});
    rotate_forward<interleaved>(exact_angles(b, ids), from_to(token_major(k.data(), shape), bytes));
    auto rotated = k;
    rotate_forward<interleaved>(exact_angles(b, ids), in_place(token_major(rotated.data(), shape)));
    for (std::size_t i = 0; i < k.size(); ++i) {
        CHECK(std::fabs(static_cast<float>(cache[i]) * 0.02f - rotated[i]) <= 0.010001f);
    }

    rotate_inverse<interleaved>(exact_angles(b, ids), in_place(bytes));  // of a quantised cache, where it lies
    for (std::size_t i = 0; i < k.size(); ++i) CHECK(std::fabs(static_cast<float>(cache[i]) * 0.02f - k[i]) <= 0.03f);

    CHECK(with_format(bytes, scaled_int8{0.5f}) == token_major(cache.data(), shape, scaled_int8{0.5f}));
    CHECK(head_major(cache.data(), shape, scaled_int8{0.5f}).format.scale == 0.5f);
    CHECK(scaled_int8{0.5f}.store(1e9f) == 127);
    CHECK(scaled_int8{0.5f}.store(-1e9f) == -127);
    CHECK(scaled_int8{0.5f}.store(-0.26f) == -1);
    CHECK(scaled_int8{0.5f}.store(std::nanf("")) == -127);
}

TEST_CASE("docs/extending: a user's position type rotates as its value does") {
    const std::vector<fixed_point> positions{{0}, {98304}, {-98304}, {65536 * 3}, {-65536 * 7}};
    const std::vector<double> values{0.0, 1.5, -1.5, 3.0, -7.0};
    auto x = drawn<double>(), expected = x;
    rotate_forward<half_split>(exact_angles(b, positions), in_place(token_major(x.data(), shape)));
    rotate_forward<half_split>(exact_angles(b, values), in_place(token_major(expected.data(), shape)));
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(x[i] - expected[i]) < 1e-14);

    const std::vector<std::uint8_t> axes(8);
    auto on_axis = drawn<double>();
    rotate_forward<half_split>(axis_angles(b, axes, position_view<fixed_point>(positions)),
                               in_place(token_major(on_axis.data(), shape)));
    CHECK(on_axis == x);
}

TEST_CASE("docs/extending: a backend of one's own gives the bits of the scalar one, in all directions") {
    const auto compare = [&](const auto& rotate) {
        auto x = drawn(), expected = x, other = drawn();
        std::vector<bfloat16> y(x.size()), expected_y(x.size());
        rotate(tensor_by_tensor{}, in_place(token_major(x.data(), shape)),
               from_to(token_major(other.data(), shape), token_major(y.data(), shape)));
        rotate(backend::scalar{}, in_place(token_major(expected.data(), shape)),
               from_to(token_major(other.data(), shape), token_major(expected_y.data(), shape)));
        CHECK(x == expected);
        CHECK(x != drawn());
        for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i].bits == expected_y[i].bits);
    };
    const exact_angles angles(b, ids);
    compare([&]<class Backend>(Backend, const auto&... o) { rotate_forward<half_split, Backend>(angles, o...); });
    compare([&]<class Backend>(Backend, const auto&... o) { rotate_inverse<interleaved, Backend>(angles, o...); });
    compare([&]<class Backend>(Backend, const auto&... o) { rotate_backward<half_split, Backend>(angles, o...); });
}
