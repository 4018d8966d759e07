// SPDX-License-Identifier: MIT
// Tokens in the slots of a paged cache: read, written, skipped.
#include "rotate/random_case.hpp"

#include "cordage/core/threads.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// The slots of a cache for the tokens of a case, as a host would assign them: by token or by block.
struct random_slots {
    index_t blocks, block_size, entries_of_row;
    bool is_by_block, is_wide;
    std::vector<index_t> entries;  // [batch, entries_of_row]

    random_slots(draw& d, index_t batch, index_t tokens, bool is_written)
        : block_size(d.between(1, 4)), is_by_block(d.coin()), is_wide(d.coin()) {
        const index_t used = is_by_block ? (tokens + block_size - 1) / block_size : tokens;
        entries_of_row = used + (is_by_block ? d.between(0, 2) : 0);  // entries past the tokens are not read
        const index_t needed = batch * used;
        blocks = (is_by_block ? needed : (needed + block_size - 1) / block_size) + d.between(1, 3);
        const index_t room = is_by_block ? blocks : blocks * block_size;
        std::vector<index_t> free;
        for (index_t i = 0; i < room; ++i) free.push_back(i);
        for (index_t row = 0; row < batch; ++row) {
            for (index_t i = 0; i < entries_of_row; ++i) {
                if (i >= used) {
                    entries.push_back(1'000'000);  // not a block of the cache
                } else if (d.between(0, 5) == 0) {
                    entries.push_back(-1);
                } else {
                    const auto at = static_cast<std::size_t>(d.between(0, std::ssize(free) - 1));
                    entries.push_back(free[at]);
                    if (is_written) free.erase(free.begin() + static_cast<index_t>(at));
                }
            }
        }
    }
    // (block, slot in it) of a token, or -1: the documented rule.
    std::pair<index_t, index_t> place(index_t row, index_t token) const {
        const index_t entry =
            entries[static_cast<std::size_t>(row * entries_of_row + (is_by_block ? token / block_size : token))];
        if (entry < 0) return {-1, 0};
        return is_by_block ? std::pair{entry, token % block_size} : std::pair{entry / block_size, entry % block_size};
    }
    heads_shape cache_shape(const heads_shape& tokens) const {
        return {blocks, block_size, tokens.heads, tokens.head_dim};
    }
    // The library's view; entries are at a border.
    template <class T>
    heads_view<T> view(draw& d, std::size_t role, const heads_view<T>& cache, const heads_shape& shape) const {
        const auto with = [&]<class Entry>(Entry) {
            const std::span<Entry> table = guarded_numbers<Entry>(d, role, std::ssize(entries));
            for (std::size_t i = 0; i < entries.size(); ++i) table[i] = static_cast<Entry>(entries[i]);
            return is_by_block ? in_blocks(cache, table.data(), shape.batch, shape.tokens, entries_of_row)
                               : in_slots(cache, table.data(), shape.batch, shape.tokens);
        };
        return is_wide ? with(std::int64_t{}) : with(std::int32_t{});
    }
};

// A tensor of a case: dense in any order of strides, or in the slots of a cache of that kind.
template <class T>
struct placed {
    random_slots slots;
    bool is_dense;
    random_tensor<T> cache;
    heads_view<T> view;

    placed(draw& d, std::size_t role, std::size_t table_role, const heads_shape& shape, bool is_written)
        : slots(d, shape.batch, shape.tokens, is_written),
          is_dense(d.between(0, 3) == 0),
          cache(d, role, is_dense ? shape : slots.cache_shape(shape)),
          view(is_dense ? cache.view : slots.view(d, table_role, cache.view, shape)) {}

    // Index of a token's first lane of a head in the cache's memory; -1 if the token is left out.
    index_t at(index_t row, index_t token, index_t head) const {
        const auto [block, place] = is_dense ? std::pair{row, token} : slots.place(row, token);
        if (block < 0) return -1;
        return block * cache.view.batch_stride + place * cache.view.token_stride + head * cache.view.head_stride;
    }
};

