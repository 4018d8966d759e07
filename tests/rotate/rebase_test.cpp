// SPDX-License-Identifier: MIT
#include "cordage/rotate/forward.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <random>

#include "cordage/core/threads.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

std::vector<double> halved(std::vector<double> theta) {
    for (double& x : theta) x *= 0.5;
    return theta;
}

const heads_shape keys_shape{2, 3, 2, 24};
const std::vector<double> key_positions{0.0, -3.5, 4095.0, 131071.25, 17.0, 1e6};
const basis old_basis(frequencies(20), 1.25), new_basis(halved(frequencies(20)), 0.8);
// What the change is: half the old angle back, and 0.8/1.25 of the size. Halves leave every difference exact.
naive_rotation change_of(bool interleaved) {
    std::vector<double> theta = halved(frequencies(20));
    for (double& x : theta) x = -x;
    return {keys_shape, theta, 0.8 / 1.25, key_positions, interleaved};
}

template <class T>
void check_type() {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto keys = random_elements<T>(keys_shape, 60);
        const naive_rotation naive = change_of(is_interleaved<Pairing>);
        const auto expected = naive.turned(values(keys));
        const position_view<double> ids(key_positions.data(), 2, 3, 3);

        std::vector<T> dense = keys;
        rebase<Pairing, Backend>({.from = old_basis, .to = new_basis}, ids,
                                 in_place(token_major(dense.data(), keys_shape)));
        naive.check(values(keys), dense, expected);

        // Heads before tokens, and lanes between heads that belong to somebody else.
        const index_t width = 29, tokens = keys_shape.tokens, heads = keys_shape.heads;
        std::vector<T> wide(static_cast<std::size_t>(2 * heads * tokens * width), stored<T>(9.0));
        const heads_view<T> strided{wide.data(), keys_shape, heads * tokens * width, width, tokens * width};
        std::size_t next = 0;
        const auto each = [&](const auto& visit) {
            for (index_t i = 0; i < 2 * tokens * heads; ++i) {
                T* head = strided.head(i / (tokens * heads), i / heads % tokens, i % heads);
                for (index_t lane = 0; lane < 24; ++lane) visit(head[lane]);
            }
        };
        each([&](T& x) { x = keys[next++]; });
        rebase<Pairing, Backend>(threads{2}, {.from = old_basis, .to = new_basis}, ids, in_place(strided));
        std::vector<T> gathered;
        each([&](T& x) { gathered.push_back(std::exchange(x, stored<T>(9.0))); });
        REQUIRE(same_bits(gathered, dense));
        REQUIRE(same_bits(wide, std::vector<T>(wide.size(), stored<T>(9.0))));
    });
}

/// A paged cache of five blocks of four tokens, and a sequence of eleven tokens in its blocks 3, 0 and 4.
constexpr index_t block_size = 4, cache_blocks = 5;
const std::vector<std::int32_t> table{3, 0, 4};
const std::vector<std::int32_t> sequence = [] {
    std::vector<std::int32_t> ids(12);
    std::iota(ids.begin(), ids.end(), 1000);
    return ids;
}();
const paged_positions<std::int32_t> where{table, {sequence.data(), 3, block_size, block_size}};

