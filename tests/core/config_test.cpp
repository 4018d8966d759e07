// SPDX-License-Identifier: MIT
#include "cordage/core/config.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tolerances.hpp"

using namespace cordage;

namespace {
const rope_config llama{.head_dim = 128, .rotary_dim = 128, .original_length = 4096};
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

rope_config changed(auto rope_config::*field, auto value) {
    rope_config c = llama;
    c.*field = value;
    return c;
}
}  // namespace

TEST_CASE("core/config: theta falls from 1 by equal ratios to theta_base^(-1 + 2/d)") {
    CHECK(llama.pairs() == 64);
    CHECK(llama.inv_freq(0) == 1.0);
    CHECK(std::fabs(llama.inv_freq(32) - 0.01) < 1e-17);
    CHECK(std::fabs(llama.inv_freq(63) / 1.1547819846894582e-4 - 1.0) < cordage_test::closed_form);  // 10000^(-126/128)
    const double ratio = std::pow(10000.0, -2.0 / 128.0);
    for (index_t pair = 1; pair < llama.pairs(); ++pair) {
        CHECK(std::fabs(llama.inv_freq(pair) / llama.inv_freq(pair - 1) / ratio - 1.0) < cordage_test::closed_form);
        CHECK(std::fabs(llama.log_inv_freq(pair) - std::log(llama.inv_freq(pair))) < cordage_test::closed_form * 10);
    }
}

TEST_CASE("core/config: the gate of a pair bounds the phase at the trained length") {
    const rope_config small{.head_dim = 8, .rotary_dim = 8, .original_length = 99.0};
    CHECK(small.phase_gate(0) == 0.01);
    CHECK(std::fabs(small.phase_gate(2) - 1.0 / 1.99) < 1e-15);
    for (index_t pair = 0; pair < llama.pairs(); ++pair) {
        const double moved = llama.inv_freq(pair) * std::exp(-0.1 * llama.phase_gate(pair));
        CHECK(std::fabs(moved - llama.inv_freq(pair)) * llama.original_length < 0.1);
    }
}

TEST_CASE("core/config: exponents run over rotary_dim, not head_dim") {
    const rope_config partial{.head_dim = 128, .rotary_dim = 32, .original_length = 2048};
    CHECK(partial.pairs() == 16);
    CHECK(std::fabs(partial.inv_freq(8) - 0.01) < 1e-17);
}

TEST_CASE("core/config: validate names the field, its value and what was expected") {
    CHECK_NOTHROW(validate(llama));
    CHECK_NOTHROW(validate(changed(&rope_config::rotary_dim, 2)));
    const auto refuses = [](const rope_config& config, const char* text) {
        CHECK_THROWS_WITH_AS(validate(config), text, value_error);
    };
    refuses(changed(&rope_config::rotary_dim, 129),
            "rope_config: rotary_dim 129 must be even, >= 2 and <= head_dim 128");
    refuses(changed(&rope_config::rotary_dim, 130),
            "rope_config: rotary_dim 130 must be even, >= 2 and <= head_dim 128");
    refuses(changed(&rope_config::rotary_dim, 63), "rope_config: rotary_dim 63 must be even, >= 2 and <= head_dim 128");
    refuses(changed(&rope_config::rotary_dim, 0), "rope_config: rotary_dim 0 must be even, >= 2 and <= head_dim 128");
    refuses(changed(&rope_config::rotary_dim, -4), "rope_config: rotary_dim -4 must be even, >= 2 and <= head_dim 128");
    refuses(changed(&rope_config::head_dim, 1), "rope_config: head_dim 1 must be >= 2 and <= 1048576");
    refuses(changed(&rope_config::head_dim, std::numeric_limits<index_t>::max()),
            "rope_config: head_dim 9223372036854775807 must be >= 2 and <= 1048576");
    refuses(changed(&rope_config::theta_base, 1.0), "rope_config: theta_base 1 must be finite and > 1");
    refuses(changed(&rope_config::theta_base, not_a_number), "rope_config: theta_base nan must be finite and > 1");
    refuses(changed(&rope_config::original_length, 0.0), "rope_config: original_length 0 must be finite and >= 1");
    refuses(changed(&rope_config::original_length, std::numeric_limits<double>::infinity()),
            "rope_config: original_length inf must be finite and >= 1");
}

TEST_CASE("core/config: a length ratio below 1 or not finite is refused with the caller's name") {
    CHECK_NOTHROW(validate_ratio({"f: ", "t"}, 1.0));
    CHECK_THROWS_WITH_AS(validate_ratio({"f: ", "t"}, 0.5), "f: t 0.5 must be finite and >= 1", value_error);
    CHECK_THROWS_WITH_AS(validate_ratio({"f: ", "t"}, std::nextafter(1.0, 0.0)),
                         "f: t 0.9999999999999999 must be finite and >= 1", value_error);
    CHECK_THROWS_WITH_AS(validate_ratio({"f: ", "t"}, not_a_number), "f: t nan must be finite and >= 1", value_error);
    CHECK_THROWS_AS(validate_ratio({"f: ", "t"}, -std::numeric_limits<double>::infinity()), value_error);
}
