// SPDX-License-Identifier: MIT
#include <numeric>

#include "backend/cuda/device_backend.hpp"
#include "rotate/random_angles.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

template <class T, class Kind>
void check_both_pairings(unsigned seed, int cases) {
    for_random_cases<Kind>(seed, cases, [](draw& d, const auto& angles, index_t batch) {
        check_backward<half_split, device_backend, T>(d, angles, batch);
        check_backward<interleaved, device_backend, T>(d, angles, batch);
    });
}

// Gradients of two dense tensors with one set of angles, by the host's scalar backend and by a device.
struct found_gradients {
    std::vector<double> inv_freq, position, factor, angle;
};

template <class Pairing, class T>
struct two_tensors {
    heads_shape q_shape, k_shape;
    std::vector<T> q_grad, q, k_grad, k;

    two_tensors(draw& d, index_t batch, index_t tokens, index_t head_dim)
        : q_shape{batch, tokens, 5, head_dim}, k_shape{batch, tokens, 2, head_dim} {
        for (auto* numbers : {&q_grad, &q}) *numbers = random(d, count(q_shape));
        for (auto* numbers : {&k_grad, &k}) *numbers = random(d, count(k_shape));
    }

    // Those of bases only.
    template <class Angles, class Device>
    found_gradients sums(const Angles& angles, const Device& device) const {
        found_gradients found{std::vector<double>(static_cast<std::size_t>(angles.pairs()), 0.5), {}, {0.5}, {}};
        std::vector<double> workspace(static_cast<std::size_t>(backward_workspace_size(angles, q_shape)), 7.0);
        std::vector<T> to_q(q.size()), to_k(k.size());
        rotate_backward<Pairing>(
            device, angles,
            rotation_gradients{.inv_freq = found.inv_freq, .attention_factor = found.factor, .workspace = workspace},
            through(q_grad, q, to_q, q_shape), through(k_grad, k, to_k, k_shape));
        return found;
    }
    template <class Angles, class... Before>
    found_gradients gradients(const Angles& angles, const Before&... before) const {
        const auto size = [](index_t n) { return std::vector<double>(static_cast<std::size_t>(n), 0.5); };
        const index_t tokens = q_shape.batch * q_shape.tokens;
        found_gradients found{size(angles.bases() * angles.pairs()), size(angle_detail::axes_of(angles) * tokens),
                              size(angles.bases()), size(tokens * angles.pairs())};
        std::vector<T> to_q = q_grad, to_k = k_grad;
        rotation_gradients grads{found.inv_freq, found.position, found.factor, found.angle};
        const auto q_operand = through(q_grad, q, to_q, q_shape), k_operand = through(k_grad, k, to_k, k_shape);
        if constexpr (sizeof...(Before) == 0) {
            rotate_backward<Pairing, backend::scalar>(angles, grads, q_operand, k_operand);
        } else {
            std::vector<double> workspace(static_cast<std::size_t>(backward_workspace_size(angles, q_shape)), 7.0);
            grads.workspace = workspace;
            rotate_backward<Pairing>(before..., angles, grads, q_operand, k_operand);
        }
        return found;
    }

 private:
    static backward_operand<T> through(const std::vector<T>& g, const std::vector<T>& y, std::vector<T>& to,
                                       const heads_shape& shape) {
        return grad_through(token_major(g.data(), shape), token_major(y.data(), shape), token_major(to.data(), shape));
    }
    static std::vector<T> random(draw& d, index_t size) {
        std::vector<T> numbers(static_cast<std::size_t>(size));
        for (T& x : numbers) x = d.element<T>();
        return numbers;
    }
};

void check_near(const std::vector<double>& found, const std::vector<double>& expected, double terms) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        REQUIRE(std::fabs(found[i] - expected[i]) <= gradient_sum<float> * terms);
    }
}

