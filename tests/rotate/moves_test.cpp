// SPDX-License-Identifier: MIT
// Keys that move within one cache: to other slots, positions and bases, in any order that overwrites no unread key.
#include "cordage/rotate/moves.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "cordage/angles/axis_angles.hpp"
#include "cordage/core/threads.hpp"
#include "cordage/rotate/forward.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/tensors/ggml_blocks.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

constexpr index_t blocks = 7, block_size = 4, slots = blocks * block_size, heads = 3, head_dim = 64, rotary_dim = 40;
constexpr heads_shape cache_shape{blocks, block_size, heads, head_dim};

// A cache of random keys in a format, with its scales.
template <class T, class Format>
struct key_cache {
    std::vector<T> elements =
        std::vector<T>(static_cast<std::size_t>(slots * heads * elements_of_head<Format>(head_dim)));
    std::vector<float> scales = std::vector<float>(static_cast<std::size_t>(slots * heads * 2));

    explicit key_cache(unsigned seed) {
        const auto x = random_elements<float>(cache_shape, seed);
        std::vector<std::int32_t> ids(block_size);
        const basis b({1.0});
        rotate_forward<half_split>(exact_angles(b, ids),
                                   from_to(token_major(x.data(), cache_shape), view()).unrotated());
    }
    Format format() {
        Format all;
        if constexpr (requires { all.scales; }) {
            all.scales = {scales.data(), block_size * heads * 2, heads * 2, 2};
            all.lanes_of_scale = 32;
        }
        return all;
    }
    heads_view<T, Format> view() { return token_major(elements.data(), cache_shape, format()); }
    std::vector<std::byte> bytes() const {
        std::vector<std::byte> all(elements.size() * sizeof(T) + scales.size() * sizeof(float));
        std::memcpy(all.data(), elements.data(), elements.size() * sizeof(T));
        std::memcpy(all.data() + elements.size() * sizeof(T), scales.data(), scales.size() * sizeof(float));
        return all;
    }
};

// The old and the new slot of each token; -1: skipped.
struct moves {
    std::vector<std::int32_t> from;
    std::vector<std::int64_t> to;
    std::vector<std::int32_t> old_ids, new_ids;  // [2 axes, tokens]

    index_t tokens() const { return std::ssize(from); }
    // The documented rule: no token reads a slot that an earlier one wrote.
    bool loses_none() const {
        for (std::size_t i = 0; i < from.size(); ++i) {
            for (std::size_t j = i + 1; j < from.size(); ++j) {
                if (from[i] >= 0 && to[i] >= 0 && to[j] >= 0 && from[j] >= 0 && from[j] == to[i]) return false;
            }
        }
        return true;
    }
};

enum class order { down, up, any, apart };

