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

// The difference from the old basis to the new one.
template <class Ids>
auto change(const basis& to, const basis& from, const Ids& ids) {
    return exact_angles(to, ids) - exact_angles(from, ids);
}

std::vector<double> halved(std::vector<double> theta) {
    for (double& x : theta) x *= 0.5;
    return theta;
}

const heads_shape keys_shape{2, 3, 2, 24};
const std::vector<double> key_positions{0.0, -3.5, 4095.0, 131071.25, 17.0, 1e6};
const basis old_basis(frequencies(20), 1.25), new_basis(halved(frequencies(20)), 0.8);
// The change: half the old angle back, and 0.8/1.25 of the magnitude. Halves make every difference exact.
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
        const auto expected = naive.rotated(values(keys));
        const position_view<double> ids(key_positions.data(), 2, 3, 3);

        std::vector<T> dense = keys;
        rebase<Pairing, Backend>(change(new_basis, old_basis, ids), in_place(token_major(dense.data(), keys_shape)));
        naive.check(values(keys), dense, expected);

        // Heads before tokens, and lanes between heads that must not change.
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
        rebase<Pairing, Backend>(threads{2, 1}, change(new_basis, old_basis, ids), in_place(strided));
        std::vector<T> gathered;
        each([&](T& x) { gathered.push_back(std::exchange(x, stored<T>(9.0))); });
        REQUIRE(same_bits(gathered, dense));
        REQUIRE(same_bits(wide, std::vector<T>(wide.size(), stored<T>(9.0))));
    });
}

/// A paged cache of five blocks of four tokens, and a sequence of eleven tokens in its blocks 3, 0 and 4, whose last
/// slot is empty.
constexpr index_t block_size = 4, cache_blocks = 5;
const std::vector<std::int32_t> table{3, 0, 4};
const std::vector<std::int32_t> sequence = [] {
    std::vector<std::int32_t> ids(11);
    std::iota(ids.begin(), ids.end(), 1000);
    return ids;
}();
template <class T>
heads_view<T> paged(const heads_view<T>& cache) {
    return in_blocks(cache, table.data(), 1, 11, 3);
}

template <class T>
void check_paged() {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape all{cache_blocks, block_size, 2, 24}, one{1, 11, 2, 24};
        const auto angles = change(new_basis, old_basis, sequence);
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
            found.resize(11 * 2 * 24);
            return found;
        };
        std::vector<T> contiguous = in_order(first), a = first, b = second;
        rebase<Pairing, Backend>(angles, in_place(token_major(contiguous.data(), one)));
        rebase<Pairing, Backend>(angles, in_place(paged(token_major(a.data(), all))),
                                 in_place(paged(token_major(b.data(), all))));
        REQUIRE(same_bits(in_order(a), contiguous));
        for (const index_t other : {1, 2}) {  // blocks of other sequences
            REQUIRE(same_bits(block_of(a, other), block_of(first, other)));
        }
        REQUIRE(std::equal(a.end() - 2 * 24, a.end(), first.end() - 2 * 24,  // the empty slot
                           [](const T& x, const T& y) { return value(x) == value(y); }));
        std::vector<T> alone = second;
        rebase<Pairing, Backend>(threads{3, 1}, angles, in_place(paged(token_major(alone.data(), all))));
        REQUIRE(same_bits(alone, b));

        // Into a cache with room between its blocks.
        const index_t stride = block_size * 2 * 24 + 8;
        std::vector<T> wide(static_cast<std::size_t>(cache_blocks * stride), stored<T>(9.0)), expected = wide;
        for (const std::int32_t block : table) std::ranges::copy(block_of(a, block), expected.begin() + block * stride);
        std::fill_n(expected.begin() + 4 * stride + 3 * 2 * 24, 2 * 24, stored<T>(9.0));
        heads_view<T> apart = token_major(wide.data(), all);
        apart.batch_stride = stride;
        rebase<Pairing, Backend>(angles, from_to(paged(token_major(first.data(), all)), paged(apart)));
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
        rebase<Pairing, Backend>(angles, in_place(paged(head_major(by_head.data(), all))));
        REQUIRE(same_bits(moved(by_head, true), a));
    });
}

