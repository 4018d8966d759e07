// SPDX-License-Identifier: MIT
// The backward pass of norm and rotation on a device, against the scalar backend.
#include <limits>
#include <numeric>

#include "backend/cuda/device_backend.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "rotate/dense.hpp"
#include "rotate/normalized_gradients.hpp"
#include "rotate/random_angles.hpp"

using namespace cordage;
using namespace cordage_test;
using namespace cordage_test::norms;

namespace {

template <class T, class W = T>
void check_all_kinds() {
    for (const head_case& c : cases) {
        CAPTURE(c.head_dim);
        for (const kind& k : kinds) {
            CAPTURE(&k - kinds);
            check_against_oracle<half_split, device_backend, T, W>(c, k);
            check_against_oracle<interleaved, device_backend, T, W>(c, k);
        }
    }
}

// All sums that one call over q and k adds to, and both grad_x.
struct found_gradients {
    std::vector<double> inv_freq, position, factor, angle, q_weight, k_weight, grad_x;
};

// Tokens of many blocks; the last step is short.
struct many_tokens {
    index_t batch, tokens;
    heads_shape q_shape{batch, tokens, 5, 48}, k_shape{batch, tokens, 3, 48};
    std::vector<float> q = random_elements<float>(q_shape, 1), k = random_elements<float>(k_shape, 2);
    std::vector<float> q_grad = random_elements<float>(q_shape, 3), k_grad = random_elements<float>(k_shape, 4);
    std::vector<bfloat16> weight = random_elements<bfloat16>({1, 1, 5, 48}, 5);

    // By the scalar backend, or on a device `where`.
    template <class Pairing, class Angles, class... Where>
    found_gradients gradients(const Angles& angles, bool is_after, const Where&... where) const {
        const auto room = [](index_t count) { return std::vector<double>(static_cast<std::size_t>(count), 0.5); };
        const index_t bases = angles.bases();
        found_gradients out{room(bases * angles.pairs()),
                            room(angle_detail::axes_of(angles) * batch * tokens),
                            room(bases),
                            room(batch * tokens * angles.pairs()),
                            room(48),
                            room(144),
                            {}};
        const std::size_t positions = out.position.size(), own = out.angle.size();
        for (auto* numbers : {&out.position, &out.angle}) numbers->resize(numbers->size() + 8, -0.0);  // nobody's
        std::vector<double> workspace(static_cast<std::size_t>(1 << 20), 1e30);
        std::vector<float> q_x(q.size()), k_x(k.size());
        rotation_gradients grads{out.inv_freq, std::span(out.position).first(positions), out.factor,
                                 std::span(out.angle).first(own)};
        const auto through = [](const auto& g, const auto& x, auto& gx, const heads_shape& shape) {
            return grad_through(token_major(g.data(), shape), token_major(x.data(), shape),
                                token_major(gx.data(), shape), 8);
        };
        const auto of_q = through(q_grad, q, q_x, q_shape)
                              .normalized(rms_norm<bfloat16>{.weight = weight.data(), .adds_one = true}, out.q_weight);
        const auto of_k = through(k_grad, k, k_x, k_shape)
                              .normalized(rms_norm<bfloat16>{.weight = weight.data(),
                                                             .is_over_all_heads = true,
                                                             .is_after_rotation = is_after},
                                          out.k_weight);
        if constexpr (sizeof...(Where) == 0) {
            rotate_backward<Pairing, backend::scalar>(angles, grads, of_q, of_k);
        } else {
            grads.workspace =
                std::span(workspace).first(static_cast<std::size_t>(backward_workspace_size(angles, q_shape, 144)));
            rotate_backward<Pairing>(where..., angles, grads, of_q, of_k);
        }
        for (std::size_t i = 0; i < 8; ++i) {  // not even 0 is added
            REQUIRE(std::signbit(out.position[positions + i]));
            REQUIRE(std::signbit(out.angle[own + i]));
        }
        out.grad_x = values(q_x);
        for (const float x : k_x) out.grad_x.push_back(double{x});
        return out;
    }
};

void check_near(const std::vector<double>& found, const std::vector<double>& expected, double room) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        REQUIRE(std::fabs(found[i] - expected[i]) <= room);
    }
}