moves random_moves(std::mt19937& random, order how) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::vector<std::int32_t> from(slots), to(slots);
    std::iota(from.begin(), from.end(), 0);
    std::iota(to.begin(), to.end(), 0);
    const std::size_t count = how == order::apart ? slots / 2 : how == order::any ? 2 + below(6) : 1 + below(slots);
    std::shuffle(from.begin(), from.end(), random);
    if (how == order::apart) {
        to.assign(from.begin() + slots / 2, from.end());
    } else {
        std::shuffle(to.begin(), to.end(), random);
    }
    from.resize(count), to.resize(count);
    if (how == order::down || how == order::up) {  // remaining keys move to the front, or to the back
        std::sort(from.begin(), from.end());
        std::iota(to.begin(), to.end(), how == order::down ? 0 : slots - static_cast<std::int32_t>(count));
        if (how == order::up) std::reverse(from.begin(), from.end()), std::reverse(to.begin(), to.end());
    }
    moves all{from, {to.begin(), to.end()}, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
        if (below(8) == 0) (below(2) == 0 ? all.from[i] = -1 : all.to[i] = -1);
    }
    for (std::size_t i = 0; i < 2 * count; ++i) {
        all.old_ids.push_back(static_cast<std::int32_t>(random() % 100'000));
        all.new_ids.push_back(below(4) == 0 ? all.old_ids.back() : static_cast<std::int32_t>(random() % 100'000));
    }
    return all;
}

const basis long_basis =
    make_basis(rope_config{.head_dim = rotary_dim, .rotary_dim = rotary_dim, .original_length = 4096}, yarn{}, 4.0);
const basis short_basis =
    make_basis(rope_config{.head_dim = rotary_dim, .rotary_dim = rotary_dim, .original_length = 4096}, yarn{}, 1.0);
const std::vector<std::uint8_t> two_axes = [] {
    std::vector<std::uint8_t> all;
    for (std::uint8_t i = 0; i < rotary_dim / 2; ++i) all.push_back(i % 2);
    return all;
}();

// move(angles) for text with two bases, and for positions with two axes.
template <class F>
void with_angles(const moves& m, bool has_axes, const F& move) {
    const index_t n = m.tokens();
    if (has_axes) {
        const auto of = [&](const auto& ids) {
            return axis_angles(long_basis, two_axes, axis_major(ids.data(), 2, 1, n));
        };
        move(of(m.new_ids) - of(m.old_ids));
    } else {
        const position_view<std::int32_t> new_ids(m.new_ids.data(), 1, n, n), old_ids(m.old_ids.data(), 1, n, n);
        move(exact_angles(long_basis, new_ids) - exact_angles(short_basis, old_ids));
    }
}

template <class T, class Format>
void check_format(unsigned seed) {
    for_each_kernel([seed]<class Pairing, class Backend>(Pairing, Backend) {
        std::mt19937 random(seed);
        for (int i = 0; i < 60; ++i) {
            CAPTURE(i);
            const moves m = random_moves(random, static_cast<order>(i % 4));
            const index_t first_lane = i % 3 == 0 ? head_dim - rotary_dim : 0;
            key_cache<T, Format> moved(static_cast<unsigned>(i)), expected = moved, before = moved;
            const auto move_keys = [&](const auto& how, auto& source, auto& to) {
                with_angles(m, i % 5 == 0, [&](const auto& angles) {
                    rebase<Pairing, Backend>(how, angles,
                                             from_to(in_slots(source.view(), m.from.data(), 1, m.tokens()),
                                                     in_slots(to.view(), m.to.data(), 1, m.tokens()), first_lane));
                });
            };
            if (m.loses_none()) {
                move_keys(serial{}, before, expected);
                move_keys(threads{3, 1}, moved, moved);
                REQUIRE(moved.bytes() == expected.bytes());
            } else {
                REQUIRE_THROWS_AS(move_keys(serial{}, moved, moved), value_error);
                REQUIRE(moved.bytes() == before.bytes());
            }
        }
    });
}

// Changes every head it stores, and cannot copy one.
struct own_format {
    using compute = float;
    static constexpr index_t lanes_of_element = 1;
    template <class>
    void load_head(const float* from, const head_place&, float* lanes, index_t count) const {
        std::copy_n(from, count, lanes);
    }
    template <class>
    void store_head(const float* lanes, index_t count, float* to, const head_place&) const {
        std::transform(lanes, lanes + count, to, [](float x) { return x + 1.0f; });
    }
};

}  // namespace

TEST_CASE("rotate/moves: keys move within a cache as out of a copy of it, or are refused: fp32") {
    check_format<float, element_traits<float>>(1);
}
TEST_CASE("rotate/moves: the same of bfloat16") { check_format<bfloat16, element_traits<bfloat16>>(2); }
TEST_CASE("rotate/moves: the same of int8, with scales for groups of lanes") {
    check_format<std::int8_t, scaled_bytes<std::int8_t>>(3);
}
TEST_CASE("rotate/moves: the same of fp8") { check_format<fp8_e4m3, scaled_bytes<fp8_e4m3>>(4); }
TEST_CASE("rotate/moves: the same of q8_0") { check_format<q8_0_block, q8_0>(5); }
TEST_CASE("rotate/moves: the same of q4_0") { check_format<q4_0_block, q4_0>(6); }

TEST_CASE("rotate/moves: a cache is compacted by its blocks, keys and values in one call, by any executor") {
    key_cache<q8_0_block, q8_0> keys(1), old_keys = keys, expected_keys = keys;
    key_cache<bfloat16, element_traits<bfloat16>> values(2), old_values = values, expected_values = values;
    const std::vector<std::int32_t> old_blocks{2, 3, 6}, new_blocks{0, 2, 3};
    const index_t tokens = 3 * block_size - 1;
    std::vector<std::int32_t> old_ids(static_cast<std::size_t>(tokens)), new_ids = old_ids;
    std::iota(old_ids.begin(), old_ids.end(), 5000);
    std::iota(new_ids.begin(), new_ids.end(), 100);
    const auto move_all = [&](const auto& how, auto& k_from, auto& k_to, auto& v_from, auto& v_to) {
        const auto from = [&](auto& cache) { return in_blocks(cache.view(), old_blocks.data(), 1, tokens, 3); };
        const auto to = [&](auto& cache) { return in_blocks(cache.view(), new_blocks.data(), 1, tokens, 3); };
        rebase<half_split>(how, exact_angles(long_basis, new_ids) - exact_angles(long_basis, old_ids),
                           from_to(from(k_from), to(k_to)), from_to(from(v_from), to(v_to)).unrotated());
    };
    move_all(serial{}, old_keys, expected_keys, old_values, expected_values);
    const auto backwards = [](index_t n, const auto& body) {
        while (n-- > 0) body(n);
    };
    move_all(loop_executor{backwards, 4, 1}, keys, keys, values, values);
    CHECK(keys.bytes() == expected_keys.bytes());
    CHECK(values.bytes() == expected_values.bytes());
    CHECK(std::equal(values.elements.begin(), values.elements.begin() + block_size * heads * head_dim,
                     old_values.elements.begin() + 2 * block_size * heads * head_dim,
                     [](bfloat16 a, bfloat16 b) { return a.bits == b.bits; }));
}

TEST_CASE("rotate/moves: many tokens whose order matters are moved correctly with any number of threads") {
    constexpr index_t count = 700;
    std::vector<std::int32_t> from(count), to(count), ids(count), new_ids(count);
    std::iota(from.begin(), from.end(), 3);
    std::iota(to.begin(), to.end(), 0);
    std::iota(new_ids.begin(), new_ids.end(), 40);
    const heads_shape shape{1, count + 3, 1, rotary_dim};
    const auto before = random_elements<float>(shape, 7);
    std::vector<float> moved = before, expected = before;
    const auto move_keys = [&](const auto& how, const std::vector<float>& source, std::vector<float>& x) {
        rebase<half_split>(how, exact_angles(long_basis, new_ids) - exact_angles(long_basis, ids),
                           from_to(in_slots(token_major(source.data(), shape), from.data(), 1, count),
                                   in_slots(token_major(x.data(), shape), to.data(), 1, count)));
    };
    move_keys(serial{}, before, expected);
    index_t slices = 0;
    const auto backwards = [&](index_t n, const auto& body) {
        slices = std::max(slices, n);
        while (n-- > 0) body(n);
    };
    move_keys(loop_executor{backwards, 4, 1}, moved, moved);
    CHECK(same_bits(moved, expected));
    CHECK(slices == 0);
    // So must other operands of the call.
    std::vector<float> apart = before;
    std::vector<std::int64_t> same(from.begin(), from.end());
    const auto change = exact_angles(long_basis, new_ids) - exact_angles(long_basis, ids);
    const auto in = [&](std::vector<float>& x, const auto& table) {
        return in_slots(token_major(x.data(), shape), table.data(), 1, count);
    };
    moved = before;
    rebase<half_split>(loop_executor{backwards, 4, 1}, change, from_to(in(moved, from), in(moved, to)),
                       from_to(in(apart, from), in(apart, same)).unrotated());
    CHECK(same_bits(moved, expected));
    CHECK(slices == 0);
    // Tokens that stay in their slots use all threads, unless one slot is read twice.
    std::reverse(from.begin(), from.end());
    std::reverse(same.begin(), same.end());
    std::vector<float> rotated = before;
    expected = before;
    rebase<half_split>(change, in_place(in(expected, from)));
    rebase<half_split>(loop_executor{backwards, 4, 1}, change, from_to(in(rotated, from), in(rotated, same)));
    CHECK(same_bits(rotated, expected));
    CHECK(slices == 4);
    slices = 0, rotated = before;
    from[0] = from.back(), same[0] = 0;
    rebase<half_split>(loop_executor{backwards, 4, 1}, change, from_to(in(rotated, from), in(rotated, same)));
    expected = before;
    rebase<half_split>(change, from_to(in(apart = before, from), in(expected, same)));
    CHECK(same_bits(rotated, expected));
    CHECK(slices == 0);
}

TEST_CASE("rotate/moves: a slot that is written before it is read is named with both tokens") {
    key_cache<float, element_traits<float>> cache(3);
    const auto before = cache.bytes();
    const std::vector<std::int32_t> ids(6, 3), from{8, 9, 10, 11, 12, 13}, to{4, 10, 1, 2, 3, 0};
    const auto angles = exact_angles(long_basis, ids) - exact_angles(short_basis, ids);
    const auto in = [&](const std::vector<std::int32_t>& table, index_t rows) {
        return in_slots(cache.view(), table.data(), rows, 6 / rows);
    };
    CHECK_THROWS_WITH_AS(rebase<half_split>(angles, from_to(in(from, 1), in(to, 1))),
                         "rebase: slot 10 is written by token [0, 1] and read by token [0, 2], which must come "
                         "first; list moves to lower slots in ascending order, to higher ones in descending order",
                         value_error);
    const std::vector<std::int32_t> falling{9, 5, 3, -1, -1, -1}, into_next{5, 3, 1, -1, -1, -1};
    CHECK_THROWS_AS(rebase<half_split>(angles, from_to(in(falling, 1), in(into_next, 1))), value_error);
    const position_view<std::int32_t> rows(ids.data(), 2, 3, 3);
    const std::vector<std::int32_t> from_of_rows{8, 9, 10, 12, 13, 14}, to_of_rows{4, 5, 13, 6, 7, 0};
    CHECK_THROWS_WITH_AS(rebase<half_split>(exact_angles(long_basis, rows) - exact_angles(short_basis, rows),
                                            from_to(in(from_of_rows, 2), in(to_of_rows, 2))),
                         "rebase: slot 13 is written by token [0, 2] and read by token [1, 1], which must come "
                         "first; list moves to lower slots in ascending order, to higher ones in descending order",
                         value_error);
    // A slot may be read twice, also last by its own token; then order matters.
    const std::vector<std::int32_t> twice_from{5, 5, 6, 6, 7, 7}, twice_to{0, 5, 1, 2, 3, 4},
        early_to{5, 0, 1, 2, 3, 4};
    CHECK_NOTHROW(rebase<half_split>(angles, from_to(in(twice_from, 1), in(twice_to, 1))));
    key_cache<float, element_traits<float>> again(3);
    cache = again;
    CHECK_THROWS_AS(rebase<half_split>(angles, from_to(in(twice_from, 1), in(early_to, 1))), value_error);
    // Views of different caches or formats are not moves.
    auto shifted = cache.view();
    shifted.shape.batch -= 1;
    CHECK_THROWS_AS(rebase<half_split>(angles, from_to(in(from, 1), in_slots(shifted, to.data(), 1, 6))), shape_error);
    CHECK_THROWS_AS(rebase<half_split>(
                        angles, from_to(in(from, 1), token_major(cache.elements.data() + 7, {1, 6, heads, head_dim}))),
                    shape_error);
    key_cache<std::int8_t, scaled_bytes<std::int8_t>> bytes(4), other(5);
    CHECK_THROWS_WITH_AS(
        rebase<half_split>(angles, from_to(in_slots(bytes.view(), from.data(), 1, 6),
                                           in_slots(with_format(bytes.view(), other.format()), to.data(), 1, 6))),
        "rebase: y must be x itself or not overlap it; it overlaps it partly", shape_error);
    CHECK(cache.bytes() == before);
}

TEST_CASE("rotate/moves: quantised keys that get another slot and nothing else keep their bytes and scales") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const std::vector<std::int32_t> ids{7, 8, 9}, from{9, 10, 20}, to{8, 9, 10};
        const auto check = [&](auto cache, auto foreign) {
            foreign(cache);
            auto other = cache, before = cache;
            const auto same = exact_angles(long_basis, ids) - exact_angles(long_basis, ids);
            rebase<Pairing, Backend>(
                same, from_to(in_slots(cache.view(), from.data(), 1, 3), in_slots(cache.view(), to.data(), 1, 3)));
            const index_t each = std::ssize(cache.elements) / slots, scales_each = heads * 2;
            for (std::size_t i = 0; i < 3; ++i) {
                const auto slot_of = [&](const auto& all, index_t size, index_t slot) {
                    return reinterpret_cast<const char*>(all.data() + slot * size);
                };
                const auto bytes = static_cast<std::size_t>(each) * sizeof(cache.elements[0]);
                const bool has_elements = std::memcmp(slot_of(cache.elements, each, to[i]),
                                                      slot_of(before.elements, each, from[i]), bytes) == 0;
                const bool has_scales =
                    std::memcmp(slot_of(cache.scales, scales_each, to[i]), slot_of(before.scales, scales_each, from[i]),
                                scales_each * sizeof(float)) == 0;
                CHECK(has_elements);
                CHECK(has_scales);
            }
            // And into another cache.
            rebase<Pairing, Backend>(
                same, from_to(in_slots(before.view(), from.data(), 1, 3), in_slots(other.view(), to.data(), 1, 3)));
            CHECK(other.bytes() == cache.bytes());
        };
        // From another program: reading and storing would change their bytes.
        check(key_cache<q4_0_block, q4_0>(1), [](auto& c) {
            for (auto& block : c.elements) block.d = to_float16(0.5f), block.codes.fill(0x9a);
        });
        check(key_cache<q8_0_block, q8_0>(1), [](auto& c) {
            for (auto& block : c.elements) block.d = to_float16(0.5f), block.codes.fill(3);
        });
        check(key_cache<std::int8_t, scaled_bytes<std::int8_t>>(1), [](auto& c) {
            for (auto& code : c.elements) code = static_cast<std::int8_t>(code / 2);
        });
    });
}