/// The error of keys after `changes` random changes of t, against rotating them from scratch: largest error over
/// largest |x|. Positions reach `furthest`, on which the error must not depend.
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
        rebase<half_split, Backend>(change(next, now, positions), in_place(token_major(keys.data(), shape)));
        now = next;
    }
    std::vector<double> scratch = values(x);
    rotate_forward<half_split>(exact_angles(now, positions), in_place(token_major(scratch.data(), shape)));
    double worst = 0.0;
    for (std::size_t i = 0; i < keys.size(); ++i) worst = std::max(worst, std::fabs(value(keys[i]) - scratch[i]));
    return worst / 2.0;  // |x| < 2
}

/// The error of 1, 16 and 256 changes: proportional to the root of their number, and equal at any position.
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
        CHECK(far < 16.0 * of_one + 1e-9);  // the turns of the bases are rounded: 2^31 * 2^-64 turns
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
    const auto there = [&](std::vector<float>& cache) {
        return in_place(in_blocks(token_major(cache.data(), shape), blocks.data(), 1, 300, 3));
    };
    const auto angles = change(new_basis, old_basis, ids);
    std::vector<float> alone = random_elements<float>(shape, 65), shared = alone;
    rebase<half_split>(angles, there(alone));
    rebase<half_split>(threads{4, 1}, angles, there(shared));
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
        rebase<Pairing, Backend>(change(old_basis, old_basis, position_view<double>(key_positions.data(), 2, 3, 3)),
                                 in_place(token_major(same.data(), keys_shape)));
        CHECK(same_bits(same, keys));
    });
}

TEST_CASE("rotate/rebase: keys move to other positions, and to another basis in the same call") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto x = random_elements<double>({1, 3, 2, 24}, 66);
        const std::vector<double> before{5.0, 6.5, 1e6}, after{0.0, -2.25, 17.0};
        const heads_shape shape{1, 3, 2, 24};
        std::vector<double> keys = x, scratch = x;
        rotate_forward<Pairing, Backend>(exact_angles(old_basis, before), in_place(token_major(keys.data(), shape)));
        rebase<Pairing, Backend>(exact_angles(new_basis, after) - exact_angles(old_basis, before),
                                 in_place(token_major(keys.data(), shape)));
        rotate_forward<Pairing, Backend>(exact_angles(new_basis, after), in_place(token_major(scratch.data(), shape)));
        for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(std::fabs(keys[i] - scratch[i]) < 1e-14);
    });
}

// A run of tokens that move by one distance shares cos and sin; tokens with another distance, a fraction, another basis
// or row must not, nor one whose new position is the distance of the token before.
TEST_CASE("rotate/rebase: tokens that move by one distance, and those between them, have the bits of each alone") {
    const heads_shape shape{2, 8, 2, 24};
    const std::vector<double> old_ids{3, 4, 5, 6, 7, 2, 9, 10, 100, 101.25, 102.25, 103, 104, 105, 106, 1e7};
    const std::vector<double> new_ids{8, 9, 10, 13, 14, 7, 14, 15, 105, 106.5, 107.5, 108, 109, 110, 111, 1e7 + 5};
    const basis_list list{&old_basis, &new_basis};
    const std::vector<std::int32_t> of_old{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0},
        of_new{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0};
    const auto part = [&](const std::vector<double>& all, index_t i, index_t rows, index_t tokens) {
        return position_view<double>(all.data() + i, rows, tokens, tokens);
    };
    for_each_kernel([&]<class Pairing, class Backend>(Pairing, Backend) {
        std::vector<float> keys = random_elements<float>(shape, 68), alone = keys;
        const auto angles = [&](index_t i, index_t rows, index_t tokens) {
            const std::span<const std::int32_t> to(of_new.data() + i, static_cast<std::size_t>(rows * tokens)),
                from(of_old.data() + i, static_cast<std::size_t>(rows * tokens));
            return exact_angles(list.of(to, rows), part(new_ids, i, rows, tokens)) -
                   exact_angles(list.of(from, rows), part(old_ids, i, rows, tokens));
        };
        rebase<Pairing, Backend>(angles(0, 2, 8), in_place(token_major(keys.data(), shape)));
        for (index_t i = 0; i < 16; ++i) {
            rebase<Pairing, Backend>(angles(i, 1, 1), in_place(token_major(alone.data() + i * 48, {1, 1, 2, 24})));
        }
        CHECK(same_bits(keys, alone));
    });
}

