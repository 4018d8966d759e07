// SPDX-License-Identifier: MIT
#include "cordage/tensors/lane_groups.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "cordage/rotate/forward.hpp"
#include "cordage/tensors/hadamard.hpp"
#include "rotate/dense.hpp"
#include "rotate/guarded_memory.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

constexpr index_t blocks = 4, block_size = 3, heads = 10, head_dim = 64, slots = blocks * block_size, tokens = 5;
constexpr heads_shape shape{1, tokens, heads, head_dim}, cache_shape{blocks, block_size, heads, head_dim};
const std::vector<std::int32_t> slot_mapping{7, -1, 2, 11, 0}, position_ids{3, 17, 70'000, -4, 0};
const basis frequencies_of_keys(frequencies(40), 1.25);

template <class T>
bool is_same(const T& a, const T& b) {
    return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof(T)) == 0;
}

// Index of an element in vLLM's [blocks, heads, head_dim / x, block_size, x].
index_t place(index_t slot, index_t head, index_t element, index_t elements, index_t x) {
    return (((slot / block_size * heads + head) * (elements / x) + element / x) * block_size + slot % block_size) * x +
           element % x;
}

/// Keys into a packed cache, rotated there and read back, against the same in a dense one, element by element.
template <class Pairing, class Backend, class T, class Format>
void check_layout(index_t x, Format packed_format, Format dense_format) {
    const index_t elements = elements_of_head<Format>(head_dim), size = slots * heads * elements;
    const auto k = random_elements<float>(shape, 5);
    const exact_angles angles(frequencies_of_keys, position_ids);
    static const guarded_memory memory;
    for (const border side : {border::first, border::last}) {
        T* const packed = memory.block<T>(size, side);
        std::memset(static_cast<void*>(packed), 7, static_cast<std::size_t>(size) * sizeof(T));
        std::vector<T> dense(packed, packed + size);
        const auto both = [&](const auto& f) {
            f(in_slots(group_major(packed, cache_shape, x, packed_format), slot_mapping.data(), 1, tokens));
            f(in_slots(token_major(dense.data(), cache_shape, lane_groups<Format>{elements, 0, dense_format}),
                       slot_mapping.data(), 1, tokens));
        };
        const auto compare = [&] {
            for (index_t slot = 0; slot < slots; ++slot) {
                for (index_t head = 0; head < heads; ++head) {
                    for (index_t i = 0; i < elements; ++i) {
                        REQUIRE(is_same(packed[place(slot, head, i, elements, x)],
                                        dense[static_cast<std::size_t>((slot * heads + head) * elements + i)]));
                    }
                }
            }
        };
        both([&](const auto& view) {
            rotate_forward<Pairing, Backend>(angles, from_to(token_major(k.data(), shape), view, 10));
        });
        compare();
        both([&](const auto& view) { rotate_forward<Pairing, Backend>(angles, in_place(view, 10)); });
        compare();
        std::vector<float> back(k.size()), expected(k.size());
        std::vector<float>* out = &back;
        both([&](const auto& view) {
            rotate_inverse<Pairing, Backend>(angles, from_to(view, token_major(out->data(), shape), 10));
            out = &expected;
        });
        CHECK(same_bits(back, expected));
    }
}

// A cache of plain elements holds each lane rounded once.
template <class Pairing, class Backend, class T>
void check_elements(index_t x) {
    const auto k = random_elements<float>(shape, 6);
    const exact_angles angles(frequencies_of_keys, position_ids);
    std::vector<float> rotated(k.size());
    rotate_forward<Pairing, Backend>(angles, from_to(token_major(k.data(), shape), token_major(rotated.data(), shape)));
    std::vector<T> cache(static_cast<std::size_t>(slots * heads * head_dim));
    rotate_forward<Pairing, Backend>(
        angles, from_to(token_major(k.data(), shape),
                        in_slots(group_major(cache.data(), cache_shape, x), slot_mapping.data(), 1, tokens)));
    std::size_t next = 0;
    for (const std::int32_t slot : slot_mapping) {
        for (index_t head = 0; head < heads; ++head) {
            for (index_t i = 0; i < head_dim; ++i, ++next) {
                if (slot < 0) continue;
                REQUIRE(is_same(cache[static_cast<std::size_t>(place(slot, head, i, head_dim, x))],
                                element_traits<T>::store(rotated[next])));
            }
        }
    }
}

}  // namespace

