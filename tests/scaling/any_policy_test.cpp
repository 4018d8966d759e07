// SPDX-License-Identifier: MIT
#include "cordage/scaling/any_policy.hpp"

#include <algorithm>

#include "../../examples/own_methods/dynamic_longrope.hpp"
#include "../../examples/own_methods/resonance.hpp"
#include "../../examples/own_methods/tabulated.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {
// Equal up to a rounding or two: two copies of one formula may be contracted differently.
bool same_numbers(const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](double x, double y) { return close_relative(x, y, 1e-15); });
}

template <class Policy>
void check_same_numbers(const Policy& policy) {
    const any_policy held(policy);
    std::vector<double> direct(64), through(64);
    for (const double t : {1.0, 2.5, 16.0}) {
        log_alpha(policy, llama2(), t, direct);
        log_alpha(held, llama2(), t, through);
        CHECK(same_numbers(direct, through));
        log_alpha_rate(policy, llama2(), t, direct);
        log_alpha_rate(held, llama2(), t, through);
        CHECK(same_numbers(direct, through));
        CHECK(attention_factor(held, llama2(), t) == attention_factor(policy, llama2(), t));
        CHECK(attention_factor_rate(held, llama2(), t) == attention_factor_rate(policy, llama2(), t));
    }
}
}  // namespace

TEST_CASE("scaling/any_policy: it gives the numbers of the policy it holds") {
    check_same_numbers(ntk_aware{});
    check_same_numbers(by_parts{.rotations_low = 2.0, .rotations_high = 8.0});
    check_same_numbers(yarn{.truncate = false});
    const std::vector<double> factors(64, 1.5);
    check_same_numbers(longrope{factors, factors, 1.2});
    check_same_numbers(own::dynamic_longrope{factors, 8.0});
    check_same_numbers(proportional{0.25});
    check_same_numbers(masked<linear>{{}, std::vector<unsigned char>(64, 1)});
    check_same_numbers(own::resonance<yarn>{});
    check_same_numbers(own::tabulated({1.0}, factors));
    check_same_numbers(llama3{});
}

TEST_CASE("scaling/any_policy: policies chosen at run time share one list") {
    const std::vector<any_policy> list{ntk_aware{}, yarn{}, any_policy(by_parts{})};
    std::vector<double> out(64);
    for (const any_policy& policy : list) {
        any_policy copy = policy;
        log_alpha(copy, llama2(), 4.0, out);
        CHECK(close_relative(std::exp(out[63]), 0.25, closed_form));
    }
}

TEST_CASE("scaling/any_policy: it checks the settings of its policy") {
    CHECK_THROWS_AS(validate(any_policy(by_parts{4.0, 1.0}), llama2()), value_error);
    CHECK_NOTHROW(validate(any_policy(ntk_aware{}), llama2()));
}

TEST_CASE("scaling/any_policy: a learned policy keeps its parameters and their gradient") {
    const learned_table<> table(llama2(), {2, 4});
    const any_policy held(table);
    CHECK(held.parameters() == table.parameters());

    std::vector<double> numbers(held.parameters().size());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 1e-3 * static_cast<double>(i);
    const any_policy moved = held.with_parameters(numbers);
    CHECK(moved.parameters() == numbers);
    CHECK(held.parameters() == table.parameters());

    std::vector<double> direct(64), through(64);
    log_alpha(table.with_parameters(numbers), llama2(), 3.0, direct);
    log_alpha(moved, llama2(), 3.0, through);
    CHECK(same_numbers(direct, through));

    const std::vector<double> grad(64, 1.0);
    std::vector<double> grad_direct(numbers.size()), grad_through(numbers.size());
    table.log_alpha_vjp(llama2(), 3.0, grad, grad_direct);
    held.log_alpha_vjp(llama2(), 3.0, grad, grad_through);
    CHECK(grad_direct == grad_through);
    CHECK(grad_direct != std::vector<double>(numbers.size()));
}

TEST_CASE("scaling/any_policy: a closed form has no parameters and takes none") {
    const any_policy held(ntk_aware{});
    std::vector<double> one(1), none;
    const std::vector<double> grad(64, 1.0);
    CHECK(held.parameters().empty());
    CHECK_NOTHROW(held.with_parameters(none).log_alpha_vjp(llama2(), 2.0, grad, none));
    CHECK_THROWS_AS(held.with_parameters(one), shape_error);
    CHECK_THROWS_AS(held.log_alpha_vjp(llama2(), 2.0, grad, one), shape_error);
}