// Once, a block with empty slots was rejected; the table of a shorter sequence is padded with -1.
TEST_CASE("rotate/rebase: blocks of -1 are left out") {
    const heads_shape shape{cache_blocks, block_size, 2, 24};
    std::vector<float> cache = random_elements<float>(shape, 67), expected = cache;
    const std::vector<std::int32_t> padded{3, -1, 4}, rest{3, 4};
    rebase<half_split>(change(new_basis, old_basis, sequence),
                       in_place(in_blocks(token_major(cache.data(), shape), padded.data(), 1, 11, 3)));
    std::vector<std::int32_t> ids(sequence.begin(), sequence.begin() + 4);
    ids.insert(ids.end(), sequence.begin() + 8, sequence.end());
    rebase<half_split>(change(new_basis, old_basis, ids),
                       in_place(in_blocks(token_major(expected.data(), shape), rest.data(), 1, 7, 2)));
    CHECK(same_bits(cache, expected));
}

TEST_CASE("rotate/rebase: invalid arguments are named, and nothing is written") {
    const heads_shape shape{cache_blocks, block_size, 2, 24};
    std::vector<float> cache = random_elements<float>(shape, 64);
    const std::vector<float> before = cache;
    const auto view = token_major(cache.data(), shape);
    const basis narrow(frequencies(12)), tiny(frequencies(20), 0x1p-50), huge(frequencies(20), 0x1p50);
    const auto angles = change(new_basis, old_basis, sequence);
    const auto with = [&](const std::vector<std::int32_t>& blocks) {
        const auto tokens = static_cast<index_t>(blocks.size()) * block_size;
        std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens), 7);
        rebase<half_split>(change(new_basis, old_basis, ids),
                           in_place(in_blocks(view, blocks.data(), 1, tokens, std::ssize(blocks))));
    };
    CHECK_THROWS_WITH_AS(change(narrow, old_basis, sequence),
                         "angle_difference: from [1, 11, 10] must have the batch, tokens and pairs of to [1, 11, 6]",
                         shape_error);
    CHECK_THROWS_AS(exact_angles(new_basis, sequence) - exact_angles(old_basis, table), shape_error);
    CHECK_THROWS_AS(rebase<half_split>(change(huge, tiny, sequence), in_place(paged(view))), value_error);
    CHECK_THROWS_WITH_AS(rebase<half_split>(change(tiny, huge, sequence), in_place(paged(view))),
                         "rebase: attention factors 8.881784197001252e-16 / 1125899906842624 must be 2^-60 to 2^60 in "
                         "magnitude",
                         value_error);
    CHECK_THROWS_WITH_AS(with({3, 5, 4}),
                         "rebase: x's block [0, 1] 5 must be one of the cache's 5 blocks, or -1 to skip it",
                         value_error);
    CHECK_THROWS_WITH_AS(with({3, 0, 3}),
                         "rebase: x's block [0, 2] 3 must be listed once: two tokens must not be written to one "
                         "slot",
                         value_error);
    CHECK_THROWS_WITH_AS(
        rebase<half_split>(angles, in_place(in_blocks(view, table.data(), 1, 8, 3))),
        "rebase: angles [1, 11] must be [1 or batch, tokens] of [1, 8, 2, 24], a position for each token", shape_error);
    CHECK_THROWS_AS(change(new_basis, old_basis, position_view<std::int32_t>(nullptr, 1, 11, 0)), shape_error);
    CHECK_THROWS_AS(rebase<half_split>(angles, in_place(paged(view)), in_place(paged(view))), shape_error);
    CHECK_THROWS_AS(rebase<half_split>(angles, in_place(view)), shape_error);
    const heads_view<float> no_data{nullptr, shape, 192, 48, 24};
    CHECK_THROWS_AS(rebase<half_split>(angles, in_place(paged(no_data))), shape_error);
    const basis wide(frequencies(26));
    CHECK_THROWS_AS(rebase<half_split>(change(wide, wide, sequence), in_place(paged(view))), shape_error);
    CHECK_NOTHROW(with({}));
    CHECK(same_bits(cache, before));
}
