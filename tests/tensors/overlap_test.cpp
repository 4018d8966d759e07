// SPDX-License-Identifier: MIT
#include "cordage/tensors/overlap.hpp"

#include "cordage/tensors/lane_groups.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

using namespace cordage;

namespace {

using view = heads_view<float>;

// The elements of a view as distances from `origin`: the reference for overlap queries.
std::vector<index_t> elements(const view& v, const float* origin) {
    std::vector<index_t> all;
    for (index_t b = 0; b < v.shape.batch; ++b) {
        for (index_t t = 0; t < v.shape.tokens; ++t) {
            for (index_t h = 0; h < v.shape.heads; ++h) {
                for (index_t lane = 0; lane < v.shape.head_dim; ++lane) all.push_back(v.head(b, t, h) + lane - origin);
            }
        }
    }
    std::sort(all.begin(), all.end());
    return all;
}
bool are_distinct(const view& v) {
    const auto all = elements(v, v.data);
    return std::adjacent_find(all.begin(), all.end()) == all.end();
}
bool share_an_element(const view& a, const view& b) {
    const auto first = elements(a, a.data), second = elements(b, a.data);
    std::vector<index_t> both;
    std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(both));
    return !both.empty();
}
bool are_same(const view& a, const view& b) {
    if (!(a.shape == b.shape) || a.data != b.data) return false;
    for (index_t i = 0; i < a.shape.batch; ++i) {
        for (index_t t = 0; t < a.shape.tokens; ++t) {
            for (index_t h = 0; h < a.shape.heads; ++h) {
                if (a.head(i, t, h) != b.head(i, t, h)) return false;
            }
        }
    }
    return true;
}

struct random_views {
    std::mt19937 engine{3};
    std::vector<float> memory = std::vector<float>(4096);

    index_t below(index_t n) { return static_cast<index_t>(engine() % static_cast<unsigned>(n)); }
    heads_shape shape() { return {1 + below(3), 1 + below(3), 1 + below(3), 1 + below(4)}; }
    // Strides that may or may not be nested.
    view any() { return {memory.data() + 1024 + below(40), shape(), below(30), below(12), below(12)}; }
    // Axes in random order, each with a stride of its inner extent plus up to 3 elements.
    view nested(const heads_shape& s) {
        std::array<int, 3> order{0, 1, 2};
        std::shuffle(order.begin(), order.end(), engine);
        std::array<index_t, 3> strides{}, counts{s.batch, s.tokens, s.heads};
        index_t inside = s.head_dim;
        for (const int axis : order) {
            strides[static_cast<std::size_t>(axis)] = inside + below(4);
            inside = strides[static_cast<std::size_t>(axis)] * counts[static_cast<std::size_t>(axis)];
        }
        return {memory.data() + 1024, s, strides[0], strides[1], strides[2]};
    }
};

}  // namespace

TEST_CASE("tensors/overlap: the two dense layouts of one buffer are distinct each, and overlap partly") {
    std::vector<float> memory(120);
    const heads_shape shape{2, 3, 4, 5};
    const view tokens = token_major(memory.data(), shape), heads = head_major(memory.data(), shape);
    for (const view& v : {tokens, heads}) {
        CHECK(has_distinct_elements(v));
        CHECK(elements(v, memory.data()).size() == memory.size());
    }
    CHECK(overlap_of(tokens, tokens) == overlap::same);
    CHECK(overlap_of(tokens, heads) == overlap::partial);
}

TEST_CASE(
    "tensors/overlap: has_distinct_elements never calls a view distinct that is not, and knows every nested one") {
    random_views random;
    int distinct = 0;
    for (int i = 0; i < 20'000; ++i) {
        const view v = random.any();
        if (has_distinct_elements(v)) {
            ++distinct;
            REQUIRE(are_distinct(v));
        }
        REQUIRE(has_distinct_elements(random.nested(random.shape())));
    }
    CHECK(distinct > 1000);
}

TEST_CASE("tensors/overlap: overlap_of is never none or same where brute force differs") {
    random_views random;
    int none = 0, same = 0;
    for (int i = 0; i < 40'000; ++i) {
        const view a = random.any(), b = i % 4 == 0 ? a : random.any();
        const overlap answer = overlap_of(a, b);
        CAPTURE(i);
        if (answer == overlap::none) REQUIRE_FALSE(share_an_element(a, b));
        if (answer == overlap::same) REQUIRE(are_same(a, b));
        REQUIRE(overlap_of(b, a) == answer);
        none += answer == overlap::none;
        same += answer == overlap::same;
    }
    CHECK(none > 1000);
    CHECK(same > 1000);
}

TEST_CASE("tensors/overlap: overlap_of is exact for two views with the same nested strides") {
    random_views random;
    int none = 0, partial = 0;
    for (int i = 0; i < 40'000; ++i) {
        const heads_shape largest = random.shape();
        view a = random.nested(largest), b = a;
        // Two slices of one buffer: each with its own smaller shape, apart by some elements.
        for (heads_shape* s : {&a.shape, &b.shape}) {
            *s = {1 + random.below(largest.batch), 1 + random.below(largest.tokens), 1 + random.below(largest.heads),
                  1 + random.below(largest.head_dim)};
        }
        b.data += random.below(120) - 60;
        const bool meet = share_an_element(a, b);
        const overlap expected = !meet ? overlap::none : are_same(a, b) ? overlap::same : overlap::partial;
        CAPTURE(i);
        REQUIRE(overlap_of(a, b) == expected);
        none += expected == overlap::none;
        partial += expected == overlap::partial;
    }
    CHECK(none > 5000);
    CHECK(partial > 5000);
}