TEST_CASE("rotate/moves: heads of a user's format that are not rotated keep their bytes") {
    const std::vector<std::int32_t> ids{5}, slot{1};
    std::vector<float> x(2 * head_dim, 3.0f);
    const auto view = in_slots(token_major(x.data(), {1, 2, 1, head_dim}, own_format{}), slot.data(), 1, 1);
    const auto same = exact_angles(long_basis, ids) - exact_angles(long_basis, ids);
    rebase<half_split>(same, in_place(view));
    CHECK(x == std::vector<float>(2 * head_dim, 3.0f));
    const std::vector<std::int32_t> first{0};
    rebase<half_split>(
        same, from_to(view, in_slots(token_major(x.data(), {1, 2, 1, head_dim}, own_format{}), first.data(), 1, 1)));
    CHECK(x[0] == 4.0f);
    CHECK(x.back() == 3.0f);
}

TEST_CASE("rotate/moves: codes of given scales are copied where the scales are equal, else stored anew") {
    const std::vector<std::int32_t> ids{0};
    std::vector<std::int8_t> from(head_dim, std::int8_t{100}), to(head_dim);
    float one = 0.5f, two = 1.0f;
    const auto view = [](auto& x, float& scale, bool makes) {
        return token_major(x.data(), {1, 1, 1, head_dim},
                           scaled_bytes<std::int8_t>{.scales = {&scale, 0, 0, 0}, .makes_scales = makes});
    };
    const exact_angles angles(long_basis, ids);
    const auto copy = [&](float& scale, bool makes) {
        rotate_forward<half_split>(angles, from_to(view(from, one, false), view(to, scale, makes)).unrotated());
        return to[5];
    };
    CHECK(copy(two, false) == 50);
    two = 0.5f;
    CHECK(copy(two, false) == 100);
    two = 3.0f;
    CHECK(copy(two, true) == 100);
    CHECK(two == 0.5f);
    // Of other groups of lanes, of which only the first has the same scale.
    auto in_groups = view(from, one, false);
    std::vector<float> scales(head_dim / 16, 0.25f);
    scales[0] = one;
    in_groups.format.scales = {scales.data(), 0, 0, 0};
    in_groups.format.lanes_of_scale = 16;
    rotate_forward<half_split>(angles, from_to(in_groups, view(to, one, false)).unrotated());
    CHECK(to[15] == 100);
    CHECK(to[16] == 50);
}

