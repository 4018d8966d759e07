// SPDX-License-Identifier: MIT
#include "cordage/basis/basis_cache.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"

using namespace cordage;

namespace {
const rope_config llama2{.head_dim = 128, .rotary_dim = 128, .original_length = 4096};
}

TEST_CASE("basis/basis_cache: each length gets the basis of the smallest t_k that covers it, and always the same one") {
    const basis_cache cache(llama2, yarn{}, nearest_upper_bound({1.0, 2.0, 4.0}));
    CHECK(&cache.at_length(1.0) == &cache.at_length(4096.0));
    CHECK(&cache.at_length(4097.0) == &cache.at_length(8192.0));
    CHECK(&cache.at_length(8193.0) == &cache.at_length(1e9));
    CHECK(cache.ratio(5000.0) == 2.0);
    for (const double seq_len : {10.0, 5000.0, 10000.0}) {
        const basis expected = make_basis(llama2, yarn{}, cache.ratio(seq_len));
        const basis& found = cache.at_length(seq_len);
        CHECK(std::ranges::equal(found.inv_freq(), expected.inv_freq()));
        CHECK(found.attention_factor() == expected.attention_factor());
    }
}

// Once, a seq_len of NaN got the basis of the largest t.
TEST_CASE("basis/basis_cache: a length that is no number of tokens is refused") {
    const basis_cache cache(llama2, linear{}, nearest_upper_bound({1.0, 2.0}));
    CHECK_THROWS_WITH_AS(cache.at_length(-1.0), "basis_cache: seq_len -1 must be finite and >= 0", value_error);
    CHECK_THROWS_AS(cache.at_length(std::numeric_limits<double>::quiet_NaN()), value_error);
    CHECK_THROWS_AS(cache.ratio(std::numeric_limits<double>::infinity()), value_error);
}

TEST_CASE("basis/basis_cache: a bad policy or model is refused when the cache is made") {
    CHECK_THROWS_AS(basis_cache(llama2, yarn{.beta_fast = 0.0}, nearest_upper_bound({1.0})), value_error);
    CHECK_THROWS_AS(basis_cache(rope_config{}, linear{}, nearest_upper_bound({1.0})), value_error);
}