TEST_CASE("tensors/overlap: heads in groups of lanes, against brute force") {
    random_views random;
    using grouped_view = heads_view<float, lane_groups<element_traits<float>>>;
    const auto elements_of = [](const grouped_view& v, const float* origin) {
        std::vector<index_t> all;
        view one{v.data, v.shape, v.batch_stride, v.token_stride, v.head_stride};
        one.shape.head_dim = v.format.elements_of_group;
        for (index_t i = 0; i < v.shape.head_dim / v.format.elements_of_group; ++i) {
            const auto some = elements(one, origin);
            all.insert(all.end(), some.begin(), some.end());
            one.data += v.format.group_stride;
        }
        std::sort(all.begin(), all.end());
        return all;
    };
    int none = 0, partial = 0, distinct = 0, exact = 0;
    for (int i = 0; i < 15'000; ++i) {
        const auto grouped = [&](const view& v, index_t group_stride) {
            const index_t each = 1 + random.below(3);
            grouped_view g = with_format(v, lane_groups<element_traits<float>>{each, group_stride, {}});
            g.shape.head_dim = each * (1 + random.below(3));
            return g;
        };
        const grouped_view a = grouped(random.any(), random.below(20));
        const auto of_a = elements_of(a, a.data);
        if (has_distinct_elements(a)) {
            ++distinct;
            REQUIRE(std::adjacent_find(of_a.begin(), of_a.end()) == of_a.end());
        }
        // A packed cache and a part of it, or a neighbouring one.
        const heads_shape all{1 + random.below(3), 1 + random.below(3), 1 + random.below(3), 6};
        const grouped_view packed = group_major(random.memory.data() + 1024, all, 1 + random.below(3));
        REQUIRE(has_distinct_elements(packed));
        grouped_view part = packed;
        part.shape = {1 + random.below(all.batch), 1 + random.below(all.tokens), 1 + random.below(all.heads), 6};
        part.data += random.below(80) - 40;
        for (const auto& [x, y] : {std::pair{a, packed}, std::pair{packed, part}}) {
            const auto of_x = elements_of(x, x.data), of_y = elements_of(y, x.data);
            std::vector<index_t> both;
            std::set_intersection(of_x.begin(), of_x.end(), of_y.begin(), of_y.end(), std::back_inserter(both));
            const overlap answer = overlap_of(x, y);
            if (answer == overlap::none) REQUIRE(both.empty());
            if (x == packed) {
                REQUIRE((answer == overlap::none) == both.empty());
                ++exact;
            }
            none += answer == overlap::none;
            partial += answer == overlap::partial;
        }
    }
    CHECK(exact == 15'000);
    CHECK(distinct > 400);
    CHECK(none > 2000);
    CHECK(partial > 2000);
}

TEST_CASE("tensors/overlap: q, k and v of one fused buffer are apart, and a shift by one lane is partial") {
    std::vector<float> fused(672);
    const heads_shape shape{1, 7, 4, 8};
    const view q{fused.data(), shape, 0, 96, 8}, k{fused.data() + 32, shape, 0, 96, 8};
    CHECK(overlap_of(q, k) == overlap::none);
    CHECK(overlap_of(q, q) == overlap::same);
    const view one_batch_long{k.data, shape, 999, k.token_stride, k.head_stride};
    CHECK(overlap_of(q, one_batch_long) == overlap::none);  // the stride of an axis of size 1 is not used
    view shifted = q;
    ++shifted.data;
    CHECK(overlap_of(q, shifted) == overlap::partial);
    const heads_view<const float> read_only = q;
    CHECK(overlap_of(read_only, q) == overlap::same);
}

TEST_CASE("tensors/overlap: a view without elements overlaps nothing") {
    std::vector<float> memory(64);
    const view whole = token_major(memory.data(), {1, 4, 4, 4});
    // Once, a head_dim of 0 with strides of 0 divided by zero.
    for (const heads_shape& none : {heads_shape{0, 4, 4, 4}, {1, 0, 4, 4}, {1, 4, 0, 4}, {1, 4, 4, 0}}) {
        CHECK(has_distinct_elements(token_major(memory.data(), none)));  // once false with strides of 0
        CHECK(overlap_of(whole, token_major(memory.data(), none)) == overlap::none);
        CHECK(overlap_of(view{memory.data(), none, 0, 0, 0}, whole) == overlap::none);
    }
}

TEST_CASE("tensors/overlap: codes and the scales behind them in each page of a cache are apart") {
    std::vector<float> memory(3 * 100);
    // 4 tokens of 2 heads, head after head: 10 codes each, and from 80 on 2 scales each.
    const heads_shape codes{3, 4, 2, 10}, scales{3, 4, 2, 2};
    const auto of = [&](index_t first, const heads_shape& shape, index_t page = 100) {
        const index_t size = shape.head_dim;
        return view{memory.data() + first, shape, page, size, 4 * size};
    };
    CHECK(overlap_of(of(0, codes), of(80, scales)) == overlap::none);
    CHECK(overlap_of(of(80, scales), of(0, codes)) == overlap::none);
    CHECK(overlap_of(of(0, codes), of(79, scales)) == overlap::partial);
    CHECK(overlap_of(of(0, codes), of(84, scales)) == overlap::none);
    CHECK(overlap_of(of(0, codes), of(85, scales)) ==
          overlap::partial);  // the last scale is the next page's first code
    CHECK(overlap_of(of(0, codes), of(80, scales, 99)) == overlap::partial);
    CHECK(overlap_of(of(0, codes, 95), of(80, scales, 95)) == overlap::partial);
}
