// SPDX-License-Identifier: MIT
#include "cordage/models/head_temperatures.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

using namespace cordage;

namespace {

const head_temperatures example{{0.5, -0.25}, {1.0, 0.75}};
const heads_shape shape{.batch = 2, .tokens = 3, .heads = 2, .head_dim = 4};

std::vector<double> ramp(std::size_t size) {
    std::vector<double> out(size);
    for (std::size_t i = 0; i < size; ++i) out[i] = std::sin(0.7 * static_cast<double>(i) + 0.1);
    return out;
}

/// transformers computes ln(p + 1) in float32.
constexpr double log_in_float = 1e-6;

}  // namespace

TEST_CASE("models/head_temperatures: scale ln(p + 1) + bias, head by head") {
    CHECK(example.at(0, 0.0) == 1.0);
    CHECK(example.at(0, 99.0) == doctest::Approx(1.0 + 0.5 * std::log(100.0)).epsilon(1e-15));
    CHECK(example.at(1, 99.0) == doctest::Approx(0.75 - 0.25 * std::log(100.0)).epsilon(1e-15));
}

TEST_CASE("models/head_temperatures: queries and gradients equal those of transformers' class") {
    std::ifstream in(CORDAGE_GOLDEN_DIR "/lerope.json");
    const auto golden = nlohmann::json::parse(in);
    int cases = 0;
    for (const auto& one : golden["cases"]) {
        if (one["kind"] != "head_temperatures") continue;
        ++cases;
        const auto numbers = [&](const char* name) {
            return (one[name].is_array() ? one[name] : one[name]["data"]).get<std::vector<double>>();
        };
        const head_temperatures temperatures{numbers("scale"), numbers("bias")};
        const auto position_ids = one["positions"].get<std::vector<std::int32_t>>();
        const heads_shape of_golden{.tokens = std::ssize(position_ids),
                                    .heads = temperatures.heads(),
                                    .head_dim = one["q"]["shape"][2].get<index_t>()};
        const std::vector<double> q = numbers("q"), grad_scaled = numbers("grad_scaled");
        std::vector<double> scaled(q.size()), grad_q(q.size());
        scale_queries(temperatures, position_ids,
                      from_to(token_major(q.data(), of_golden), token_major(scaled.data(), of_golden)));
        std::vector<double> grad_scale(temperatures.scale.size()), grad_bias(grad_scale.size());
        scale_queries_backward(temperatures, position_ids, {.scale = grad_scale, .bias = grad_bias},
                               grad_through(token_major(grad_scaled.data(), of_golden),
                                            token_major(q.data(), of_golden), token_major(grad_q.data(), of_golden)));
        const auto agree = [&](const std::vector<double>& found, const char* name) {
            CAPTURE(name);
            const auto expected = numbers(name);
            REQUIRE(found.size() == expected.size());
            for (std::size_t i = 0; i < found.size(); ++i) {
                CHECK(found[i] == doctest::Approx(expected[i]).epsilon(log_in_float).scale(10.0));
            }
        };
        agree(scaled, "scaled");
        agree(grad_q, "grad_q");
        agree(grad_scale, "grad_scale");
        agree(grad_bias, "grad_bias");
    }
    CHECK(cases == 2);
}

TEST_CASE("models/head_temperatures: forward and back in a few lines") {
    const std::vector<double> scale{0.5, -0.25}, bias{1.0, 0.75}, numbers = ramp(48);
    const std::vector<int> position_ids{0, 3, 8};
    std::vector<double> scaled_numbers(48), grad_numbers(48, 1.0), grad_scale(2), grad_bias(2);
    const auto q = token_major(numbers.data(), shape);
    const auto scaled = token_major(scaled_numbers.data(), shape), grad_q = token_major(grad_numbers.data(), shape);
    // [head_temperatures]
    const cordage::head_temperatures temperatures{scale, bias};  // [heads]
    cordage::scale_queries(temperatures, position_ids, cordage::from_to(q, scaled));
    cordage::scale_queries_backward(temperatures, position_ids, {.scale = grad_scale, .bias = grad_bias},
                                    cordage::grad_through(grad_q, q, grad_q));
    // [/head_temperatures]
    double sum = 0.0, of_parameters = 0.0;  // the loss is the sum of scaled, which is linear in scale and bias
    for (const double each : scaled_numbers) sum += each;
    for (std::size_t h = 0; h < 2; ++h) of_parameters += scale[h] * grad_scale[h] + bias[h] * grad_bias[h];
    CHECK(of_parameters == doctest::Approx(sum).epsilon(1e-13));
    CHECK(grad_numbers[8] == temperatures.at(0, 3.0));
}

