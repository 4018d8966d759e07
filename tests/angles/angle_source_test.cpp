// SPDX-License-Identifier: MIT
// Angle sources as a user writes them, against those of the library.
#include "cordage/angles/angle_source.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "cordage/basis/basis_list.hpp"
#include "cordage/core/threads.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "rotate/naive_rotation.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace mine {

// Positions with an offset, as phases.
struct shifted_angles {
    const basis& b;
    std::span<const int> ids;
    int shift;

    index_t batch() const { return 1; }
    index_t tokens() const { return std::ssize(ids); }
    index_t pairs() const { return b.pairs(); }
    double attention_factor(index_t, index_t) const { return b.attention_factor(); }
    std::uint64_t phase(index_t, index_t token, index_t pair) const {
        return b.phase(pair, ids[static_cast<std::size_t>(token)] + shift);
    }
    // Needed for gradients only.
    double position(index_t, index_t token, index_t) const {
        return static_cast<double>(ids[static_cast<std::size_t>(token)] + shift);
    }
    const double* inv_freq(index_t) const { return b.inv_freq().data(); }
};

// Fractional positions, as phases.
struct halves {
    const basis& b;
    std::span<const double> ids;

    index_t batch() const { return 1; }
    index_t tokens() const { return std::ssize(ids); }
    index_t pairs() const { return b.pairs(); }
    double attention_factor(index_t, index_t) const { return b.attention_factor(); }
    std::uint64_t phase(index_t, index_t token, index_t pair) const { return b.phase(pair, at(token)); }
    double at(index_t token) const { return ids[static_cast<std::size_t>(token)] + 0.5; }
};
// The same with of_token.
struct halves_of_tokens : halves {
    auto of_token(index_t, index_t token) const { return b.phases(at(token)); }
};

// An angle in radians, in float32 as frameworks compute it, or in double, with an offset for each pair.
template <class Real>
struct radians {
    const basis& b;
    std::span<const int> ids;
    Real offset;

    index_t batch() const { return 1; }
    index_t tokens() const { return std::ssize(ids); }
    index_t pairs() const { return b.pairs(); }
    double attention_factor(index_t, index_t) const { return b.attention_factor(); }
    Real angle(index_t, index_t token, index_t pair) const {
        return static_cast<Real>(ids[static_cast<std::size_t>(token)]) *
                   static_cast<Real>(b.inv_freq()[static_cast<std::size_t>(pair)]) +
               offset * static_cast<Real>(pair);
    }
};

// An attention factor for each token, and a check.
struct tempered : shifted_angles {
    double attention_factor(index_t, index_t token) const { return token == 0 ? 1.0 : -0.5; }
    void check(const char* function) const {
        if (shift < 0) fail<value_error>({function, ": tempered: shift ", shift, " must be >= 0"});
    }
};

}  // namespace mine

static_assert(angle_source<mine::shifted_angles> && differentiable_angle_source<mine::shifted_angles>);
static_assert(angle_source<mine::radians<float>> && !differentiable_angle_source<mine::radians<double>>);
static_assert(has_angle<mine::radians<float>> && !has_phase<mine::radians<float>>);

namespace {

constexpr index_t rotary_dim = 166, pairs = 83;  // more than one row of angles; the last pairs are a partial vector
const basis b(frequencies(rotary_dim), 1.25);
const std::vector<int> ids{0, 3, 100'000, -7};
constexpr heads_shape shape{2, 4, 2, 170};

template <class Pairing, class Backend, class T, class Source>
std::vector<T> rotated_by(const Source& angles) {
    auto x = random_elements<T>(shape, 1);
    rotate_forward<Pairing, Backend>(angles, in_place(token_major(x.data(), shape)));
    return x;
}

// Fast-math may add up the sums of two angle sources in different orders.
#ifdef __FAST_MATH__
constexpr double another_order = gradient_sum<double>;
#else
constexpr double another_order = 0.0;
#endif

std::vector<int> shifted(int by) {
    std::vector<int> all = ids;
    for (int& id : all) id += by;
    return all;
}

}  // namespace

TEST_CASE("angles/angle_source: a source of phases has the bits of exact_angles, forward, inverse and backward") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto moved = shifted(1000);
        const mine::shifted_angles own{b, ids, 1000};
        const exact_angles shipped(b, moved);
        CHECK(same_bits(rotated_by<Pairing, Backend, float>(own), rotated_by<Pairing, Backend, float>(shipped)));
        CHECK(same_bits(rotated_by<Pairing, Backend, double>(own), rotated_by<Pairing, Backend, double>(shipped)));
        const auto g = random_elements<float>(shape, 2), y = random_elements<float>(shape, 3);
        const auto backward = [&](const auto& angles) {
            std::vector<float> gx(g.size());
            std::vector<double> sums(pairs + 8 + 1);
            const std::span<double> grads(sums);
            rotate_backward<Pairing, Backend>(angles,
                                              rotation_gradients{.inv_freq = grads.first(pairs),
                                                                 .position_ids = grads.subspan(pairs, 8),
                                                                 .attention_factor = grads.last(1)},
                                              grad_through(token_major(g.data(), shape), token_major(y.data(), shape),
                                                           token_major(gx.data(), shape)));
            return std::pair(gx, sums);
        };
        const auto [own_gx, own_sums] = backward(own);
        const auto [shipped_gx, shipped_sums] = backward(shipped);
        CHECK(same_bits(own_gx, shipped_gx));
        for (std::size_t i = 0; i < own_sums.size(); ++i) CHECK(close(own_sums[i], shipped_sums[i], another_order));
        CHECK_FALSE(same_bits(backward(mine::shifted_angles{b, ids, 1001}).first, own_gx));
    });
}