template <class Pairing, class Angles>
void check_many(const many_tokens& tensors, const Angles& angles, std::size_t launches_wanted) {
    for (const bool is_after : {false, true}) {
        const found_gradients expected = tensors.gradients<Pairing>(angles, is_after);
        std::vector<backend::launch_size> launches;
        const auto on_device = [&] {
            found_gradients found;
            launches.clear();
            with_device_angles(angles, [&](const auto& a) {
                found = tensors.gradients<Pairing>(a, is_after, test_device{&launches});
            });
            return found;
        };
        const found_gradients found = on_device();
        CHECK(launches.size() == launches_wanted);
        REQUIRE(launches[0].blocks.x > 3);
        check_near(found.grad_x, expected.grad_x, 2e-5);
        const double heads = 8.0, all = static_cast<double>(tensors.batch * tensors.tokens);
        const double one = gradient_sum<float> * 8.0;  // of terms below 8
        check_near(found.q_weight, expected.q_weight, one * heads * all);
        check_near(found.k_weight, expected.k_weight, one * heads * all);
        check_near(found.inv_freq, expected.inv_freq, one * 2000.0 * heads * all);
        check_near(found.position, expected.position, one * heads * 16.0);
        check_near(found.factor, expected.factor, one * heads * 16.0 * all);
        check_near(found.angle, expected.angle, one * heads);
        const found_gradients again = on_device();
        CHECK(again.inv_freq == found.inv_freq);
        CHECK(again.position == found.position);
        CHECK(again.factor == found.factor);
        CHECK(again.angle == found.angle);
        CHECK(again.q_weight == found.q_weight);
        CHECK(again.k_weight == found.k_weight);
        CHECK(again.grad_x == found.grad_x);
    }
}

std::vector<basis> bases_of(index_t count) {
    std::vector<basis> all;
    for (index_t i = 0; i < count; ++i) {
        std::vector<double> theta = frequencies(32);
        for (double& t : theta) t /= 1.0 + static_cast<double>(i);
        all.emplace_back(theta, 1.0 + 0.25 * static_cast<double>(i));
    }
    return all;
}

}  // namespace

TEST_CASE_TEMPLATE("backend/cuda/normalized_backward: norms of all kinds have the oracle's gradients", T, float,
                   bfloat16) {  // float16 is read and written as in backward_test.cpp
    check_all_kinds<T>();
}
TEST_CASE("backend/cuda/normalized_backward: weights may be of another type, heads of 2048 lanes") {
    check_against_oracle<half_split, device_backend, float, bfloat16>(cases[1], kinds[2]);
    check_against_oracle<interleaved, device_backend, bfloat16, float>(cases[0], kinds[3]);
    check_against_oracle<half_split, device_backend, float>({2, 2048, 1024, 0}, kinds[0]);
    check_against_oracle<interleaved, device_backend, float>({2, 2048, 1000, 16}, kinds[4]);
}

TEST_CASE("backend/cuda/normalized_backward: blocks' sums make the gradients of one basis, of one a row, one a token") {
    const std::vector<basis> all = bases_of(3);
    const basis_list list({&all[0], &all[1], &all[2]});
    draw d(7);
    const many_tokens of_one{.batch = 1, .tokens = 61}, of_three{.batch = 3, .tokens = 27};
    std::vector<float> ids(81);
    for (float& id : ids) id = 0.25f * static_cast<float>(d.between(-8000, 8000));
    check_many<half_split>(of_one, exact_angles(all[1], std::span<const float>(ids).first(61)), 4);
    const position_view<float> view(ids.data(), 3, 27, 27);
    check_many<interleaved>(of_three, exact_angles(list.of_rows(), view), 4);
    std::vector<std::int32_t> of_token(81);
    for (std::int32_t& index : of_token) index = static_cast<std::int32_t>(d.between(0, 2));
    check_many<half_split>(of_three, exact_angles(list.of(of_token, 3), view), 12);
}

