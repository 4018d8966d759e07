// SPDX-License-Identifier: MIT
// The library loaded by the comparison with other packages: its rotation must be correct before it is timed.
#include "../../benchmarks/peers/cordage_peer.cpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>

#include "rotate/naive_rotation.hpp"

namespace {

using namespace cordage;

std::span<const rope_peer> all_entries() {
    const rope_peer* first = nullptr;
    const std::int32_t count = rope_peers(&first);
    return {first, static_cast<std::size_t>(count)};
}

// Numbers that identify their place, in the element type of a case.
template <class T>
std::vector<T> numbers(std::int64_t count, std::uint32_t seed) {
    std::mt19937 generator(seed);
    std::vector<T> x(static_cast<std::size_t>(count));
    for (T& value : x) value = cordage_test::stored<T>(std::uniform_real_distribution(-2.0, 2.0)(generator));
    return x;
}

template <class Pairing, class T>
void rotate_by_the_scalar_backend(const rope_case& c, std::vector<T>& x, index_t heads) {
    const basis b = basis_of(c);
    const exact_angles angles(b, position_view<std::int64_t>(c.positions, 1, c.tokens, 0));
    rotate_forward<Pairing, backend::scalar>(angles, in_place(token_major(x.data(), {1, c.tokens, heads, c.head_dim})));
}

template <class T>
void check_entry(const rope_peer& peer, rope_case c, std::int32_t dtype, std::int64_t runs) {
    c.dtype = dtype;
    auto q = numbers<T>(c.tokens * c.heads * c.head_dim, 1), k = numbers<T>(c.tokens * c.kv_heads * c.head_dim, 2);
    auto q_out = q, k_out = k;
    void* const self = peer.setup(&c);
    REQUIRE(self != nullptr);
    peer.load(self, q.data(), c.kv_heads == 0 ? nullptr : k.data());
    peer.run(self, runs);
    peer.store(self, q_out.data(), c.kv_heads == 0 ? nullptr : k_out.data());
    peer.release(self);
    for (std::int64_t i = 0; i < runs; ++i) {
        if (peer.style == rope_half_split) {
            rotate_by_the_scalar_backend<half_split>(c, q, c.heads);
            rotate_by_the_scalar_backend<half_split>(c, k, c.kv_heads);
        } else {
            rotate_by_the_scalar_backend<interleaved>(c, q, c.heads);
            rotate_by_the_scalar_backend<interleaved>(c, k, c.kv_heads);
        }
    }
    const auto largest_difference = [](const std::vector<T>& a, const std::vector<T>& b) {
        double largest = 0.0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const double difference = cordage_test::value(a[i]) - cordage_test::value(b[i]);
            largest = std::max(largest, std::fabs(difference));
        }
        return largest;
    };
    // |x| stays below 3: each run may differ from the scalar backend by one unit in the last place.
    const double allowed = static_cast<double>(runs) * std::max(1e-6, cordage_test::unit_in_last_place<T>(2.9));
    CHECK(largest_difference(q_out, q) <= allowed);
    CHECK(largest_difference(k_out, k) <= allowed);
}

TEST_CASE("peers/cordage_peer: every entry, dtype and thread count rotates q and k as the scalar backend does") {
    CHECK(all_entries().size() == 4);
    std::vector<std::int64_t> positions(130);
    std::iota(positions.begin(), positions.end(), 999'900);
    std::set<std::string> names;
    for (const rope_peer& peer : all_entries()) {
        CAPTURE(peer.name);
        CHECK(names.insert(peer.name).second);
        for (const std::int32_t thread_count : {1, 2}) {
            for (const std::int64_t kv_heads : {0, 2}) {
                const rope_case c{130, 3, kv_heads, 64, rope_fp32, thread_count, positions.data(), 10000.0f};
                check_entry<float>(peer, c, rope_fp32, 1);
                check_entry<float16>(peer, c, rope_fp16, 1);
                check_entry<bfloat16>(peer, c, rope_bf16, 1);
            }
        }
        const rope_case one_token{1, 32, 8, 128, rope_fp32, 1, positions.data(), 10000.0f};
        check_entry<float>(peer, one_token, rope_fp32, 3);  // in place: a run rotates the result of the previous one
    }
}

TEST_CASE("peers/cordage_peer: a case that cannot be done is refused, not thrown") {
    const std::int64_t position = 0;
    for (const rope_peer& peer : all_entries()) {
        const rope_case no_dtype{1, 1, 1, 64, 7, 1, &position, 10000.0f};
        CHECK(peer.setup(&no_dtype) == nullptr);
        const rope_case no_head{1, 1, 1, 0, rope_fp32, 1, &position, 10000.0f};
        CHECK(peer.setup(&no_head) == nullptr);
    }
}

TEST_CASE("peers/cordage_peer: the table that is timed holds cos and sin of position times inv_freq") {
    const std::vector<std::int64_t> positions{0, 5, 1'000'000};
    const rope_case c{3, 1, 1, 8, rope_fp32, 1, positions.data(), 10000.0f};
    std::vector<float> cos(12), sin(12);
    REQUIRE(cordage_build_table(&c, 2, cos.data(), sin.data()) == 0);
    for (std::size_t i = 0; i < cos.size(); ++i) {
        const double angle = static_cast<double>(positions[i / 4]) * std::pow(10.0, -static_cast<double>(i % 4));
        CAPTURE(angle);
        CHECK(std::fabs(cos[i] - std::cos(angle)) < cordage_test::cos_sin_float);
        CHECK(std::fabs(sin[i] - std::sin(angle)) < cordage_test::cos_sin_float);
    }
    const rope_case odd{3, 1, 1, 0, rope_fp32, 1, positions.data(), 10000.0f};
    CHECK(cordage_build_table(&odd, 1, nullptr, nullptr) == 1);
}

}  // namespace
