// SPDX-License-Identifier: MIT
// Any NaN in a norm's weights or in angles is a NaN of bfloat16 in the same lanes by every kernel.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/rotate/backward.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

constexpr index_t token_count = 2, head_count = 3, head_dim = 134, pair_count = 65, first_lane = 2;
constexpr heads_shape shape{1, token_count, head_count, head_dim};

// Rows of cos and sin. The attention factor of such a source is not checked.
struct own_rows {
    std::vector<float> cos, sin;
    double factor = 1.0;

    index_t batch() const { return 1; }
    index_t tokens() const { return token_count; }
    index_t pairs() const { return pair_count; }
    double attention_factor(index_t, index_t) const { return factor; }
    template <class To>
    cos_sin<To> at(index_t, index_t token, index_t pair) const {
        const auto i = static_cast<std::size_t>(token * pair_count + pair);
        return {static_cast<To>(cos[i]), static_cast<To>(sin[i])};
    }
};

struct inputs {
    static constexpr std::size_t entries = token_count * pair_count;

    std::vector<float> weight = std::vector<float>(head_count * head_dim, 1.25f);
    own_rows rows{std::vector<float>(entries, 0.75f), std::vector<float>(entries, 0.5f)};
    bool is_table = false;  // or a source of one's own
};

bool is_nan(bfloat16 x) { return (x.bits & 0x7fffu) > 0x7f80u; }

// Which lanes of y and of grad_x are NaN. fast-math assumes that there are none, so bits decide.
template <class Pairing, class Backend>
std::vector<bool> nans(const inputs& in, bool is_over_all_heads, bool is_after_rotation) {
    const auto x = random_elements<bfloat16>(shape, 81), grad_y = random_elements<bfloat16>(shape, 82);
    std::vector<bfloat16> y(x.size()), grad_x(x.size());
    const rms_norm<float> norm{
        .weight = in.weight.data(), .is_over_all_heads = is_over_all_heads, .is_after_rotation = is_after_rotation};
    const auto rotate = [&](const auto& angles) {
        rotate_forward<Pairing, Backend>(
            angles, from_to(token_major(x.data(), shape), token_major(y.data(), shape), first_lane).normalized(norm));
        rotate_backward<Pairing, Backend>(angles,
                                          grad_through(token_major(grad_y.data(), shape), token_major(x.data(), shape),
                                                       token_major(grad_x.data(), shape), first_lane)
                                              .normalized(norm));
    };
    if (in.is_table) {
        rotate(cos_sin_view<float>{in.rows.cos.data(), in.rows.sin.data(), 1, token_count, pair_count});
    } else {
        rotate(in.rows);
    }
    std::vector<bool> all;
    for (const auto* const numbers : {&y, &grad_x}) {
        for (const bfloat16 one : *numbers) all.push_back(is_nan(one));
    }
    return all;
}

// The lanes that are NaN are those of the scalar backend, and the same for every NaN. (The squares of lanes that a NaN
// of a table rotates are only computed by the scalar backend: others compute m^2 times those of x.)
template <class Change>
void check_nans(bool is_as_by_scalar_after_rotation, const Change& change) {
    for_each_vector_kernel([&]<class Pairing, class Backend>(Pairing, Backend) {
        for (int kind = 0; kind < 4; ++kind) {
            const bool is_over_all_heads = (kind & 2) != 0, is_after = (kind & 1) != 0;
            CAPTURE(kind);
            const auto by = [&](auto backend, std::uint32_t bits) {
                inputs in;
                change(in, std::bit_cast<float>(bits));
                return nans<Pairing, decltype(backend)>(in, is_over_all_heads, is_after);
            };
            const auto expected = by(Backend{}, 0x7fc0'0000u);
            if (is_as_by_scalar_after_rotation || !is_after) {
                REQUIRE(expected == by(backend::scalar{}, 0x7fc0'0000u));
                REQUIRE(std::count(expected.begin(), expected.end(), true) > 0);
            }
            for (const std::uint32_t bits :
                 {0x7fff'ffffu, 0xffff'ffffu, 0x7f80'0001u}) {  // rounded as numbers: 0, infinity
                CAPTURE(bits);
                REQUIRE(by(Backend{}, bits) == expected);
            }
        }
    });
}

}  // namespace

TEST_CASE("rotate/normalized_nans: a NaN of any bits in one weight") {
    // In whole vectors, in the pair that follows them, and in lanes that are not rotated.
    for (const std::size_t lane : {2u, 40u, 131u, 0u, 133u}) {
        check_nans(true, [lane](inputs& in, float nan) { in.weight[lane] = in.weight[head_dim + lane] = nan; });
    }
}

TEST_CASE("rotate/normalized_nans: a NaN of any bits in one cos or one sin, of a table or not") {
    for (const std::size_t pair : {0u, 33u, 64u}) {
        for (const bool is_table : {true, false}) {
            check_nans(false, [=](inputs& in, float nan) { in.rows.cos[pair] = nan, in.is_table = is_table; });
            check_nans(false, [=](inputs& in, float nan) { in.rows.sin[pair] = nan, in.is_table = is_table; });
        }
    }
}

TEST_CASE("rotate/normalized_nans: a NaN of any bits as the attention factor of a source of one's own") {
    check_nans(false, [](inputs& in, float nan) {
        in.rows.cos = in.rows.sin = std::vector<float>(inputs::entries, nan);
        in.rows.factor = static_cast<double>(nan);
    });
}
