// SPDX-License-Identifier: MIT
#include "cordage/angles/angle_difference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "cordage/angles/exact_angles.hpp"
#include "cordage/rotate/forward.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"

using namespace cordage;

namespace {

const rope_config model{.head_dim = 128, .rotary_dim = 128, .original_length = 4096};

// Angles of a basis, with a factor for each token.
struct graded {
    const basis& b;
    std::vector<int> ids;
    std::vector<double> factors;

    index_t batch() const { return 1; }
    index_t tokens() const { return std::ssize(ids); }
    index_t pairs() const { return b.pairs(); }
    double attention_factor(index_t, index_t token) const { return factors[static_cast<std::size_t>(token)]; }
    std::uint64_t phase(index_t, index_t token, index_t pair) const { return of_token(0, token).phase(pair); }
    position_phases of_token(index_t, index_t token) const { return b.phases(ids[static_cast<std::size_t>(token)]); }
    index_t bases() const { return 1; }
    index_t basis_index(index_t, index_t) const { return 0; }
};

template <class Backend>
void check_norms_of_graded() {
    const basis b({1.0, 0.5});
    const std::vector<int> ids{0, 1, 2, 3};
    const graded to{b, {5, 6, 7, 8}, {1, 1, 2, 2}};
    std::vector<float> x(16, 1.0f);
    rotate_forward<half_split, Backend>(to - exact_angles(b, ids), in_place(token_major(x.data(), {1, 4, 1, 4})));
    for (std::size_t token = 0; token < 4; ++token) {
        float sum = 0.0f;
        for (std::size_t lane = 0; lane < 4; ++lane) sum += x[4 * token + lane] * x[4 * token + lane];
        CHECK(sum == doctest::Approx(token < 2 ? 4.0 : 16.0).epsilon(1e-6));
    }
}

}  // namespace

TEST_CASE("angles/angle_difference: many changes of basis and of positions add up to the one change exactly") {
    std::vector<basis> bases;
    std::vector<std::vector<std::int64_t>> ids;
    for (const double t : {1.0, 1.3, 9.0, 4.7, 16.0, 2.0}) {
        bases.push_back(make_basis(model, yarn{}, t));
        ids.push_back({77, -3, static_cast<std::int64_t>(1e9 * t), 0});
    }
    const auto at = [&](std::size_t i) { return exact_angles(bases[i], ids[i]); };
    const auto whole = at(bases.size() - 1) - at(0);
    for (index_t token = 0; token < 4; ++token) {
        for (index_t pair = 0; pair < 64; ++pair) {
            std::uint64_t sum = 0;
            for (std::size_t i = 1; i < bases.size(); ++i) sum += (at(i) - at(i - 1)).phase(0, token, pair);
            CHECK(sum == whole.phase(0, token, pair));
            CHECK(whole.of_token(0, token).phase(pair) == whole.phase(0, token, pair));
        }
    }
    CHECK(whole.attention_factor(0, 1) == bases.back().attention_factor() / bases.front().attention_factor());
}

TEST_CASE("angles/angle_difference: fast frequencies and fractional positions are right too") {
    const basis fast({100.0, 3.0}), slow({1.0, 50.0});
    const std::vector<double> ids{0.5, -0.25, 1234.75};
    const auto change = exact_angles(fast, ids) - exact_angles(slow, ids);
    for (index_t token = 0; token < 3; ++token) {
        for (index_t pair = 0; pair < 2; ++pair) {
            const auto i = static_cast<std::size_t>(pair);
            const auto found = cos_sin_of_phase(change.phase(0, token, pair));
            const double angle = ids[static_cast<std::size_t>(token)] * (fast.inv_freq()[i] - slow.inv_freq()[i]);
            CHECK(found.cos == doctest::Approx(std::cos(angle)).epsilon(1e-11));
            CHECK(found.sin == doctest::Approx(std::sin(angle)).epsilon(1e-11));
        }
    }
}