// Every head of every token that both have, one by one by the scalar backend; the rest of `to` must not change.
template <class Pairing, class Backend, class T>
void check_case(draw& d) {
    const index_t batch = d.between(1, 3), tokens = d.between(0, 9), pairs = d.between(1, 40);
    const heads_shape shape{batch, tokens, d.between(1, 3), 2 * pairs + d.between(0, 5)};
    const index_t first_lane = d.between(0, shape.head_dim - 2 * pairs);
    const basis b(frequencies(2 * pairs), 1.25);
    std::vector<std::int32_t> ids;
    for (index_t i = 0; i < batch * tokens; ++i) ids.push_back(d.position<std::int32_t>());
    const exact_angles angles(b, position_view<std::int32_t>(ids.data(), batch, tokens, tokens));

    const bool is_in_place = d.coin();
    const placed<T> x(d, 0, 2, shape, is_in_place);
    const placed<T> y = is_in_place ? x : placed<T>(d, 1, 3, shape, true);
    std::vector<T> expected = y.cache.before;
    std::vector<bool> is_rotated(expected.size(), false);
    for_each_head(shape, [&](index_t row, index_t token, index_t head) {
        const index_t from = x.at(row, token, head), to = y.at(row, token, head);
        if (from < 0 || to < 0) return;
        const exact_angles one(b, std::span(ids).subspan(static_cast<std::size_t>(row * tokens + token), 1));
        const heads_shape of_head{1, 1, 1, shape.head_dim};
        rotate_forward<Pairing, backend::scalar>(one, from_to(token_major(x.cache.before.data() + from, of_head),
                                                              token_major(expected.data() + to, of_head), first_lane));
        for (index_t i = 0; i < 2 * pairs; ++i) is_rotated[static_cast<std::size_t>(to + first_lane + i)] = true;
    });
    rotate_forward<Pairing, Backend>(angles,
                                     is_in_place ? in_place(x.view, first_lane) : from_to(x.view, y.view, first_lane));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double wanted = value(expected[i]), found = value(y.cache.view.data[i]);
        const double allowed = is_rotated[i] ? 2.0 * allowed_error<T>(5.0, d.farthest(), wanted) : 0.0;
        if (!(std::fabs(found - wanted) <= allowed)) ++wrong;
    }
    CAPTURE(is_in_place);
    REQUIRE(wrong == 0);
}

// The backward pass with grad_y, y and grad_x in slots, against the same of the tokens that all three have.
template <class Pairing, class Backend, class T>
void check_backward_case(draw& d) {
    const index_t batch = d.between(1, 3), tokens = d.between(1, 9), pairs = d.between(1, 40);
    const heads_shape shape{batch, tokens, d.between(1, 3), 2 * pairs};
    const basis b(frequencies(2 * pairs), 1.25);
    std::vector<std::int32_t> ids;
    for (index_t i = 0; i < batch * tokens; ++i) ids.push_back(static_cast<std::int32_t>(d.between(-90, 90)));
    const exact_angles angles(b, position_view<std::int32_t>(ids.data(), batch, tokens, tokens));
    const placed<T> g(d, 0, 4, shape, false), y(d, 1, 5, shape, false), gx(d, 2, 6, shape, true);

    const auto size = static_cast<std::size_t>(pairs), count = ids.size();
    std::vector<double> expected(size + count + 1), found = expected;
    const auto grads_of = [&](std::vector<double>& all, std::size_t token, std::size_t token_count) {
        return rotation_gradients{.inv_freq = std::span(all).first(size),
                                  .position_ids = std::span(all).subspan(size + token, token_count),
                                  .attention_factor = std::span(all).last(1)};
    };
    std::vector<T> expected_x = gx.cache.before;
    for_each_head(shape, [&](index_t row, index_t token, index_t head) {
        const index_t of_g = g.at(row, token, head), of_y = y.at(row, token, head), of_x = gx.at(row, token, head);
        if (of_g < 0 || of_y < 0 || of_x < 0) return;
        const auto i = static_cast<std::size_t>(row * tokens + token);
        const exact_angles one(b, std::span(ids).subspan(i, 1));
        const heads_shape of_head{1, 1, 1, shape.head_dim};
        rotate_backward<Pairing, backend::scalar>(one, grads_of(expected, i, 1),
                                                  grad_through(token_major(g.cache.before.data() + of_g, of_head),
                                                               token_major(y.cache.before.data() + of_y, of_head),
                                                               token_major(expected_x.data() + of_x, of_head)));
    });
    rotate_backward<Pairing, Backend>(angles, grads_of(found, 0, count), grad_through(g.view, y.view, gx.view));
    for (std::size_t i = 0; i < expected_x.size(); ++i) {
        REQUIRE(std::fabs(value(gx.cache.view.data[i]) - value(expected_x[i])) <=
                2.0 * allowed_error<T>(5.0, 90.0, value(expected_x[i])));
    }
    const double allowed = gradient_sum<T> * 8.0 * 90.0 * static_cast<double>(count) * static_cast<double>(pairs) * 3.0;
    for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(std::fabs(found[i] - expected[i]) <= allowed);
}