TEST_CASE("angles/angle_source: fractional positions of one's own, pair by pair or token by token") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const std::vector<double> own_ids{0.25, -3.0, 1e6, -7.75}, whole{0.0, 1.0, 2.0, 3.0};
        std::vector<double> moved = own_ids;
        for (double& id : moved) id += 0.5;
        const auto check = [&]<class T>(T) {
            const auto shipped = rotated_by<Pairing, Backend, T>(exact_angles(b, moved));
            CHECK(same_bits(rotated_by<Pairing, Backend, T>(mine::halves{b, own_ids}), shipped));
            CHECK(same_bits(rotated_by<Pairing, Backend, T>(mine::halves_of_tokens{{b, own_ids}}), shipped));
            CHECK_FALSE(same_bits(rotated_by<Pairing, Backend, T>(mine::halves{b, whole}), shipped));
        };
        check(float{}), check(double{});
    });
}

// A backend may compute the rows of several tokens at once, but none of another row and none past the last token.
TEST_CASE("angles/angle_source: tokens have their own angles and factor wherever a slice begins and a row ends") {
    constexpr index_t rows = 3, tokens = 7, few = 20;
    const basis near(frequencies(2 * few), 1.25), far(frequencies(2 * few), 0.5);
    const basis_list list({&near, &far});
    std::vector<double> padded;  // numbers between the rows are not positions
    std::vector<std::int32_t> of;
    for (int i = 0; i < rows * (tokens + 1); ++i) padded.push_back(17.25 * i - 40.0);
    for (int i = 0; i < rows * tokens; ++i) of.push_back(i % 3 == 1);
    const exact_angles angles(list.of(of, rows), position_view<double>(padded.data(), rows, tokens, tokens + 1));
    for_each_kernel([&]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape batch{rows, tokens, 2, 2 * few}, single{1, 1, 2, 2 * few};
        const auto x = random_elements<float>(batch, 4);
        const auto size = static_cast<std::size_t>(2 * 2 * few);
        std::vector<float> expected = x;
        for (std::size_t i = 0; i < of.size(); ++i) {
            const auto place = std::span<const double>(padded).subspan(i + i / tokens, 1);
            const exact_angles one(of[i] == 0 ? near : far, place);
            rotate_forward<Pairing, Backend>(one, in_place(token_major(expected.data() + i * size, single)));
        }
        for (const index_t slices : {1, 2, 5}) {
            auto y = x;
            rotate_forward<Pairing, Backend>(threads{slices}, angles, in_place(token_major(y.data(), batch)));
            CHECK(same_bits(y, expected));
        }
        const index_t count = rows * tokens;
        for (index_t begin = 0; begin < count; begin += 4) {  // slices of any size, by the backend itself
            std::vector<float> cos(static_cast<std::size_t>(count * few), 9.0f), sin = cos;
            const index_t end = std::min(begin + 6, count);
            fill_range(Backend{}, angles, cos.data(), sin.data(), begin, end);
            const cos_sin_table<float> whole(angles, serial{}, Backend{});
            for (index_t i = 0; i < count * few; ++i) {
                const bool is_inside = i >= begin * few && i < end * few;
                CHECK(cos[static_cast<std::size_t>(i)] == (is_inside ? whole.view().cos_data[i] : 9.0f));
            }
        }
    });
}

TEST_CASE("angles/angle_source: a source of float angles has the bits of float32_angles, to a table too") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const mine::radians<float> own{b, ids, 0.0f};
        const float32_angles shipped(b, ids);
        CHECK(same_bits(rotated_by<Pairing, Backend, float>(own), rotated_by<Pairing, Backend, float>(shipped)));
        const cos_sin_table<float> by_own(own, serial{}, Backend{}), by_shipped(shipped, serial{}, Backend{});
        const index_t count = 4 * own.pairs();
        CHECK(std::equal(by_own.view().sin_data, by_own.view().sin_data + count, by_shipped.view().sin_data));
        CHECK(same_bits(rotated_by<Pairing, Backend, float>(by_own.view()),
                        rotated_by<Pairing, Backend, float>(by_shipped.view())));
    });
}