TEST_CASE("models/head_temperatures: rows with positions of their own, in place, any strides, float and bfloat16") {
    const std::vector<std::int64_t> position_ids{0, 1, 7, 100, 101, 1'000'000};
    const position_view<std::int64_t> rows(position_ids.data(), 2, 3, 3);
    const std::vector<double> q = ramp(48);
    std::vector<double> in_double = q;
    scale_queries(example, rows, in_place(token_major(in_double.data(), shape)));
    for (index_t i = 0; i < 48; ++i) {
        const double factor = example.at(i / 4 % 2, static_cast<double>(position_ids[static_cast<std::size_t>(i / 8)]));
        CHECK(in_double[static_cast<std::size_t>(i)] ==
              doctest::Approx(factor * q[static_cast<std::size_t>(i)]).epsilon(1e-14));
    }
    std::vector<float> narrow(q.begin(), q.end()), by_heads(48);
    std::vector<bfloat16> brief(48);
    scale_queries(example, rows, from_to(token_major(narrow.data(), shape), head_major(by_heads.data(), shape)));
    scale_queries(example, rows, from_to(token_major(narrow.data(), shape), token_major(brief.data(), shape)));
    const auto moved = head_major(by_heads.data(), shape);
    for (index_t row = 0; row < 2; ++row) {
        for (index_t token = 0; token < 3; ++token) {
            for (index_t lane = 0; lane < 8; ++lane) {
                const auto i = static_cast<std::size_t>((row * 3 + token) * 8 + lane);
                const float found = moved.head(row, token, lane / 4)[lane % 4];
                CHECK(found == doctest::Approx(in_double[i]).epsilon(3e-7));
                CHECK(brief[i].bits == to_bfloat16(found).bits);
            }
        }
    }
}

TEST_CASE(
    "models/head_temperatures: the gradients are derivatives, also where the factor is 0, added to what is there") {
    const std::vector<int> position_ids{0, 4, 9};                                // one row of positions for both
    const head_temperatures vanishing{{0.5, 0.0}, {-0.5 * std::log(5.0), 2.0}};  // of head 0 at position 4
    const std::vector<double> q = ramp(48), weights = ramp(96);
    const auto loss = [&](const head_temperatures& temperatures) {
        std::vector<double> y = q;
        scale_queries(temperatures, position_ids, in_place(token_major(y.data(), shape)));
        double sum = 0.0;
        for (std::size_t i = 0; i < 48; ++i) sum += weights[i + 48] * y[i];
        return sum;
    };
    std::vector<double> grad(weights.begin() + 48, weights.end()), grad_scale(2, 10.0), grad_bias(2, 20.0);
    const auto view = token_major(grad.data(), shape);
    scale_queries_backward(vanishing, position_ids, {.scale = grad_scale, .bias = grad_bias},
                           grad_through(view, token_major(q.data(), shape), view));
    for (std::size_t head = 0; head < 2; ++head) {  // the result is linear in both: steps of 1 are exact
        head_temperatures moved = vanishing;
        moved.scale[head] += 1.0;
        CHECK(grad_scale[head] - 10.0 == doctest::Approx(loss(moved) - loss(vanishing)).epsilon(1e-12));
        moved = vanishing;
        moved.bias[head] += 1.0;
        CHECK(grad_bias[head] - 20.0 == doctest::Approx(loss(moved) - loss(vanishing)).epsilon(1e-12));
    }
    for (std::size_t i = 0; i < 48; ++i) {
        const double factor = vanishing.at(static_cast<index_t>(i / 4 % 2), position_ids[i / 8 % 3]);
        CHECK(grad[i] == doctest::Approx(factor * weights[i + 48]).epsilon(1e-14));
    }
    std::vector<double> alone(2), again(weights.begin() + 48, weights.end());
    const auto second = token_major(again.data(), shape);
    scale_queries_backward(vanishing, position_ids, {.bias = alone},
                           grad_through(second, token_major(q.data(), shape), second));
    CHECK(alone[1] == doctest::Approx(grad_bias[1] - 20.0).epsilon(1e-12));
    CHECK(again == grad);
}