// Enough tokens for many blocks, the last one short; one basis, one for each row, or for each token; some axes.
template <class Pairing, class T>
void check_many_tokens(index_t bases, index_t tokens, index_t head_dim, index_t axes = 1) {
    draw d(static_cast<unsigned>(bases + tokens));
    std::vector<basis> all;
    for (index_t i = 0; i < bases; ++i) {
        std::vector<double> theta = frequencies(head_dim);
        for (double& t : theta) t /= 1.0 + static_cast<double>(i);
        all.emplace_back(theta, 1.0 + 0.25 * static_cast<double>(i));
    }
    const index_t batch = 3;
    std::vector<float> ids;
    for (index_t i = 0; i < axes * batch * tokens; ++i)
        ids.push_back(0.25f * static_cast<float>(d.between(-8000, 8000)));
    const position_view<float> view(ids.data(), batch, tokens, tokens);
    const two_tensors<Pairing, T> tensors(d, batch, tokens, head_dim);
    const auto check = [&](const auto& angles) {
        const found_gradients expected = tensors.gradients(angles);
        std::vector<backend::launch_size> launches;
        const auto on_device = [&](std::vector<backend::launch_size>* noted) {
            found_gradients found;
            with_device_angles(angles, [&](const auto& a) { found = tensors.gradients(a, test_device{noted}); });
            return found;
        };
        const found_gradients found = on_device(&launches);
        REQUIRE(std::ssize(launches) == (angles.has_basis_of_token() ? 4 * bases : 4));  // q, then k, and their sums
        REQUIRE(launches[0].blocks.x > 3);
        const double of_a_pair = 4.0 * 7.0, pairs = 0.5 * static_cast<double>(head_dim);
        check_near(found.inv_freq, expected.inv_freq, 2000.0 * of_a_pair * static_cast<double>(batch * tokens));
        check_near(found.position, expected.position, of_a_pair * pairs);
        check_near(found.factor, expected.factor, of_a_pair * pairs * static_cast<double>(batch * tokens));
        check_near(found.angle, expected.angle, of_a_pair);
        const found_gradients again = on_device(nullptr);
        CHECK(again.inv_freq == found.inv_freq);
        CHECK(again.position == found.position);
        CHECK(again.factor == found.factor);
        CHECK(again.angle == found.angle);
    };
    std::vector<const basis*> chosen;
    chosen.reserve(all.size());
    for (const basis& b : all) chosen.push_back(&b);
    const basis_list list(chosen);
    if (axes == 1) {
        check(exact_angles(list.of_rows(), view));
        std::vector<std::int32_t> of_token;
        for (index_t i = 0; i < batch * tokens; ++i)
            of_token.push_back(static_cast<std::int32_t>(d.between(0, bases - 1)));
        check(exact_angles(list.of(of_token, batch), view));
        return;
    }
    const auto axis_of_pair = random_axes(d, head_dim / 2, axes);
    check(axis_angles(list.of_rows(), axis_of_pair, axis_major(ids.data(), axes, batch, tokens)));
    if (axes > summed_axes<float>::most_axes) return;
    // The same bases for each axis, of one row or of each.
    std::vector<const basis*> of_axes;
    for (const basis& b : all) of_axes.insert(of_axes.end(), static_cast<std::size_t>(axes), &b);
    const basis_list list_of_axes(of_axes);
    std::vector<float> phi;
    for (index_t i = 0; i < batch * tokens * head_dim / 2; ++i)
        phi.push_back(0.01f * static_cast<float>(d.between(-500, 500)));
    const free_angles own(phi.data(), batch, tokens, head_dim / 2);
    check(summed_axes(list_of_axes.of_rows(), axis_major(ids.data(), axes, batch, tokens)) + own);
}

}  // namespace

TEST_CASE("backend/cuda/backward: float as by the scalar backend, and nothing beyond the tensors is touched") {
    check_both_pairings<float, exact<std::int32_t>>(11, 60);
    check_both_pairings<float, exact<double>>(12, 30);
}
TEST_CASE("backend/cuda/backward: 16 bits as by the scalar backend, and nothing beyond the tensors is touched") {
    check_both_pairings<float16, exact<std::int64_t>>(13, 40);
    check_both_pairings<bfloat16, exact<float>>(14, 40);
}
TEST_CASE("backend/cuda/backward: positions of several axes, as by the scalar backend") {
    check_both_pairings<float, axes3<std::int32_t>>(15, 60);
    check_both_pairings<bfloat16, axes3<double>>(16, 40);
}
TEST_CASE(
    "backend/cuda/backward: axes that rotate every pair together and angles of their own, as by the scalar backend") {
    check_both_pairings<float, summed3<std::int32_t, false>>(17, 60);
    check_both_pairings<bfloat16, summed3<double, false>>(18, 40);
    check_both_pairings<float, free_of_tokens<float>>(19, 40);
}
TEST_CASE("backend/cuda/backward: blocks' sums make the gradients of one basis and of one for each row") {
    check_many_tokens<half_split, float>(1, 43, 64);
    check_many_tokens<interleaved, bfloat16>(3, 75, 32);
    check_many_tokens<half_split, bfloat16>(3, 17, 18);
    check_many_tokens<half_split, float16>(3, 40, 128);
}
TEST_CASE("backend/cuda/backward: blocks' sums make the gradients to positions of several axes") {
    check_many_tokens<half_split, float>(1, 43, 64, 3);
    check_many_tokens<interleaved, bfloat16>(3, 75, 32, 2);
    check_many_tokens<interleaved, float>(1, 43, 20, 8);
    check_many_tokens<half_split, float16>(1, 41, 128, 4);
}