template <class T>
void check_paged() {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape all{cache_blocks, block_size, 2, 24}, one{1, 12, 2, 24};
        const auto first = random_elements<T>(all, 61), second = random_elements<T>(all, 62);
        const auto block_of = [&](const std::vector<T>& cache, index_t block) {
            const auto begin = cache.begin() + block * block_size * 2 * 24;
            return std::vector<T>(begin, begin + block_size * 2 * 24);
        };
        const auto in_order = [&](const std::vector<T>& cache) {
            std::vector<T> found;
            for (const std::int32_t block : table) {
                const auto one_block = block_of(cache, block);
                found.insert(found.end(), one_block.begin(), one_block.end());
            }
            return found;
        };
        std::vector<T> contiguous = in_order(first), a = first, b = second;
        rebase<Pairing, Backend>({.from = old_basis, .to = new_basis}, sequence,
                                 in_place(token_major(contiguous.data(), one)));
        rebase<Pairing, Backend>({.from = old_basis, .to = new_basis}, where, in_place(token_major(a.data(), all)),
                                 in_place(token_major(b.data(), all)));
        REQUIRE(same_bits(in_order(a), contiguous));
        for (const index_t other : {1, 2}) {  // blocks of somebody else
            REQUIRE(same_bits(block_of(a, other), block_of(first, other)));
        }
        std::vector<T> alone = second;
        rebase<Pairing, Backend>(threads{3}, {.from = old_basis, .to = new_basis}, where,
                                 in_place(token_major(alone.data(), all)));
        REQUIRE(same_bits(alone, b));

        // Into a cache with room between its blocks.
        const index_t stride = block_size * 2 * 24 + 8;
        std::vector<T> wide(static_cast<std::size_t>(cache_blocks * stride), stored<T>(9.0)), expected = wide;
        for (const std::int32_t block : table) std::ranges::copy(block_of(a, block), expected.begin() + block * stride);
        heads_view<T> apart = token_major(wide.data(), all);
        apart.batch_stride = stride;
        rebase<Pairing, Backend>({.from = old_basis, .to = new_basis}, where,
                                 from_to(token_major(first.data(), all), apart));
        REQUIRE(same_bits(wide, expected));

        // Heads before tokens within a block.
        const auto moved = [&](const std::vector<T>& from, bool back) {
            std::vector<T> to(from.size());
            const auto rows = token_major(back ? to.data() : const_cast<T*>(from.data()), all);
            const auto columns = head_major(back ? const_cast<T*>(from.data()) : to.data(), all);
            for (index_t i = 0; i < cache_blocks * block_size * 2; ++i) {
                T* x = rows.head(i / 8, i / 2 % 4, i % 2);
                T* y = columns.head(i / 8, i / 2 % 4, i % 2);
                std::copy_n(back ? y : x, 24, back ? x : y);
            }
            return to;
        };
        std::vector<T> by_head = moved(first, false);
        rebase<Pairing, Backend>({.from = old_basis, .to = new_basis}, where,
                                 in_place(head_major(by_head.data(), all)));
        REQUIRE(same_bits(moved(by_head, true), a));
    });
}

/// What `changes` random changes of t leave of keys, against rotating them from scratch: largest error over largest
/// |x|. The positions reach `furthest`, which the error must not notice.
template <class T, class Backend>
double error_after(int changes, std::int32_t furthest) {
    const rope_config config{64, 64, 10000.0, 4096.0};
    const heads_shape shape{1, 32, 1, 64};
    std::mt19937 random(70);
    std::vector<std::int32_t> positions;
    for (index_t i = 0; i < shape.tokens; ++i) {
        positions.push_back(furthest - static_cast<std::int32_t>(random() % 1024u));
    }
    const auto x = random_elements<T>(shape, 71);
    std::vector<T> keys = x;
    basis now = make_basis(config, yarn{}, 1.0);
    rotate_forward<half_split, Backend>(exact_angles(now, positions), in_place(token_major(keys.data(), shape)));
    for (int i = 0; i < changes; ++i) {
        const double t = 1.0 + static_cast<double>(random() % 15'000u) / 1000.0;
        const basis next = make_basis(config, yarn{}, t);
        rebase<half_split, Backend>({.from = now, .to = next}, positions, in_place(token_major(keys.data(), shape)));
        now = next;
    }
    std::vector<double> scratch = values(x);
    rotate_forward<half_split>(exact_angles(now, positions), in_place(token_major(scratch.data(), shape)));
    double worst = 0.0;
    for (std::size_t i = 0; i < keys.size(); ++i) worst = std::max(worst, std::fabs(value(keys[i]) - scratch[i]));
    return worst / 2.0;  // |x| < 2
}

/// The error of 1, 16 and 256 changes: like the root of their number, and the same at any position.
template <class T>
void check_growth(double of_one) {
    for_each_backend([&]<class Backend>(Backend) {
        const double one = error_after<T, Backend>(1, 4096), many = error_after<T, Backend>(16, 4096);
        const double more = error_after<T, Backend>(256, 4096), far = error_after<T, Backend>(256, 2'147'483'647);
        CAPTURE(one);
        CAPTURE(many);
        CAPTURE(more);
        CAPTURE(far);
        CHECK(one < of_one);
        CHECK(many < 4.0 * of_one);
        CHECK(more < 16.0 * of_one);
        CHECK(far < 16.0 * of_one + 1e-9);  // the bases' own turns are rounded: 2^31 * 2^-64 turns
    });
}

}  // namespace

TEST_CASE("rotate/rebase: keys become those of the other basis, dense and strided, double") { check_type<double>(); }
TEST_CASE("rotate/rebase: keys become those of the other basis, dense and strided, float") { check_type<float>(); }
TEST_CASE("rotate/rebase: keys become those of the other basis, dense and strided, 16 bits") {
    check_type<float16>();
    check_type<bfloat16>();
}

TEST_CASE("rotate/rebase: a paged cache has the bits of a contiguous one, other blocks are left alone") {
    check_paged<double>();
    check_paged<float>();
    check_paged<float16>();
    check_paged<bfloat16>();
}

TEST_CASE("rotate/rebase: a thread's share of a paged cache may begin and end within blocks") {
    const heads_shape shape{4, 100, 1, 24};
    const std::vector<std::int32_t> blocks{2, 0, 3};
    std::vector<std::int32_t> ids(300);
    std::iota(ids.begin(), ids.end(), 1000);
    const paged_positions<std::int32_t> there{blocks, {ids.data(), 3, 100, 100}};
    std::vector<float> alone = random_elements<float>(shape, 65), shared = alone;
    rebase<half_split>({.from = old_basis, .to = new_basis}, there, in_place(token_major(alone.data(), shape)));
    rebase<half_split>(threads{4}, {.from = old_basis, .to = new_basis}, there,
                       in_place(token_major(shared.data(), shape)));
    CHECK(same_bits(shared, alone));
}

TEST_CASE("rotate/rebase: the error against rotating from scratch grows like the root of the number of changes") {
    check_growth<double>(1e-15);
    check_growth<float>(5e-7);
    check_growth<float16>(1.5e-3);
    check_growth<bfloat16>(1.2e-2);
}

TEST_CASE("rotate/rebase: from a basis to itself nothing changes, not a bit") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto keys = random_elements<float>(keys_shape, 63);
        std::vector<float> same = keys;
        rebase<Pairing, Backend>({.from = old_basis, .to = old_basis},
                                 position_view<double>(key_positions.data(), 2, 3, 3),
                                 in_place(token_major(same.data(), keys_shape)));
        CHECK(same_bits(same, keys));
    });
}