TEST_CASE("models/head_temperatures: all lanes of a head, whichever the operand rotates") {
    const std::vector<std::int32_t> ids{2, 5, 9};
    std::vector<float> q(24, 1.0f), wanted = q, grad(24, 1.0f), wanted_grad = grad;
    std::vector<double> sums(2), wanted_sums(2);
    const heads_shape one_row{1, 3, 2, 4};
    scale_queries(example, ids, in_place(token_major(wanted.data(), one_row)));
    scale_queries(example, ids, in_place(token_major(q.data(), one_row), 2));
    CHECK(q == wanted);
    const auto x = token_major(q.data(), one_row);
    const auto through = [&](std::vector<float>& to, std::vector<double>& scale, index_t first_lane) {
        const auto gradient = token_major(to.data(), one_row);
        scale_queries_backward(example, ids, {.scale = scale}, grad_through(gradient, x, gradient, first_lane));
    };
    through(wanted_grad, wanted_sums, 0), through(grad, sums, 2);
    CHECK(grad == wanted_grad);
    CHECK(sums == wanted_sums);
}

TEST_CASE("models/head_temperatures: no queries, however many rows of them") {
    const std::vector<int> none;
    const heads_shape empty{.batch = index_t{1} << 50, .tokens = 0, .heads = 2, .head_dim = 4};
    CHECK_NOTHROW(scale_queries(example, none, in_place(token_major(static_cast<double*>(nullptr), empty))));
}

TEST_CASE("models/head_temperatures: tokens without a slot are left out") {
    std::vector<double> cache(32, 1.0);  // 8 numbers a token
    const std::vector<std::int32_t> slots{2, -1, 0}, position_ids{3, 4, 5};
    const auto blocks = token_major(cache.data(), {.batch = 1, .tokens = 4, .heads = 2, .head_dim = 4});
    scale_queries(example, position_ids, in_place(in_slots(blocks, slots.data(), 1, 3)));
    CHECK(cache[16] == example.at(0, 3.0));
    CHECK(cache[4] == example.at(1, 5.0));
    CHECK(cache[8] == 1.0);
    CHECK(cache[24] == 1.0);
}

TEST_CASE("models/head_temperatures: invalid arguments are named before anything is written") {
    std::vector<double> q = ramp(48), grad = q;
    const std::vector<double> untouched = q;
    const auto view = token_major(q.data(), shape), of_grad = token_major(grad.data(), shape);
    const std::vector<int> position_ids{0, 1, 2}, negative{0, 1, -1}, few{0, 1};
    const std::vector<double> endless{0.0, 1.0, HUGE_VAL};
    CHECK_THROWS_WITH_AS(scale_queries(example, negative, in_place(view)),
                         "scale_queries: position_ids[0, 2] -1 must be finite and >= 0", value_error);
    CHECK_THROWS_AS(scale_queries(example, endless, in_place(view)), value_error);
    CHECK_THROWS_WITH_AS(
        scale_queries(example, few, in_place(view)),
        "scale_queries: angles [1, 2] must be [1 or batch, tokens] of [2, 3, 2, 4], a position for each token",
        shape_error);
    CHECK_THROWS_WITH_AS(scale_queries({{1.0}, {1.0}}, position_ids, in_place(view)),
                         "scale_queries: temperatures have 1 heads, must have the 2 heads of [2, 3, 2, 4]",
                         shape_error);
    CHECK_THROWS_WITH_AS(scale_queries({{1.0, 1.0}, {1.0}}, position_ids, in_place(view)),
                         "head_temperatures: bias size 1 must be scale size 2", shape_error);
    CHECK_THROWS_WITH_AS(scale_queries({{1.0, std::nan("")}, {1.0, 1.0}}, position_ids, in_place(view)),
                         "head_temperatures: scale[1] nan must be finite", value_error);
    CHECK_THROWS_WITH_AS(scale_queries({{1.0, 1.0}, {HUGE_VAL, 1.0}}, position_ids, in_place(view)),
                         "head_temperatures: bias[0] inf must be finite", value_error);
    std::vector<double> sums(3);
    CHECK_THROWS_WITH_AS(
        scale_queries_backward(example, position_ids, {.scale = sums}, grad_through(of_grad, view, of_grad)),
        "scale_queries_backward: gradient of scale size 3 must be 0 or heads 2", shape_error);
    CHECK_THROWS_WITH_AS(scale_queries_backward(example, negative, {}, grad_through(of_grad, view, of_grad)),
                         "scale_queries_backward: position_ids[0, 2] -1 must be finite and >= 0", value_error);
    CHECK(q == untouched);
    CHECK(grad == untouched);
    CHECK_THROWS_WITH_AS(example.at(2, 0.0), "head_temperatures: head 2 must be 0 to 1", value_error);
    CHECK_THROWS_WITH_AS(example.at(0, -1.0), "head_temperatures: position -1 must be finite and >= 0", value_error);
}
