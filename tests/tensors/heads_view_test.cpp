// SPDX-License-Identifier: MIT
#include "cordage/tensors/heads_view.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <vector>

#include "cordage/tensors/hadamard.hpp"
#include "cordage/tensors/lane_groups.hpp"

using namespace cordage;

TEST_CASE("tensors/heads_view: token_major and head_major are the two dense layouts") {
    std::vector<float> memory(2 * 3 * 4 * 5);
    const heads_shape shape{2, 3, 4, 5};
    const auto tokens = token_major(memory.data(), shape), heads = head_major(memory.data(), shape);
    CHECK(tokens.head(1, 2, 3) - memory.data() == ((1 * 3 + 2) * 4 + 3) * 5);
    CHECK(heads.head(1, 2, 3) - memory.data() == ((1 * 4 + 3) * 3 + 2) * 5);
    CHECK(tokens.token(1, 2) == tokens.head(1, 2, 0));
    CHECK(describe(shape) == "[2, 3, 4, 5]");
}

TEST_CASE("tensors/heads_view: strides that 64 bits do not hold are the largest number") {
    constexpr index_t huge = index_t{1} << 40, largest = std::numeric_limits<index_t>::max();
    CHECK(token_major<float>(nullptr, {1, huge, huge, 2}).batch_stride == largest);
    CHECK(head_major<float>(nullptr, {1, huge, huge, 2}).batch_stride == largest);
}

// A cache of 5 blocks of 4 slots; heads before slots within a block, so that the strides are not in order.
TEST_CASE_TEMPLATE("tensors/heads_view: a slot is a place of a block, by a slot a token or a block for each few", Entry,
                   std::int32_t, std::int64_t) {
    std::vector<float> memory(1000);
    const heads_view<float> cache{memory.data() + 7, {5, 4, 2, 6}, 64, 7, 30};
    const std::vector<Entry> slots{19, 0, -1, 6, 7, 3, 20, -9};
    const auto by_slot = in_slots(cache, slots.data(), 2, 4);
    CHECK(by_slot.shape == heads_shape{2, 4, 2, 6});
    const auto place = [&](index_t block, index_t slot) { return cache.data + block * 64 + slot * 7; };
    CHECK(by_slot.token(0, 0) == place(4, 3));
    CHECK(by_slot.token(0, 1) == place(0, 0));
    CHECK(by_slot.token(0, 2) == nullptr);
    CHECK(by_slot.token(0, 3) == place(1, 2));
    CHECK(by_slot.token(1, 0) == place(1, 3));
    CHECK(by_slot.head(1, 1, 1) == place(0, 3) + 30);
    CHECK(by_slot.token(1, 2) == nullptr);  // past the cache; rejected by rotations
    CHECK(by_slot.token(1, 3) == nullptr);  // any entry below 0

    const std::vector<Entry> table{3, 0, 4, 99, 2, -1, 1, 99};  // rows of three blocks, the last partly filled
    const auto by_block = in_blocks(cache, table.data(), 2, 11, 4);
    CHECK(by_block.shape == heads_shape{2, 11, 2, 6});
    CHECK(by_block.token(0, 0) == place(3, 0));
    CHECK(by_block.token(0, 3) == place(3, 3));
    CHECK(by_block.token(0, 4) == place(0, 0));
    CHECK(by_block.token(0, 10) == place(4, 2));
    CHECK(by_block.token(1, 1) == place(2, 1));
    for (const index_t token : {4, 5, 6, 7}) CHECK(by_block.token(1, token) == nullptr);
    CHECK(by_block.token(1, 8) == place(1, 0));
}

// A block of one slot is both a slot and a block.
TEST_CASE("tensors/heads_view: blocks of one slot mean the same either way") {
    std::vector<float> memory(60);
    const auto cache = token_major(memory.data(), {10, 1, 1, 6});
    const std::int32_t entries[] = {9, 4, -1, 0};
    const auto slots = in_slots(cache, entries, 1, 4), blocks = in_blocks(cache, entries, 1, 4, 4);
    for (index_t token = 0; token < 4; ++token) CHECK(slots.token(0, token) == blocks.token(0, token));
}

// 64-bit entries and tokens past 2^31: the quotient is computed in 32 bits if possible.
TEST_CASE("tensors/heads_view: slots beyond 32 bits are found") {
    const heads_view<float> cache{nullptr, {index_t{1} << 40, 16, 1, 8}, 128, 8, 8};
    const std::vector<std::int64_t> slot{(index_t{1} << 40) + 5};
    const slot_table::location place = in_slots(cache, slot.data(), 1, 1).slots.location_of(0, 0);
    CHECK((place.block == (index_t{1} << 36) && place.in_block == 5));
    std::mt19937_64 random(3);
    for (int i = 0; i < 1000; ++i) {
        const auto a = static_cast<index_t>(random() >> (1 + random() % 60)),
                   b = 1 + static_cast<index_t>(random() >> (2 + random() % 60));
        const quotient_and_rest by = divided(a, b);
        REQUIRE((by.quotient == a / b && by.rest == a % b));
    }
}