TEST_CASE("rotate/moves: a thousand moves in a row are one, up to the rounding of each") {
    constexpr int rounds = 1000;
    const index_t count = 6;
    const auto check = [&]<class T>(T, double allowed) {
        key_cache<T, element_traits<T>> cache(9);
        const auto raw = random_elements<float>({1, count, heads, head_dim}, 10);
        std::mt19937 random(11);
        std::vector<std::int32_t> at{3, 4, 5, 6, 7, 8}, ids{5, 6, 7, 8, 9, 10};
        rotate_forward<half_split>(
            exact_angles(long_basis, ids),
            from_to(token_major(raw.data(), {1, count, heads, head_dim}), in_slots(cache.view(), at.data(), 1, count)));
        for (int i = 0; i < rounds; ++i) {
            std::vector<std::int32_t> next(slots), new_ids(ids.size());
            std::iota(next.begin(), next.end(), 0);
            std::shuffle(next.begin(), next.end(), random);
            next.resize(ids.size());
            for (auto& id : new_ids) id = static_cast<std::int32_t>(random() % 1'000'000);
            if (i % 2 == 0) {  // down to the front
                std::vector<std::size_t> by_slot{0, 1, 2, 3, 4, 5};
                std::sort(by_slot.begin(), by_slot.end(), [&](std::size_t a, std::size_t b) { return at[a] < at[b]; });
                std::vector<std::int32_t> from, to, old_ids, to_ids;
                for (std::size_t j = 0; j < by_slot.size(); ++j) {
                    from.push_back(at[by_slot[j]]);
                    to.push_back(static_cast<std::int32_t>(j));
                    old_ids.push_back(ids[by_slot[j]]);
                    to_ids.push_back(new_ids[by_slot[j]]);
                    next[by_slot[j]] = to.back();
                }
                rebase<half_split>(exact_angles(long_basis, to_ids) - exact_angles(long_basis, old_ids),
                                   from_to(in_slots(cache.view(), from.data(), 1, count),
                                           in_slots(cache.view(), to.data(), 1, count)));
            } else {  // and out, to unused slots
                for (auto& slot : next) slot = 6 + slot % 22;
                std::set<std::int32_t> used;
                for (auto& slot : next) {
                    while (!used.insert(slot).second) slot = 6 + (slot - 5) % 22;
                }
                rebase<half_split>(exact_angles(long_basis, new_ids) - exact_angles(long_basis, ids),
                                   from_to(in_slots(cache.view(), at.data(), 1, count),
                                           in_slots(cache.view(), next.data(), 1, count)));
            }
            at = next, ids = new_ids;
        }
        std::vector<float> wanted(raw.size()), found(raw.size());
        rotate_forward<half_split>(exact_angles(long_basis, ids),
                                   from_to(token_major(raw.data(), {1, count, heads, head_dim}),
                                           token_major(wanted.data(), {1, count, heads, head_dim})));
        rotate_forward<half_split>(
            exact_angles(long_basis, ids),
            from_to(in_slots(cache.view(), at.data(), 1, count), token_major(found.data(), {1, count, heads, head_dim}))
                .unrotated());
        double farthest = 0.0, largest = 0.0, squares = 0.0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            const double off = std::fabs(static_cast<double>(found[i]) - static_cast<double>(wanted[i]));
            farthest = std::max(farthest, off);
            squares += off * off;
            largest = std::max(largest, std::fabs(static_cast<double>(wanted[i])));
        }
        CAPTURE(farthest / largest);
        CHECK(farthest <= allowed * largest);
        CHECK(std::sqrt(squares / static_cast<double>(found.size())) <= allowed / 3.0 * largest);
    };
    check(float{}, 1e-4);
    check(bfloat16{}, 0x1p-8 * std::sqrt(rounds));
}
