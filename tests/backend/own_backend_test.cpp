// SPDX-License-Identifier: MIT
// A user's backend: an empty struct and three functions found by argument-dependent lookup (docs/extending.md).
#include "cordage/backend/backend.hpp"

#include "cordage/core/threads.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "rotate/naive_rotation.hpp"

namespace mine {

/// Counts the tokens that it is given; the scalar backend does the work.
struct counting {};
cordage::index_t rotated = 0, went_back = 0, filled = 0;

template <cordage::pairing Pairing, class Direction, class Source, class Operands>
void rotate_range(counting, const Source& angles, const Operands& operands, cordage::index_t begin,
                  cordage::index_t end) noexcept {
    rotated += end - begin;
    cordage::backend::rotate_range<Pairing, Direction>(cordage::backend::scalar{}, angles, operands, begin, end);
}
template <cordage::pairing Pairing, class Source, class Operands>
void backward_range(counting, const Source& angles, const Operands& operands,
                    const cordage::backend::angle_gradients& grads, cordage::index_t begin,
                    cordage::index_t end) noexcept {
    went_back += end - begin;
    cordage::backend::backward_range<Pairing>(cordage::backend::scalar{}, angles, operands, grads, begin, end);
}
template <class Source, class Real>
void fill_range(counting, const Source& angles, Real* cos, Real* sin, cordage::index_t begin,
                cordage::index_t end) noexcept {
    filled += end - begin;
    cordage::backend::fill_range(cordage::backend::scalar{}, angles, cos, sin, begin, end);
}

/// Another one made of building blocks: its own loop, the library's pair of heads, operands one by one.
struct by_pairs {};
template <cordage::pairing Pairing, class Direction, class Source, class O>
void rotate_range(by_pairs, const Source& angles, const cordage::operand_list<O>& operands, cordage::index_t begin,
                  cordage::index_t end) noexcept {
    using real = typename O::compute;
    const cordage::index_t pairs = angles.pairs(), tokens = angles.tokens();
    for (cordage::index_t i = begin; i < end; ++i) {
        const cordage::index_t row = i / tokens, token = i % tokens;
        const auto factor = static_cast<real>(Direction::extra_factor(angles.attention_factor(row, token)));
        for (const O& o : operands) {
            for (cordage::index_t pair = 0; pair < pairs; ++pair) {
                const auto at = cordage::cos_sin_at<real>(angles, row, token, pair);
                cordage::backend::rotate_pair<Pairing>(
                    o, row, token, pair, pairs,
                    cordage::cos_sin<real>{at.cos * factor, Direction::sine_sign * factor * at.sin});
            }
            cordage::backend::copy_unrotated(o, row, token, 2 * pairs);
        }
    }
}

}  // namespace mine

using namespace cordage;
using namespace cordage_test;

static_assert(backend::has_rotate_range<mine::counting> && backend::has_backward_range<mine::counting> &&
              backend::has_fill_range<mine::counting>);
static_assert(backend::has_rotate_range<mine::by_pairs> && !backend::has_backward_range<mine::by_pairs> &&
              !backend::has_fill_range<mine::by_pairs> && !backend::has_rotate_range<int>);

namespace {

constexpr heads_shape shape{2, 3, 2, 24};
const basis model(frequencies(20), 1.25);
const std::vector<std::int32_t> positions{5, 0, 1000};
const exact_angles angles(model, positions), same_angles(model, positions);

template <class T>
heads_view<T> view(std::vector<T>& data) {
    return token_major(data.data(), shape);
}

}  // namespace

TEST_CASE("backend/own_backend: every verb and the table find it, and hand it every token once") {
    auto x = random_elements<float>(shape, 1), expected = x;
    std::vector<float> g = x;
    mine::rotated = mine::went_back = mine::filled = 0;
    rotate_forward<half_split, mine::counting>(angles, in_place(view(x)));
    CHECK(mine::rotated == 6);
    rotate_forward<half_split, backend::scalar>(angles, in_place(view(expected)));
    CHECK(same_bits(x, expected));
    rotate_inverse<half_split, mine::counting>(angles, in_place(view(x)));
    rotate_backward<half_split, mine::counting>(angles, in_place(view(x)));
    rebase<half_split, mine::counting>(angles - same_angles, in_place(view(x)));
    CHECK(mine::rotated == 24);
    CHECK(mine::went_back == 0);
    std::vector<double> grads(10), by_scalar(10);
    rotate_backward<half_split, mine::counting>(angles, rotation_gradients{.inv_freq = grads},
                                                grad_through(view(g), view(x), view(g)));
    CHECK(mine::went_back == 6);
    g = expected = random_elements<float>(shape, 1);
    rotate_backward<half_split, backend::scalar>(angles, rotation_gradients{.inv_freq = by_scalar},
                                                 grad_through(view(expected), view(x), view(g)));
    CHECK(same_bits(grads, by_scalar));
    const cos_sin_table<float> table(angles, serial{}, mine::counting{});
    CHECK(mine::filled == 3);
    CHECK(table.view().at<float>(0, 1, 0).cos == 1.25f);
}

TEST_CASE(
    "backend/own_backend: a backend made of building blocks rotates operands of several types, forward and inverse") {
    auto q = random_elements<float>(shape, 2), k = random_elements<float>(shape, 3);
    std::vector<bfloat16> keys(k.size()), expected_keys(k.size());
    auto expected = q;
    rotate_forward<interleaved, mine::by_pairs>(threads{2, 1}, angles, in_place(view(q)), from_to(view(k), view(keys)));
    rotate_forward<interleaved, backend::scalar>(angles, in_place(view(expected)),
                                                 from_to(view(k), view(expected_keys)));
    CHECK(nearly_same(q, expected));
    CHECK(nearly_same(keys, expected_keys));
    rotate_inverse<interleaved, mine::by_pairs>(angles, in_place(view(q)));
    const auto before = random_elements<float>(shape, 2);
    for (std::size_t i = 0; i < q.size(); ++i) CHECK(std::fabs(q[i] - before[i]) < 2e-6f);
}