TEST_CASE("angles/angle_difference: attention factors whose ratio leaves its domain are refused by the check") {
    const basis large({1.0}, 0x1p50), small({1.0}, 0x1p-50);
    const std::vector<std::int32_t> ids{1};
    for (const auto& change :
         {exact_angles(large, ids) - exact_angles(small, ids), exact_angles(small, ids) - exact_angles(large, ids)}) {
        CHECK_THROWS_AS(change.check("test"), value_error);
    }
    CHECK_NOTHROW((exact_angles(large, ids) - exact_angles(large, ids)).check("test"));
    // Of a source of one basis only the first token's factor was looked at.
    const graded own{large, {1, 1, 1}, {1.0, 1.0, 0x1p80}};
    const std::vector<std::int32_t> three{1, 1, 1};
    CHECK_THROWS_AS((own - exact_angles(small, three)).check("test"), value_error);
}

// Tokens at one distance once took the cos and sin of the token before them, with its factor.
TEST_CASE("angles/angle_difference: at one distance, tokens of a source of your own keep the factor of each") {
    check_norms_of_graded<backend::fastest>();
    check_norms_of_graded<backend::scalar>();
}

TEST_CASE(
    "angles/angle_difference: a token at the distance of one that has no slot does not take the angles before it") {
    const basis b({1.0, 0.5});
    const std::vector<std::int32_t> from{0, 1, 2}, to{5, 8, 9}, slots{0, -1, 1};
    const auto angles = exact_angles(b, to) - exact_angles(b, from);
    const auto rotated = [&]<class Backend>(Backend) {
        const std::vector<float> x(12, 1.0f);
        std::vector<float> y(8);
        const auto cache = in_slots(token_major(y.data(), {1, 2, 1, 4}), slots.data(), 1, 3);
        rotate_forward<half_split, Backend>(
            angles, from_to(token_major(x.data(), {1, 3, 1, 4}), cache).normalized(rms_norm<float>{}));
        return y;
    };
    const std::vector<float> y = rotated(backend::fastest{}), wanted = rotated(backend::scalar{});
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == doctest::Approx(wanted[i]).epsilon(1e-6));
}

TEST_CASE("angles/angle_difference: tokens share angles if basis, factors and integer distance are the same") {
    const basis a({1.0, 0.5}), b({2.0, 0.25});
    const std::vector<std::int32_t> from{0, 1, 2, 3, 4}, to{5, 6, 7, 9, 10};
    const auto moves = exact_angles(a, to) - exact_angles(a, from);
    CHECK(moves.equal_tokens(0, 0, 5) == 3);
    CHECK(moves.equal_tokens(0, 0, 2) == 2);
    CHECK(moves.equal_tokens(0, 2, 3) == 1);
    CHECK(moves.equal_tokens(0, 3, 2) == 2);
    CHECK((exact_angles(b, to) - exact_angles(a, from)).equal_tokens(0, 0, 5) == 1);

    const std::vector<std::int32_t> bases_of_tokens{0, 0, 1, 1, 1};
    const basis_list list{&a, &b};
    const exact_angles listed(list.of(bases_of_tokens), from);
    CHECK((listed - listed).equal_tokens(0, 0, 5) == 2);
    CHECK((listed - listed).equal_tokens(0, 2, 3) == 3);

    const std::vector<double> whole{5.0, 6.0}, parts{5.5, 6.5}, origin{0.0, 1.0}, halves{0.5, 1.5};
    const auto equal = [&](const std::vector<double>& new_ids, const std::vector<double>& old_ids) {
        return (exact_angles(a, new_ids) - exact_angles(a, old_ids)).equal_tokens(0, 0, 2);
    };
    CHECK(equal(whole, origin) == 2);
    CHECK(equal(parts, origin) == 1);
    CHECK(equal(whole, halves) == 1);
    CHECK(equal(parts, halves) == 1);

    const graded own{a, {5, 6, 7, 8, 9}, {1, 1, 2, 2, 2}};
    CHECK((own - exact_angles(a, from)).equal_tokens(0, 0, 5) == 2);
    CHECK((exact_angles(a, from) - own).equal_tokens(0, 2, 3) == 3);
    CHECK((exact_angles(a, from) - own).equal_tokens(0, 0, 5) == 2);
}
