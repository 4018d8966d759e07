// SPDX-License-Identifier: MIT
// The C interface of ./run bench --peers, which has no header.
#include "../../benchmarks/peers/cache_peer.cpp"

#include <doctest/doctest.h>

using namespace cordage;

namespace {

constexpr index_t tokens = 3, heads = 2, kv_heads = 1, head_dim = 16;

/// Inputs of a case and space for its results, in floats.
struct memory {
    std::vector<std::int64_t> positions{5, 6, 700}, slots{6, 0, 3};
    std::vector<float> q = drawn(heads), k = drawn(kv_heads), v = drawn(kv_heads),
                       norm = std::vector<float>(head_dim, 1.5f);
    std::vector<float> q_out = std::vector<float>(q.size()), keys = std::vector<float>(8 * head_dim), values = keys,
                       key_scales = std::vector<float>(8), value_scales = key_scales;

    static std::vector<float> drawn(index_t of) {
        std::vector<float> x(static_cast<std::size_t>(tokens * of * head_dim));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)));
        return x;
    }
    cache_case of(std::int32_t dtype, std::int32_t stored) {
        return {.of = {tokens, heads, kv_heads, head_dim, dtype, 2, positions.data(), 10000.0f},
                .blocks = 2,
                .block_size = 4,
                .stored = stored,
                .slots = slots.data(),
                .q_norm = norm.data(),
                .k_norm = norm.data(),
                .q = q.data(),
                .k = k.data(),
                .v = v.data(),
                .q_out = q_out.data(),
                .keys = keys.data(),
                .values = values.data(),
                .key_scales = key_scales.data(),
                .value_scales = value_scales.data()};
    }
};

}  // namespace

TEST_CASE("peers/cache_peer: q is normalized and rotated, k also lies in its slots, v is unchanged") {
    memory m;
    const cache_case c = m.of(rope_fp32, stored_fp32);
    REQUIRE(cordage_cache_path(&c, 2) == 0);
    double squares = 0.0;
    for (const float x : std::span(m.q).first(head_dim)) squares += double{x} * double{x};
    const double r = 1.5 / std::sqrt(squares / head_dim + 1e-6), angle = 5.0;  // the first pair's frequency is 1
    CHECK(double{m.q_out[0]} ==
          doctest::Approx(r * (double{m.q[0]} * std::cos(angle) - double{m.q[head_dim / 2]} * std::sin(angle))));
    CHECK(m.keys[6 * head_dim] == doctest::Approx(m.q_out[0]));  // k's first head is q's first head
    for (index_t token = 0; token < tokens; ++token) {
        const auto from = static_cast<std::size_t>(token * head_dim);
        const auto to = static_cast<std::size_t>(m.slots[static_cast<std::size_t>(token)] * head_dim);
        CHECK(m.values[to + 5] == m.v[from + 5]);
    }
    CHECK(m.values[head_dim] == 0.0f);  // an unused slot
}

TEST_CASE("peers/cache_peer: codes times their scales equal the floats") {
    memory exact, m;
    const cache_case plain = exact.of(rope_fp32, stored_fp32), c = m.of(rope_fp32, stored_int8);
    REQUIRE(cordage_cache_path(&plain, 1) == 0);
    REQUIRE(cordage_cache_path(&c, 1) == 0);
    const auto* codes = reinterpret_cast<const std::int8_t*>(m.keys.data());
    for (std::size_t i = 6 * head_dim; i < 7 * head_dim; ++i) {
        CHECK(float{m.key_scales[6]} * static_cast<float>(codes[i]) ==
              doctest::Approx(exact.keys[i]).epsilon(0.0).scale(1.0).epsilon(0.02));
    }
}

TEST_CASE("peers/cache_peer: a case that cannot be done is refused, not thrown") {
    memory m;
    const cache_case half = m.of(rope_fp16, stored_fp16), unknown = m.of(rope_fp32, 9);
    m.slots[2] = 8;
    const cache_case outside = m.of(rope_fp32, stored_fp32);
    for (const cache_case* c : {&half, &unknown, &outside}) CHECK(cordage_cache_path(c, 1) == 1);
}