TEST_CASE("rotate/rebase: what does not fit is named, and nothing is written") {
    const heads_shape shape{cache_blocks, block_size, 2, 24};
    std::vector<float> cache = random_elements<float>(shape, 64);
    const std::vector<float> before = cache;
    const auto view = token_major(cache.data(), shape);
    const basis narrow(frequencies(12)), tiny(frequencies(20), 0x1p-50), huge(frequencies(20), 0x1p50);
    const auto with = [&](const std::vector<std::int32_t>& blocks, index_t listed, index_t tokens) {
        rebase<half_split>({.from = old_basis, .to = new_basis},
                           paged_positions<std::int32_t>{blocks, {sequence.data(), listed, tokens, tokens}},
                           in_place(view));
    };
    CHECK_THROWS_WITH_AS(rebase<half_split>({.from = old_basis, .to = narrow}, where, in_place(view)),
                         "basis::relative_to: from.rotary_dim 20 must be 12", shape_error);
    CHECK_THROWS_AS(rebase<half_split>({.from = tiny, .to = huge}, where, in_place(view)), value_error);
    CHECK_THROWS_WITH_AS(rebase<half_split>({.from = huge, .to = tiny}, where, in_place(view)),
                         "basis::relative_to: attention_factor 8.881784197001252e-16 / 1125899906842624 must "
                         "be 2^-60 to 2^60 in magnitude",
                         value_error);
    CHECK_THROWS_WITH_AS(with({3, 5, 4}, 3, 4), "rebase: block_table[1] 5 must be >= 0 and < the cache's blocks, 5",
                         value_error);
    CHECK_THROWS_AS(with({3, -1, 4}, 3, 4), value_error);
    CHECK_THROWS_WITH_AS(with({3, 0, 3}, 3, 4), "rebase: block_table[2] 3 must be listed once, or it turns twice",
                         value_error);
    CHECK_THROWS_WITH_AS(with({3, 0, 4}, 2, 4),
                         "rebase: position_ids [2, 4] must be [blocks of the table, tokens of a block] = [3, 4]",
                         shape_error);
    CHECK_THROWS_AS(with({3, 0, 4}, 3, 3), shape_error);
    CHECK_THROWS_AS(rebase<half_split>({.from = old_basis, .to = new_basis},
                                       paged_positions<std::int32_t>{table, {nullptr, 3, 4, 4}}, in_place(view)),
                    shape_error);
    CHECK_THROWS_AS(rebase<half_split>({.from = old_basis, .to = new_basis}, where, in_place(view), in_place(view)),
                    shape_error);
    CHECK_THROWS_AS(rebase<half_split>({.from = old_basis, .to = new_basis}, sequence, in_place(view)), shape_error);
    const heads_view<float> no_data{nullptr, shape, 192, 48, 24};
    CHECK_THROWS_AS(rebase<half_split>({.from = old_basis, .to = new_basis}, where, in_place(no_data)), shape_error);
    const basis wide(frequencies(26));
    CHECK_THROWS_AS(rebase<half_split>({.from = wide, .to = wide}, where, in_place(view)), shape_error);
    const std::vector<std::int32_t> no_blocks;
    CHECK_NOTHROW(with(no_blocks, 0, 4));
    CHECK(same_bits(cache, before));
}
