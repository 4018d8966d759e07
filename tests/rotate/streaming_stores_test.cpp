// SPDX-License-Identifier: MIT
// Calls with more bytes than any cache, whose results are written by non-temporal stores. Most of their tokens have no
// slot, so that these bytes need no memory.
#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "cordage/kernels.hpp"

using namespace cordage;

namespace {

struct head_layout {
    index_t head_dim, rotary_dim, first_lane;
};
constexpr head_layout layouts[]{{128, 128, 0}, {192, 128, 64}, {128, 64, 0}, {256, 256, 0}};
constexpr index_t heads = 203, held = 6, slots = held + 2;

// Twice the bytes that exceed the caches of this processor, and at least 128 MB.
index_t many_bytes() {
    index_t bytes = index_t{1} << 26;
#if defined(CORDAGE_HAS_SIMD)
    while (!backend::exceeds_caches<xsimd::default_arch>(bytes)) bytes *= 2;
#endif
    return 2 * bytes;
}

template <class T>
index_t many_tokens(index_t head_dim) {
    return many_bytes() / (heads * head_dim * static_cast<index_t>(sizeof(T)));
}

basis some_basis(index_t pairs) {
    std::vector<double> inv_freq;
    for (index_t i = 0; i < pairs; ++i) inv_freq.push_back(1.0 / static_cast<double>(1 + i));
    return basis(inv_freq);
}

// Elements at a 64-byte boundary, or `offset` elements after one.
template <class T>
struct lines {
    std::vector<std::byte> bytes;
    T* data;

    lines(index_t count, index_t offset, float seed)
        : bytes(static_cast<std::size_t>(count + offset) * sizeof(T) + 64),
          data(reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(bytes.data()) + 63) / 64 * 64) + offset) {
        for (index_t i = 0; i < count; ++i) {
            data[i] = element_traits<T>::store(
                static_cast<typename element_traits<T>::compute>(seed + static_cast<float>(i % 251) / 64.0f));
        }
    }
};

template <class T>
bool same_bytes(const lines<T>& a, const lines<T>& b, index_t count) {
    return std::memcmp(a.data, b.data, static_cast<std::size_t>(count) * sizeof(T)) == 0;
}

// The tokens of each call and their slots. A call over all tokens skips the others.
struct held_tokens {
    std::vector<std::int32_t> of_all, of_few, few;

    explicit held_tokens(index_t tokens) : of_all(static_cast<std::size_t>(tokens), -1) {
        for (index_t i = 0; i < held; ++i) {
            const index_t token = i * (tokens - 1) / (held - 1);
            few.push_back(static_cast<std::int32_t>(token));
            of_few.push_back(static_cast<std::int32_t>((i * 5 + 1) % slots));
            of_all[static_cast<std::size_t>(token)] = of_few.back();
        }
    }
};

// run(positions, slot of each token, tokens, cache): with all tokens into one cache, with those that have slots into
// another.
template <class T, class Run>
void check_same_bytes(const head_layout& layout, index_t offset, const Run& run) {
    const index_t tokens = many_tokens<T>(layout.head_dim), count = slots * heads * layout.head_dim;
    const held_tokens which(tokens);
    std::vector<std::int32_t> positions(static_cast<std::size_t>(tokens));
    std::iota(positions.begin(), positions.end(), 0);
    lines<T> by_all(count, offset, -3.0f), by_few(count, offset, -3.0f);
    const auto cache = [&](lines<T>& of) { return token_major(of.data, {1, slots, heads, layout.head_dim}); };
    run(positions, which.of_all, tokens, cache(by_all));
    run(which.few, which.of_few, held, cache(by_few));
    CHECK(same_bytes(by_all, by_few, count));
    const lines<T> before(count, offset, -3.0f);
    CHECK(!same_bytes(by_all, before, count));
}

// Every token reads the same heads.
template <class T>
heads_view<const T> one_for_all(const lines<T>& x, index_t tokens, index_t head_dim) {
    return {x.data, {1, tokens, heads, head_dim}, 0, 0, head_dim};
}

template <class X, class Y>
void check_forward() {
    for (const head_layout& layout : layouts) {
        const basis b = some_basis(layout.rotary_dim / 2);
        const lines<X> x(heads * layout.head_dim, 1, 1.0f);
        for (const index_t offset : {0, 16, 3}) {
            const auto check = [&]<class Pairing>(Pairing) {
                check_same_bytes<Y>(layout, offset, [&](const auto& ids, const auto& of, index_t tokens, auto cache) {
                    rotate_forward<Pairing>(exact_angles(b, ids),
                                            from_to(one_for_all(x, tokens, layout.head_dim),
                                                    in_slots(cache, of.data(), 1, tokens), layout.first_lane));
                });
            };
            check(half_split{});
            check(interleaved{});
        }
    }
}

}  // namespace

#if defined(CORDAGE_HAS_SIMD) && defined(__x86_64__)
TEST_CASE("rotate/streaming_stores: 4 GB exceed every cache, and for 32 MB the processor is not queried") {
    CHECK(backend::exceeds_caches<xsimd::default_arch>(index_t{1} << 32));
    CHECK_FALSE(backend::exceeds_caches<xsimd::default_arch>(index_t{1} << 25));
}
#endif

TEST_CASE_TEMPLATE("rotate/streaming_stores: the same bytes are written as by a small call, and no others", T, float,
                   float16, bfloat16, double) {
    check_forward<T, T>();
}

TEST_CASE_TEMPLATE("rotate/streaming_stores: so they are in place, a few heads at a time", T, float, bfloat16) {
    for (const head_layout& layout : layouts) {
        const basis b = some_basis(layout.rotary_dim / 2);
        const auto check = [&]<class Pairing>(Pairing) {
            check_same_bytes<T>(layout, 0, [&](const auto& ids, const auto& of, index_t tokens, auto cache) {
                rotate_forward<Pairing>(exact_angles(b, ids),
                                        in_place(in_slots(cache, of.data(), 1, tokens), layout.first_lane));
            });
        };
        check(half_split{});
        check(interleaved{});
    }
}

TEST_CASE("rotate/streaming_stores: so they are where y has another type") { check_forward<float, bfloat16>(); }

TEST_CASE_TEMPLATE("rotate/streaming_stores: so is grad_x, and its frequency gradient is the same sum", T, float,
                   float16, bfloat16, double) {
    for (const head_layout& layout : layouts) {
        const index_t pairs = layout.rotary_dim / 2;
        const basis b = some_basis(pairs);
        const lines<T> g(heads * layout.head_dim, 1, 1.0f), y(heads * layout.head_dim, 2, 0.5f);
        const auto check = [&]<class Pairing>(Pairing) {
            std::vector<std::vector<double>> sums;
            check_same_bytes<T>(layout, 0, [&](const auto& ids, const auto& of, index_t tokens, auto cache) {
                sums.emplace_back(static_cast<std::size_t>(pairs));
                rotate_backward<Pairing>(
                    exact_angles(b, ids), rotation_gradients{.inv_freq = sums.back()},
                    grad_through(one_for_all(g, tokens, layout.head_dim), one_for_all(y, tokens, layout.head_dim),
                                 in_slots(cache, of.data(), 1, tokens), layout.first_lane));
            });
            for (std::size_t i = 0; i < sums[0].size(); ++i) {
                CHECK(sums[0][i] == doctest::Approx(sums[1][i]).epsilon(1e-12).scale(0.0));
            }
        };
        check(half_split{});
        check(interleaved{});
    }
}