TEST_CASE("backend/cuda/normalized_backward: gradients to positions of several axes") {
    const std::vector<basis> all = bases_of(1);
    draw d(8);
    const many_tokens tensors{.batch = 1, .tokens = 45};
    std::vector<std::int32_t> ids(135);
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(d.between(0, 2000));
    const auto axes = random_axes(d, 16, 3);
    check_many<half_split>(tensors, axis_angles(all[0], axes, axis_major(ids.data(), 3, 1, 45)), 4);
}

TEST_CASE(
    "backend/cuda/normalized_backward: gradients of axes that rotate every pair together, and of angles themselves") {
    const std::vector<basis> all = bases_of(3);
    const basis_list list({&all[0], &all[0], &all[1], &all[1], &all[2], &all[2]});  // two axes of three rows
    draw d(9);
    const many_tokens tensors{.batch = 3, .tokens = 27};
    std::vector<float> ids(54), phi(1296);
    for (float& id : ids) id = 0.25f * static_cast<float>(d.between(-4000, 4000));
    for (float& angle : phi) angle = 0.01f * static_cast<float>(d.between(-500, 500));
    const free_angles own(phi.data(), 3, 27, 16);
    check_many<interleaved>(tensors, summed_axes(list.of_rows(), axis_major(ids.data(), 2, 1, 27)) + own, 4);
}

TEST_CASE(
    "backend/cuda/normalized_backward: in one launch an operand that is not rotated adds nothing to frequencies") {
    const heads_shape shape{1, 6, 2, 32};
    const std::vector<std::int32_t> ids{0, 3, 5, 7, 9, 12};
    const basis b(frequencies(32));
    const exact_angles angles(b, ids);
    const auto x = random_elements<float>(shape, 73), g = random_elements<float>(shape, 74);
    const auto w = random_elements<float>({1, 1, 1, 32}, 75);
    const rms_norm<> norm{.weight = w.data()};
    const auto gradient = [&](const auto& backward, const auto& source) {
        std::vector<float> q(x.size()), v(x.size());
        std::vector<double> inv_freq(16), weight(32), workspace(1000, 1e30);
        const auto view = [&](auto& buffer) { return token_major(buffer.data(), shape); };
        backward(source, rotation_gradients{.inv_freq = inv_freq, .workspace = workspace},
                 grad_through(view(g), view(x), view(q)).normalized(norm, weight),
                 grad_through(view(g), view(x), view(v)).normalized(norm, weight).unrotated());
        return inv_freq;
    };
    const auto expected =
        gradient([](const auto&... a) { rotate_backward<half_split, backend::scalar>(a...); }, angles);
    with_device_angles(angles, [&](const auto& source) {
        std::vector<backend::launch_size> launches;
        const test_device where{&launches};
        const auto found = gradient([&](const auto&... a) { rotate_backward<half_split>(where, a...); }, source);
        CHECK(launches.size() == 2);  // and one that adds up sums
        check_near(found, expected, 1e-4);
    });
}