TEST_CASE("tensors/lane_groups: keys are laid out as in vLLM's packed cache, in any format, and are read back") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        check_elements<Pairing, Backend, float>(4);
        check_elements<Pairing, Backend, bfloat16>(8);
        check_elements<Pairing, Backend, float16>(1);
        check_layout<Pairing, Backend, bfloat16>(8, element_traits<bfloat16>{}, element_traits<bfloat16>{});
        check_layout<Pairing, Backend, bfloat16>(16, element_traits<bfloat16>{}, element_traits<bfloat16>{});
        check_layout<Pairing, Backend, q8_0_block>(1, q8_0{}, q8_0{});
        std::vector<float> one(slots * heads), two = one;
        const auto scaled = [](std::vector<float>& scales) {
            return scaled_bytes<fp8_e4m3>{.scales = {scales.data(), block_size * heads, heads, 1}};
        };
        check_layout<Pairing, Backend, fp8_e4m3>(16, scaled(one), scaled(two));
        CHECK(one == two);
    });
}

TEST_CASE("tensors/lane_groups: packed keys move within their cache, and keep their bits if not rotated") {
    std::vector<bfloat16> cache;
    for (index_t i = 0; i < slots * heads * head_dim; ++i)
        cache.push_back(stored<bfloat16>(std::sin(0.37 * double(i))));
    const std::vector<std::int32_t> from{2, 5, 6, 11}, to{0, 1, 2, 6}, old_ids{3, 4, 5, 6}, new_ids{0, 4, 2, 3};
    const auto angles = exact_angles(frequencies_of_keys, new_ids) - exact_angles(frequencies_of_keys, old_ids);
    const auto in = [&](std::vector<bfloat16>& x, const auto& table) {
        return in_slots(group_major(x.data(), cache_shape, 8), table.data(), 1, 4);
    };
    const std::vector<bfloat16> before = cache;
    std::vector<bfloat16> copy = cache, expected = cache;
    rebase<half_split>(angles, from_to(in(copy, from), in(expected, to)));
    rebase<half_split>(angles, from_to(in(cache, from), in(cache, to)));
    CHECK(same_bits(cache, expected));
    CHECK_FALSE(same_bits(cache, before));
    for (index_t i = 0; i < head_dim; ++i) {  // the second token's angle is 0
        REQUIRE(is_same(cache[static_cast<std::size_t>(place(1, 3, i, head_dim, 8))],
                        before[static_cast<std::size_t>(place(5, 3, i, head_dim, 8))]));
    }
    // Between different groups lanes are copied, not bytes.
    const auto same = exact_angles(frequencies_of_keys, old_ids) - exact_angles(frequencies_of_keys, old_ids);
    rebase<half_split>(
        same, from_to(in(copy, from), in_slots(group_major(expected.data(), cache_shape, 16), to.data(), 1, 4)));
    CHECK(is_same(expected[static_cast<std::size_t>(place(6, 9, 33, head_dim, 16))],
                  copy[static_cast<std::size_t>(place(11, 9, 33, head_dim, 8))]));
}