template <class T>
void check_type(unsigned seed) {
    for_each_kernel([seed]<class Pairing, class Backend>(Pairing, Backend) {
        for (unsigned i = 0; i < 300; ++i) {
            CAPTURE(i);
            draw d(seed + 1000 * i);
            if (d.between(0, 2) == 0) {
                check_backward_case<Pairing, Backend, T>(d);
            } else {
                check_case<Pairing, Backend, T>(d);
            }
        }
    });
}

const basis four_pairs({1.0, 0.5, 0.25, 0.125});
const std::vector<std::int32_t> three{0, 1, 2};

}  // namespace

TEST_CASE("rotate/slots: tokens scattered over a cache, read and written, as one by one, and nothing else is changed") {
    check_type<float>(1);
}
TEST_CASE("rotate/slots: the same of bfloat16") { check_type<bfloat16>(2); }

TEST_CASE("rotate/slots: keys go to their slots from where they are, q beside them, by any number of threads") {
    const heads_shape shape{2, 70, 2, 24}, cache_shape{40, 8, 2, 24};
    const basis b(frequencies(20), 1.25);
    std::vector<std::int32_t> ids(140), slots(140);
    for (std::size_t i = 0; i < 140; ++i) {
        ids[i] = static_cast<std::int32_t>(3 * i), slots[i] = static_cast<std::int32_t>(i * 37 % 320);
    }
    const exact_angles angles(b, position_view<std::int32_t>(ids.data(), 2, 70, 70));
    const auto k = random_elements<float>(shape, 1), q = random_elements<float>(shape, 2);
    std::vector<float> dense = k, only_q = q;
    rotate_forward<half_split>(angles, in_place(token_major(dense.data(), shape)));
    rotate_forward<half_split>(angles, in_place(token_major(only_q.data(), shape)));
    const auto with = [&](const auto& how) {
        std::vector<float> cache(40 * 8 * 2 * 24, -7.0f), rotated = q;
        rotate_forward<half_split>(how, angles, in_place(token_major(rotated.data(), shape)),
                                   from_to(token_major(k.data(), shape),
                                           in_slots(token_major(cache.data(), cache_shape), slots.data(), 2, 70)));
        CHECK(same_bits(rotated, only_q));
        return cache;
    };
    const auto alone = with(serial{});
    CHECK(same_bits(with(threads{3, 1}), alone));
    for (std::size_t i = 0; i < 140; ++i) {
        const auto* found = alone.data() + slots[i] * 48;
        CHECK(std::equal(found, found + 48, dense.data() + i * 48));
    }
    CHECK(std::count(alone.begin(), alone.end(), -7.0f) == (320 - 140) * 48);
}

TEST_CASE_TEMPLATE(
    "rotate/slots: an entry that is none of the cache's, or is written twice, is named before anything "
    "is written",
    Entry, std::int32_t, std::int64_t) {
    const heads_shape shape{1, 3, 1, 8};
    const auto x = random_elements<float>(shape, 3);
    const auto cache_before = random_elements<float>({5, 4, 1, 8}, 4);
    std::vector<float> cache = cache_before;
    const exact_angles angles(four_pairs, three);
    const auto to_slots = [&](const std::vector<Entry>& slots) {
        rotate_forward<half_split>(angles,
                                   from_to(token_major(x.data(), shape),
                                           in_slots(token_major(cache.data(), {5, 4, 1, 8}), slots.data(), 1, 3)));
    };
    CHECK_THROWS_WITH_AS(to_slots({1, 2, 20}),
                         "rotate_forward: y's slot [0, 2] 20 must be one of the cache's 20 slots, or -1 to skip it",
                         value_error);
    CHECK_THROWS_AS(to_slots({std::numeric_limits<Entry>::max(), 2, 3}), value_error);
    CHECK_THROWS_WITH_AS(to_slots({1, -2, 3}),
                         "rotate_forward: y's slot [0, 1] -2 must be one of the cache's 20 slots, or -1 to skip it",
                         value_error);
    CHECK_THROWS_WITH_AS(to_slots({7, 2, 7}),
                         "rotate_forward: y's slot [0, 2] 7 must be listed once: two tokens must not be written to "
                         "one slot",
                         value_error);
    const std::vector<Entry> wrong_block{5}, twice{2, 2}, once{2};
    CHECK_THROWS_WITH_AS(
        rotate_inverse<half_split>(
            angles, in_place(in_blocks(token_major(cache.data(), {5, 4, 1, 8}), wrong_block.data(), 1, 3, 1))),
        "rotate_inverse: x's block [0, 0] 5 must be one of the cache's 5 blocks, or -1 to skip it", value_error);
    std::vector<float> other(2 * 3 * 8, 1.0f), grads(other);
    const heads_shape two_rows{2, 3, 1, 8};
    CHECK_THROWS_WITH_AS(
        rotate_backward<half_split>(
            angles, rotation_gradients{},
            grad_through(token_major(other.data(), two_rows), token_major(other.data(), two_rows),
                         in_blocks(token_major(cache.data(), {5, 4, 1, 8}), twice.data(), 2, 3, 1))),
        "rotate_backward: grad_x's block [1, 0] 2 must be listed once: two tokens must not be written to one slot",
        value_error);
    std::vector<Entry> many(18);  // more than are compared pairwise: 19, 18, ..., 3, 3
    for (std::size_t i = 0; i < 18; ++i) many[i] = static_cast<Entry>(i < 17 ? 19 - i : 3);
    const std::vector<float> longer(18 * 8, 1.0f);
    const std::vector<std::int32_t> eighteen(18, 5);
    CHECK_THROWS_WITH_AS(
        rotate_forward<half_split>(exact_angles(four_pairs, eighteen),
                                   from_to(token_major(longer.data(), {1, 18, 1, 8}),
                                           in_slots(token_major(cache.data(), {5, 4, 1, 8}), many.data(), 1, 18))),
        "rotate_forward: y's slot [0, 17] 3 must be listed once: two tokens must not be written to one slot",
        value_error);
    CHECK(same_bits(cache, cache_before));
    // What is only read may be read twice; -1 may stand anywhere and any number of times.
    CHECK_NOTHROW(rotate_forward<half_split>(
        angles, from_to(in_blocks(token_major(cache.data(), {5, 4, 1, 8}), twice.data(), 2, 3, 1),
                        token_major(grads.data(), two_rows))));
    CHECK_NOTHROW(to_slots({-1, -1, -1}));
    CHECK(same_bits(cache, cache_before));
}