TEST_CASE("backend/cuda/normalized_backward: operands of all kinds share a call, and sums add to what is there") {
    const heads_shape shape{1, 3, 2, 32}, cache_shape{2, 4, 2, 32};
    const std::vector<std::int64_t> slots{5, -1, 2}, some{5, 1'000'000, 2};
    const basis b(frequencies(20), 1.25);
    const exact_angles angles(b, positions);
    const auto x = random_elements<float>({1, 1, 16, 32}, 73), g = random_elements<float>(shape, 74);
    const auto w = random_elements<float>({1, 1, 1, 32}, 75);
    const rms_norm<> norm{.weight = w.data()};
    struct written {
        std::vector<float> q = std::vector<float>(192, 3.0f), k = q, v = q;
        std::vector<double> inv_freq = std::vector<double>(10, 1.0), weight = std::vector<double>(32, 2.0),
                            workspace = std::vector<double>(43, 1e30);
    };
    const auto view = [&](auto& buffer) { return token_major(buffer.data(), shape); };
    const auto rotate = [&](const auto& where, written& o, const auto& source, const std::vector<std::int64_t>& table) {
        const auto cached = in_slots(token_major(x.data(), cache_shape), table.data(), 1, 3);
        const rotation_gradients grads{.inv_freq = o.inv_freq, .workspace = o.workspace};
        where(source, grads, grad_through(view(g), cached, view(o.q)).normalized(norm, o.weight),
              grad_through(view(g), view(g), view(o.k)),
              grad_through(view(g), cached, view(o.v)).normalized(norm, o.weight).unrotated());
    };
    written expected, found;
    rotate([](const auto&... a) { rotate_backward<half_split, backend::scalar>(a...); }, expected, angles, slots);
    with_device_angles(angles, [&](const auto& source) {
        rotate([](const auto&... a) { rotate_backward<half_split>(test_device{}, a...); }, found, source, some);
        CHECK(nearly_same(found.q, expected.q, 4.0));  // a norm's sum over the lanes
        CHECK(nearly_same(found.k, expected.k));
        CHECK(nearly_same(found.v, expected.v, 4.0));
        for (std::size_t i = 64; i < 128; ++i) REQUIRE(found.q[i] == 3.0f);  // the token without a slot
        check_near(found.inv_freq, expected.inv_freq, 1e-4);
        check_near(found.weight, expected.weight, 1e-4);
        CHECK(std::fabs(found.weight[0] - 2.0) > 1e-3);
        // In place over grad_y or x, without gradients to frequencies, positions and factor, and so from a table.
        auto over_g = g, over_x = x;
        const auto cached = in_slots(token_major(x.data(), cache_shape), slots.data(), 1, 3);
        rotate_backward<half_split>(test_device{}, source,
                                    grad_through(view(over_g), cached, view(over_g)).normalized(norm));
        const auto in_x = in_slots(token_major(over_x.data(), cache_shape), slots.data(), 1, 3);
        rotate_backward<half_split>(test_device{}, source, grad_through(view(g), in_x, in_x).normalized(norm));
        for (std::size_t i = 0; i < 64; ++i) {
            CHECK(nearly_same(over_g[i], expected.q[i], 4.0));
            CHECK(nearly_same(over_x[320 + i], expected.q[i], 4.0));
        }
        const cos_sin_table<float> table(angles);
        written of_table;
        const rotation_gradients memory{.workspace = of_table.workspace};
        rotate_backward<half_split>(
            test_device{}, table.view(), memory,
            grad_through(view(g), cached, view(of_table.q)).normalized(norm, of_table.weight),
            grad_through(view(g), view(g), view(of_table.k)),
            grad_through(view(g), cached, view(of_table.v)).normalized(norm, of_table.weight).unrotated());
        CHECK(nearly_same(of_table.q, expected.q, 4.0));
        CHECK(nearly_same(of_table.k, expected.k));
        check_near(of_table.weight, expected.weight, 1e-4);
    });
}

TEST_CASE("backend/cuda/normalized_backward: operands of one launch may add to one sum of weights") {
    const heads_shape shape{1, 8, 2, 32};
    const basis b(frequencies(32), 1.25);
    const std::vector<int> ids{0, 1, 2, 3, 5, 8, 13, 21};
    const exact_angles angles(b, ids);
    const auto x = random_elements<float>(shape, 73), g = random_elements<float>(shape, 74);
    const auto w = random_elements<float>({1, 1, 1, 32}, 75);
    const rms_norm<> norm{.weight = w.data()};
    const auto rotate = [&](const auto& where, const auto& source, std::vector<double>& weight) {
        std::vector<float> gq(g.size()), gk(g.size());
        std::vector<double> workspace(300, 1e30);
        const auto operand = [&](auto& to) {
            return grad_through(token_major(g.data(), shape), token_major(x.data(), shape),
                                token_major(to.data(), shape))
                .normalized(norm, weight);
        };
        where(source, rotation_gradients{.workspace = workspace}, operand(gq), operand(gk));
    };
    std::vector<double> expected(32, 2.0), found = expected;
    rotate([](const auto&... a) { rotate_backward<half_split, backend::scalar>(a...); }, angles, expected);
    std::vector<backend::launch_size> launches;
    with_device_angles(angles, [&](const auto& source) {
        rotate([&](const auto&... a) { rotate_backward<half_split>(test_device{&launches}, a...); }, source, found);
    });
    CHECK(launches.size() == 2);  // all operands, and the sums
    check_near(found, expected, 1e-4);
}