TEST_CASE("tensors/lane_groups: groups that do not fit a head, or overlap, are refused") {
    std::vector<float> cache(slots * heads * head_dim), k(tokens * heads * head_dim);
    const exact_angles angles(frequencies_of_keys, position_ids);
    for (const index_t wrong : {index_t{0}, index_t{-4}, index_t{3}, index_t{128}}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(group_major(cache.data(), cache_shape, wrong), shape_error);
        auto by_hand = group_major(cache.data(), cache_shape, 4);
        by_hand.format.elements_of_group = wrong;
        CHECK_THROWS_AS(rotate_forward<half_split>(angles, in_place(in_slots(by_hand, slot_mapping.data(), 1, tokens))),
                        shape_error);
    }
    CHECK_THROWS_WITH_AS(group_major(cache.data(), cache_shape, 3),
                         "group_major: the view's elements_of_group 3 must divide the elements of a head, 64",
                         shape_error);
    auto overlapping = group_major(cache.data(), cache_shape, 4);
    overlapping.format.group_stride -= 1;
    CHECK_THROWS_AS(rotate_forward<half_split>(angles, in_place(in_slots(overlapping, slot_mapping.data(), 1, tokens))),
                    shape_error);
    overlapping.format.group_stride = -12;
    CHECK_THROWS_AS(rotate_forward<half_split>(angles, in_place(in_slots(overlapping, slot_mapping.data(), 1, tokens))),
                    shape_error);
    CHECK_THROWS_AS(rotate_forward<half_split>(angles, from_to(in_slots(overlapping, slot_mapping.data(), 1, tokens),
                                                               token_major(k.data(), shape))),
                    shape_error);
    CHECK_FALSE(overlapping == group_major(cache.data(), cache_shape, 4));
    CHECK_FALSE(overlapping.format == group_major(cache.data(), cache_shape, 4).format);
    overlapping.format.group_stride = index_t{1} << 60;
    CHECK_THROWS_AS(rotate_forward<half_split>(angles, in_place(in_slots(overlapping, slot_mapping.data(), 1, tokens))),
                    shape_error);
    // Given scales of the inner format are checked.
    float zero = 0.0f;
    std::vector<std::int8_t> codes(cache.size());
    CHECK_THROWS_AS(
        rotate_forward<half_split>(
            angles,
            from_to(token_major(k.data(), shape),
                    in_slots(group_major(codes.data(), cache_shape, 16,
                                         scaled_bytes<std::int8_t>{.scales = {&zero, 0, 0, 0}, .makes_scales = false}),
                             slot_mapping.data(), 1, tokens))),
        value_error);
}

namespace {

/// Sixteen lanes in ten bytes: groups of one element are neither 16 bytes nor a part of them.
struct ten_bytes {
    std::uint8_t bytes[10];
};
struct sixteen_in_ten {
    using compute = float;
    static constexpr index_t lanes_of_element = 16;
    template <class Lane>
    void load_head(const ten_bytes* from, const head_place&, float* lanes, index_t count) const noexcept {
        for (index_t i = 0; i < count; ++i) {
            const ten_bytes& element = from[i / 16];
            lanes[i] = static_cast<float>(element.bytes[i % 16 % 10]);
        }
    }
    template <class Lane>
    void store_head(const float* lanes, index_t count, ten_bytes* to, const head_place&) const noexcept {
        for (index_t i = 0; i < count; ++i) {
            if (i % 16 < 10) to[i / 16].bytes[i % 16] = static_cast<std::uint8_t>(std::fabs(lanes[i]) * 40.0f);
        }
    }
    void check(const char*, const char*, index_t) const {}
};

}  // namespace

// Each group once was written as 16 bytes.
TEST_CASE("tensors/lane_groups: elements of a user whose size does not divide 16 stay in their places") {
    const heads_shape one{1, 1, 1, 32}, all{1, 2, 1, 32};
    const auto k = random_elements<float>(one, 9);
    const std::vector<std::int32_t> last{1}, at{0};
    const basis unmoved(std::vector<double>(16, 0.0));
    std::vector<ten_bytes> cache(4);
    std::memset(cache.data(), 7, sizeof(ten_bytes) * 4);
    rotate_forward<half_split>(
        exact_angles(unmoved, at),
        from_to(token_major(k.data(), one),
                in_slots(group_major(cache.data(), all, 1, sixteen_in_ten{}), last.data(), 1, 1)));
    const ten_bytes untouched = [] {
        ten_bytes b{};
        std::memset(&b, 7, sizeof b);
        return b;
    }();
    CHECK(is_same(cache[0], untouched));  // [group 0][slot 0], [0][1], [1][0], [1][1]
    CHECK_FALSE(is_same(cache[1], untouched));
    CHECK(is_same(cache[2], untouched));
    CHECK_FALSE(is_same(cache[3], untouched));
}