namespace {

struct halves {
    using compute = float;
    float scale = 0.5f;
    float load(signed char x) const noexcept { return scale * static_cast<float>(x); }
    signed char store(float x) const noexcept { return static_cast<signed char>(x / scale); }
    friend bool operator==(const halves&, const halves&) = default;
};
struct uncomparable {
    using compute = float;
    float scale = 0.5f;
    float load(signed char x) const noexcept { return scale * static_cast<float>(x); }
    signed char store(float x) const noexcept { return static_cast<signed char>(x / scale); }
};

}  // namespace

TEST_CASE("tensors/heads_view: a view has its format, also in slots, and formats are compared by their data members") {
    std::vector<signed char> memory(60);
    const auto plain = heads_view<signed char, halves>{memory.data(), {1, 10, 1, 6}, 60, 6, 6, {}, halves{0.25f}};
    const std::int32_t slot = 3;
    CHECK(in_slots(plain, &slot, 1, 1).format.scale == 0.25f);
    CHECK(with_format(plain, halves{2.0f}).format.scale == 2.0f);
    CHECK(with_format(plain, halves{2.0f}).data == memory.data());
    CHECK(is_same_format(halves{1.0f}, halves{1.0f}));
    CHECK_FALSE(is_same_format(halves{1.0f}, halves{2.0f}));
    CHECK_FALSE(is_same_format(halves{}, uncomparable{}));
    CHECK_FALSE(is_same_format(uncomparable{}, uncomparable{}));  // formats without operator== count as different
    CHECK(is_same_format(element_traits<float>{}, element_traits<float>{}));
    CHECK(plain == plain);
    CHECK_FALSE(plain == with_format(plain, halves{2.0f}));
    CHECK_FALSE(plain == in_slots(plain, &slot, 1, 10));
    static_assert(format_of<halves, signed char> && !format_of<halves, float> && !format_of<float, float>);
}

TEST_CASE("tensors/heads_view: heads that become rows take their scales with them") {
    std::vector<std::int8_t> codes(3 * 2 * 4);
    std::vector<float> scales(6);
    const scaled_bytes<std::int8_t> format{.scales = {scales.data(), 6, 2, 1}};
    const auto v = token_major(codes.data(), {1, 3, 2, 4}, format);
    const auto rows = heads_as_rows(v);
    const auto grouped =
        heads_as_rows(with_format(v, lane_groups<hadamard<scaled_bytes<std::int8_t>>>{4, 4, {4, format}}));
    for (index_t head = 0; head < 2; ++head) {
        for (index_t token = 0; token < 3; ++token) {
            CHECK(rows.head(head, token, 0) == v.head(0, token, head));
            CHECK(rows.format.scales.at({head, token, 0}) == format.scales.at({0, token, head}));
            CHECK(grouped.format.inner.inner.scales.at({head, token, 0}) == format.scales.at({0, token, head}));
        }
    }
}

TEST_CASE("tensors/heads_view: slots are those of a whole cache, and there is one for each token") {
    std::vector<float> cache(8 * 2 * 4);
    const std::vector<std::int32_t> slots{3, 15};
    const auto whole = token_major(cache.data(), {2, 4, 2, 4});
    const auto part = in_slots(whole, slots.data(), 1, 2);
    const char* const nested = "in_slots and in_blocks: the view must be a whole cache, not tokens in slots of one";
    CHECK_THROWS_WITH_AS(in_slots(part, slots.data(), 1, 2), nested, shape_error);
    CHECK_THROWS_WITH_AS(in_blocks(part, slots.data(), 1, 2, 1), nested, shape_error);
    const std::int32_t* const none = nullptr;
    CHECK_THROWS_WITH_AS(in_slots(whole, none, 1, 2),
                         "in_slots and in_blocks: the table nullptr must have entries for [1, 2] tokens", shape_error);
    CHECK_THROWS_AS(in_blocks(whole, none, 1, 2, 1), shape_error);
    CHECK_NOTHROW(in_slots(whole, none, 1, 0));
}

TEST_CASE("tensors/heads_view: a mutable view converts to a const one, not the other way round") {
    std::vector<float> memory(12);
    const auto x = token_major(memory.data(), {1, 2, 1, 6});
    const heads_view<const float> read = x;
    CHECK(read.data == memory.data());
    CHECK(heads_memory(read) == heads_memory(x));
    static_assert(!std::is_convertible_v<heads_view<const float>, heads_view<float>>);
    static_assert(!std::is_convertible_v<heads_view<float>, heads_view<const double>>);
}