TEST_CASE("backend/cuda/normalized_backward: a position that is not valid makes NaN of its token alone") {
    const basis b(frequencies(32));
    const std::vector<std::uint64_t> words = device_words(b);
    const heads_shape shape{1, 3, 2, 32};
    const auto x = random_elements<float>(shape, 3);
    std::vector<float> gx(x.size());
    const std::vector<double> ids{1.0, std::numeric_limits<double>::quiet_NaN(), 2.0};
    const device_angles<double> angles(device_basis(words.data(), 16), position_view<double>(ids));
    rotate_backward<half_split>(
        test_device{}, angles,
        grad_through(token_major(x.data(), shape), token_major(x.data(), shape), token_major(gx.data(), shape))
            .normalized(rms_norm<>{}));
    for (std::size_t i = 0; i < gx.size(); ++i) REQUIRE(std::isnan(gx[i]) == (i / 64 == 1));
}

TEST_CASE("backend/cuda/normalized_backward: q and k share a launch, each with weights of its own") {
    const heads_shape q_shape{1, 301, 8, 64}, k_shape{1, 301, 2, 64};
    const basis b(frequencies(64), 1.25);
    std::vector<std::int32_t> ids(301);
    std::iota(ids.begin(), ids.end(), -100);
    const auto q = random_elements<bfloat16>(q_shape, 31), k = random_elements<bfloat16>(k_shape, 32);
    const auto q_grad = random_elements<bfloat16>(q_shape, 33), k_grad = random_elements<bfloat16>(k_shape, 34);
    const auto weights = random_elements<float>({1, 1, 2, 64}, 35);
    struct results {
        std::vector<bfloat16> q = std::vector<bfloat16>(301 * 8 * 64), k = std::vector<bfloat16>(301 * 2 * 64);
        std::vector<double> inv_freq = std::vector<double>(32), factor{0.0}, q_weight = std::vector<double>(64),
                            k_weight = q_weight;
    };
    const auto run = [&](results& to, const auto& where, const auto& angles, std::span<double> workspace) {
        const auto through = [](const auto& g, const auto& x, auto& gx, const heads_shape& shape) {
            return grad_through(token_major(g.data(), shape), token_major(x.data(), shape),
                                token_major(gx.data(), shape));
        };
        where(angles,
              rotation_gradients{.inv_freq = to.inv_freq, .attention_factor = to.factor, .workspace = workspace},
              through(q_grad, q, to.q, q_shape).normalized(rms_norm<>{.weight = weights.data()}, to.q_weight),
              through(k_grad, k, to.k, k_shape)
                  .normalized(rms_norm<>{.weight = weights.data() + 64, .is_after_rotation = true}, to.k_weight));
    };
    const exact_angles angles(b, ids);
    results expected, found;
    run(expected, [](const auto&... a) { rotate_backward<half_split, backend::scalar>(a...); }, angles, {});
    with_device_angles(angles, [&](const auto& source) {
        std::vector<backend::launch_size> launches;
        std::vector<double> workspace(static_cast<std::size_t>(backward_workspace_size(source, q_shape, 64)), 1e30);
        run(
            found, [&](const auto&... a) { rotate_backward<half_split>(test_device{&launches}, a...); }, source,
            workspace);
        CHECK(launches.size() == 2);
        CHECK(launches[0].blocks.x > 20);
    });
    CHECK(nearly_same(found.q, expected.q));
    CHECK(nearly_same(found.k, expected.k));
    const double one = gradient_sum<float> * 8.0 * 8.0 * 301.0;
    check_near(found.inv_freq, expected.inv_freq, 200.0 * one);
    check_near(found.factor, expected.factor, 32.0 * one);
    check_near(found.q_weight, expected.q_weight, one);
    check_near(found.k_weight, expected.k_weight, one);
}