TEST_CASE(
    "backend/cuda/backward: blocks of q and k share a launch, hold every token once and have about as many heads") {
    using gradients = backend::team_gradients<bfloat16, no_norm>;
    for (const index_t bases : {1, 2, 7, 300}) {
        for (const index_t share : {1, 7, 8, 100, 512, 16'384, 1'000'003}) {
            for (const index_t teams : {8, 32, 256}) {
                CAPTURE(bases);
                CAPTURE(share);
                CAPTURE(teams);
                std::vector<gradients> operands(2);
                operands[0].heads = 32, operands[1].heads = 8;
                token_chunks chunks[backend::most_operands];
                const index_t tokens = share * bases, rows = backend::most_rows_of_sums(tokens, bases);
                CHECK(rows <= std::max(backend::most_device_chunks, bases));
                if (!backend::plan_chunks(std::span<gradients>(operands), chunks, tokens, bases, rows, teams, teams)) {
                    CHECK(rows < 2 * bases);
                    continue;
                }
                CHECK(chunks[0].count + chunks[1].count <= rows);
                CHECK(operands[0].first_block == 0);
                CHECK(operands[1].first_block == chunks[0].count);
                double heads[2];
                for (std::size_t o = 0; o < 2; ++o) {
                    const gradients& of = operands[o];
                    CHECK(of.tokens_of_step * of.teams_of_token <= teams);
                    CHECK(of.teams_of_token <= of.heads);
                    heads[o] = static_cast<double>(of.length * of.heads);
                    index_t next = 0;
                    for (index_t c = 0; c < chunks[o].count; ++c) {
                        REQUIRE(chunks[o].begin(c) == next);
                        REQUIRE((chunks[o].end(c) - 1) / share == next / share);
                        next = chunks[o].end(c);
                    }
                    CHECK(next == tokens);
                }
                if (share > 100'000) CHECK(std::fabs(heads[0] / heads[1] - 1.0) < 0.02);
            }
        }
    }
}

TEST_CASE("backend/cuda/backward: q and k share a launch if no gradient belongs to one token") {
    draw d(6);
    const basis b(frequencies(128), 1.25);
    std::vector<std::int32_t> ids(301);
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(d.between(-2000, 2000));
    const exact_angles angles(b, ids);
    const two_tensors<interleaved, bfloat16> tensors(d, 1, 301, 128);
    std::vector<backend::launch_size> launches;
    found_gradients found;
    with_device_angles(angles, [&](const auto& a) {
        found = tensors.gradients(a, test_device{&launches});
        CHECK(launches.size() == 4);
        launches.clear();
        const found_gradients sums = tensors.sums(a, test_device{&launches});
        CHECK(launches.size() == 2);
        CHECK(launches[0].blocks.x > 40);
        check_near(sums.inv_freq, found.inv_freq, 2000.0 * 4.0 * 7.0 * 301.0);
        check_near(sums.factor, found.factor, 4.0 * 7.0 * 64.0 * 301.0);
    });
}

TEST_CASE("backend/cuda/backward: more pairs than are in shared memory are processed one part after the other") {
    draw d(5);
    constexpr index_t pairs = 1201;
    const basis b(frequencies(2 * pairs));
    const std::vector<std::int32_t> ids{3, -5};
    const exact_angles angles(b, ids);
    const two_tensors<half_split, float> tensors(d, 1, 2, 2 * pairs);
    found_gradients found;
    with_device_angles(angles, [&](const auto& a) { found = tensors.gradients(a, test_device{}); });
    const found_gradients expected = tensors.gradients(angles);
    check_near(found.inv_freq, expected.inv_freq, 4.0 * 7.0 * 10.0);
    check_near(found.position, expected.position, 4.0 * 7.0 * 1201.0);
    check_near(found.factor, expected.factor, 4.0 * 7.0 * 2.0 * 1201.0);
    check_near(found.angle, expected.angle, 4.0 * 7.0);
}

TEST_CASE("backend/cuda/backward: the sums of more bases than a launch has blocks are added up too") {
    constexpr index_t bases = 5, pairs = 2;
    const std::vector<double> factors(bases, 0.5);
    std::vector<double> sums(bases * 3 * (pairs + 1)), inv_freq(bases * pairs), factor(bases);
    std::iota(sums.begin(), sums.end(), 0.0);
    backend::gradient_sums_kernel kernel{sums.data(),     pairs + 1,     pairs + 1,      pairs, bases, bases,
                                         inv_freq.data(), factor.data(), factors.data(), 1,     {}};
    kernel.operands[0] = {.rows_of_basis = 3, .rows = 3 * bases, .is_rotated = true};
    test_device{}.launch("test", kernel, {{8, 32}, {1, 2}});
    for (std::size_t b = 0; b < bases; ++b) {  // three chunks of a basis, three numbers of each
        const double first = 9.0 * static_cast<double>(b);
        CHECK(inv_freq[2 * b] == 3.0 * (first + 3.0));
        CHECK(inv_freq[2 * b + 1] == 3.0 * (first + 4.0));
        CHECK(factor[b] == 3.0 * (first + 5.0) / 0.5);
    }
}