TEST_CASE("angles/angle_source: a source of double angles rotates by them, rounded once") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const mine::radians<double> own{b, ids, 0.125};
        std::vector<float> cos, sin;
        for (index_t token = 0; token < 4; ++token) {
            for (index_t pair = 0; pair < own.pairs(); ++pair) {
                const double angle = own.angle(0, token, pair);
                const long double exact = exact_angle(1, angle);  // 1 * angle modulo a turn
                const cos_sin<double> found = cos_sin_at<double>(own, 0, token, pair);
                REQUIRE(std::fabs(found.cos - static_cast<double>(1.25L * std::cos(exact))) < 1.25 * cos_sin_double);
                REQUIRE(std::fabs(found.sin - static_cast<double>(1.25L * std::sin(exact))) < 1.25 * cos_sin_double);
                cos.push_back(static_cast<float>(found.cos)), sin.push_back(static_cast<float>(found.sin));
            }
        }
        const cos_sin_view<float> table{cos.data(), sin.data(), 1, 4, own.pairs(), 1.25};
        CHECK(same_bits(rotated_by<Pairing, Backend, float>(own), rotated_by<Pairing, Backend, float>(table)));
    });
}

TEST_CASE("angles/angle_source: a source's own attention factors and check are used") {
    const mine::tempered own{{b, ids, 0}};
    const cos_sin_table<double> table(own);
    CHECK(table.view().attention_factor(0, 0) == 1.0);
    CHECK(table.view().attention_factor(0, 2) == -0.5);
    CHECK(table.view().at<double>(0, 0, 0).cos == 1.0);
    auto x = random_elements<float>(shape, 1);
    const auto before = x;
    CHECK_THROWS_WITH_AS(
        rotate_forward<half_split>(mine::tempered{{b, ids, -1}}, in_place(token_major(x.data(), shape))),
        "rotate_forward: tempered: shift -1 must be >= 0", value_error);
    CHECK(same_bits(x, before));
    rotate_forward<half_split>(own, in_place(token_major(x.data(), shape)));
    rotate_inverse<half_split>(own, in_place(token_major(x.data(), shape)));
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(x[i] - before[i]) < 2e-6f);
}

TEST_CASE("angles/angle_difference: any two sources that have phases or angles, of the caller or of the library") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const basis other(frequencies(rotary_dim), 0.5);
        const mine::shifted_angles own{b, ids, 1000};
        const std::vector<int> by_1000(4, 1000), by_0(4, 0);
        const exact_angles shipped(other, ids), step(b, by_1000), unit(other, by_0);
        // (p + 1000) theta - p theta is 1000 theta - 0, in phases bit by bit
        CHECK(same_bits(rotated_by<Pairing, Backend, float>(own - shipped),
                        rotated_by<Pairing, Backend, float>(step - unit)));
        CHECK((own - shipped).attention_factor(0, 1) == 2.5);
        CHECK((shipped - own).attention_factor(0, 1) == 0.4);
        const mine::radians<double> angle{b, ids, 0.0};
        for (index_t pair = 0; pair < b.pairs(); ++pair) {
            CHECK((shipped - own).phase(0, 2, pair) == ~(own - shipped).phase(0, 2, pair) + 1u);
            const auto apart = static_cast<std::int64_t>((angle - exact_angles(b, ids)).phase(0, 1, pair));
            CHECK(std::fabs(static_cast<double>(apart)) < 4096.0);  // 3 * theta in double has 53 bits
        }
    });
}

TEST_CASE("angles/angle_difference: rows and pairs must fit, one row serves all") {
    const std::vector<int> six{0, 1, 2, 3, 4, 5};
    const exact_angles two_rows(b, position_view<int>(six.data(), 2, 3, 3)), one_row(b, std::span(six).first(3));
    CHECK((two_rows - one_row).batch() == 2);
    CHECK((one_row - two_rows).batch() == 2);
    CHECK((two_rows - one_row).phase(1, 2, 1) == b.phase(1, 3));
    CHECK((two_rows - one_row).of_token(1, 2).phase(1) == b.phase(1, 3));
    const exact_angles three_rows(b, position_view<int>(six.data(), 3, 2, 2)), longer(b, six);
    CHECK_THROWS_WITH_AS(two_rows - exact_angles(b, position_view<int>(six.data(), 3, 3, 0)),
                         "angle_difference: from [3, 3, 83] must have the batch, tokens and pairs of to [2, 3, 83]",
                         shape_error);
    CHECK_THROWS_AS(one_row - longer, shape_error);
    CHECK_THROWS_AS(one_row - three_rows, shape_error);
    const basis narrow({1.0});
    CHECK_THROWS_AS(one_row - exact_angles(narrow, std::span(six).first(3)), shape_error);
}