TEST_CASE("rotate/slots: an invalid cache is rejected, and so is one that overlaps the input") {
    std::vector<float> cache(200), x(24);
    const std::vector<std::int32_t> slots{0, 1, 2};
    const exact_angles angles(four_pairs, three);
    const heads_shape shape{1, 3, 1, 8};
    const auto refused = [&](heads_shape cache_shape, const char* text) {
        CHECK_THROWS_WITH_AS(
            rotate_forward<half_split>(angles,
                                       in_place(in_slots(token_major(cache.data(), cache_shape), slots.data(), 1, 3))),
            text, shape_error);
    };
    refused({5, 0, 1, 8}, "rotate_forward: x's cache [blocks 5, block_size 0] must have blocks of at least one slot");
    refused({-1, 4, 1, 8}, "rotate_forward: x's cache [blocks -1, block_size 4] must have blocks of at least one slot");
    CHECK_THROWS_AS(rotate_forward<half_split>(  // some of x lies within the cache
                        angles, from_to(token_major(cache.data() + 64, shape),
                                        in_slots(token_major(cache.data(), {5, 4, 1, 8}), slots.data(), 1, 3))),
                    shape_error);
    auto overlapping = token_major(cache.data(), {5, 4, 1, 8});
    overlapping.token_stride = 7;
    CHECK_THROWS_AS(rotate_forward<half_split>(
                        angles, from_to(token_major(x.data(), shape), in_slots(overlapping, slots.data(), 1, 3))),
                    shape_error);
    heads_view<float> nowhere = token_major(static_cast<float*>(nullptr), {5, 4, 1, 8});
    CHECK_THROWS_AS(rotate_forward<half_split>(
                        angles, from_to(token_major(x.data(), shape), in_slots(nowhere, slots.data(), 1, 3))),
                    shape_error);
    auto wrong_rows = in_slots(token_major(cache.data(), {5, 4, 1, 8}), slots.data(), 1, 3);
    wrong_rows.slots.row_stride = -3;
    CHECK_THROWS_WITH_AS(rotate_forward<half_split>(angles, in_place(wrong_rows)),
                         "rotate_forward: x's slots.row_stride -3 must not be negative", shape_error);
    auto wrong_entries = in_slots(token_major(cache.data(), {5, 4, 1, 8}), slots.data(), 1, 3);
    wrong_entries.slots.tokens_of_entry = 3;
    CHECK_THROWS_WITH_AS(rotate_forward<half_split>(angles, in_place(wrong_entries)),
                         "rotate_forward: x's slots.tokens_of_entry 3 must be 1 or block_size 4", shape_error);
    CHECK(cache == std::vector<float>(200));
}
