// SPDX-License-Identifier: MIT
// Every memory that a call reads or writes, laid over every other one: tensors, scales, weights and sums of gradients.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "cordage/angles/exact_angles.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/tensors/ggml_blocks.hpp"
#include "cordage/tensors/group_formats.hpp"

using namespace cordage;

namespace {

const basis four_pairs({1.0, 0.5, 0.25, 0.125});
const std::vector<std::int32_t> three{0, 1, 2};
constexpr heads_shape shape{1, 3, 2, 8};

// Memory for each name, apart from each other; `over` moves one to another's.
struct memories {
    struct one {
        const char* name;
        bool is_written;
        int operand;       // -1: of the call
        const char* kind;  // what may be the same as another one of its kind
    };
    std::vector<one> all;
    std::vector<std::byte> bytes;
    std::vector<std::size_t> place;

    explicit memories(std::vector<one> names) : all(std::move(names)), bytes((all.size() + 1) * room) {
        for (std::size_t i = 0; i < all.size(); ++i) place.push_back(i);
        clear();
    }
    // Ones, which are valid as elements, codes, scales and weights.
    void clear() {
        auto* const numbers = reinterpret_cast<float*>(begin());
        std::fill_n(numbers, all.size() * room / sizeof(float), 1.0f);
    }
    template <class T>
    T* of(std::size_t i) {
        return reinterpret_cast<T*>(begin() + place[i] * room);
    }

    // Calls `call` with each memory laid over each other one, and alone.
    template <class Call>
    void check(const Call& call) {
        REQUIRE_NOTHROW(call(*this));
        for (std::size_t a = 0; a < all.size(); ++a) {
            for (std::size_t b = 0; b < all.size(); ++b) {
                if (a == b) continue;
                const std::string pair = std::string(all[a].name) + " over " + all[b].name;
                CAPTURE(pair);
                place[a] = b;
                clear();
                const bool may_be =
                    (!all[a].is_written && !all[b].is_written) ||
                    (std::string(all[a].kind) == all[b].kind && all[a].operand == all[b].operand) ||
                    (std::string(all[a].kind) == "grad_weight" && std::string(all[b].kind) == "grad_weight");
                if (may_be) {
                    CHECK_NOTHROW(call(*this));
                } else {
                    const std::vector<std::byte> before = bytes;
                    CHECK_THROWS_AS(call(*this), shape_error);
                    CHECK(bytes == before);
                }
                place[a] = a;
            }
        }
    }

 private:
    static constexpr std::size_t room = 1024;
    std::byte* begin() {
        const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
        return bytes.data() + (room - address % room) % room;
    }
};

}  // namespace

TEST_CASE("rotate/memories: no memory of a forward call is written over another one") {
    memories all({{"x", false, 0, "tensor"},
                  {"y", true, 0, "tensor"},
                  {"x's scales", false, 0, "scales"},
                  {"y's scales", true, 0, "scales"},
                  {"weight", false, 0, "weight"},
                  {"x of the second", false, 1, "tensor"},
                  {"y of the second", true, 1, "tensor"},
                  {"x's scales of the second", false, 1, "scales"},
                  {"y's scales of the second", true, 1, "scales"},
                  {"weight of the second", false, 1, "weight"}});
    all.check([](memories& m) {
        const auto codes = [&](std::size_t tensor, std::size_t scales, bool makes_scales) {
            return token_major(
                m.of<std::int8_t>(tensor), shape,
                scaled_bytes<std::int8_t>{.scales = {m.of<float>(scales), 6, 2, 1}, .makes_scales = makes_scales});
        };
        const auto heads = [&](std::size_t first) {
            return from_to(codes(first, first + 2, false), codes(first + 1, first + 3, true))
                .normalized(rms_norm<>{.weight = m.of<const float>(first + 4)});
        };
        rotate_forward<half_split>(exact_angles(four_pairs, three), heads(0), heads(5));
    });
}

TEST_CASE("rotate/memories: no memory of a backward call is written over another one") {
    memories all({{"grad_y", false, 0, "tensor"},
                  {"x", false, 0, "tensor"},
                  {"grad_x", true, 0, "tensor"},
                  {"weight", false, 0, "weight"},
                  {"grad_weight", true, 0, "grad_weight"},
                  {"grad_y of the second", false, 1, "tensor"},
                  {"x of the second", false, 1, "tensor"},
                  {"grad_x of the second", true, 1, "tensor"},
                  {"weight of the second", false, 1, "weight"},
                  {"grad_weight of the second", true, 1, "grad_weight"},
                  {"inv_freq", true, -1, "inv_freq"},
                  {"position_ids", true, -1, "position_ids"},
                  {"attention_factor", true, -1, "attention_factor"}});
    all.check([](memories& m) {
        const auto tensor = [&](std::size_t i) { return token_major(m.of<float>(i), shape); };
        const auto heads = [&](std::size_t first) {
            return grad_through(tensor(first), tensor(first + 1), tensor(first + 2))
                .normalized(rms_norm<>{.weight = m.of<const float>(first + 3)},
                            std::span<double>(m.of<double>(first + 4), 8));
        };
        rotate_backward<half_split>(exact_angles(four_pairs, three),
                                    rotation_gradients{.inv_freq = {m.of<double>(10), 4},
                                                       .position_ids = {m.of<double>(11), 3},
                                                       .attention_factor = {m.of<double>(12), 1}},
                                    heads(0), heads(5));
    });
}

TEST_CASE("rotate/memories: the scales of a cache within which tokens move") {
    std::vector<std::int8_t> codes(8 * 16, 1);
    std::vector<float> scales(8 * 2, 1.0f);
    const auto cache = token_major(codes.data(), {1, 8, 2, 8}, scaled_bytes<std::int8_t>{{scales.data(), 16, 2, 1}});
    const std::vector<std::int32_t> from{4, 5, 6}, to{0, 1, 2};
    CHECK_NOTHROW(rebase<half_split>(exact_angles(four_pairs, three) - exact_angles(four_pairs, three),
                                     from_to(in_slots(cache, from.data(), 1, 3), in_slots(cache, to.data(), 1, 3))));
}

TEST_CASE("rotate/memories: scales of other strides than those of the elements are checked too") {
    std::vector<std::int8_t> codes(48, 1);
    std::vector<float> scales(6, 1.0f);
    const auto with = [&](const scale_table& table, bool makes_scales, const char* text) {
        const auto x =
            token_major(codes.data(), shape, scaled_bytes<std::int8_t>{.scales = table, .makes_scales = makes_scales});
        CHECK_THROWS_WITH_AS(rotate_forward<half_split>(exact_angles(four_pairs, three), in_place(x)), text,
                             shape_error);
    };
    for (const bool makes_scales : {false, true}) {
        with({scales.data() + 5, 0, -2, -1}, makes_scales,
             "rotate_forward: x's scales strides [0, -2, -1, 1] must not be negative");
    }
    with({scales.data(), 0, -(index_t{1} << 40), 0}, false,
         "rotate_forward: x's scales strides [0, -1099511627776, 0, 1] must not be negative");
    with({scales.data(), 0, index_t{1} << 61, 1}, false,
         "rotate_forward: x's scales [1, 3, 2, 1] with strides [0, 2305843009213693952, 1, 1] must span at most 2^58 "
         "elements and 2^62 bytes");
    with({scales.data(), 0, index_t{1} << 61, 1}, true,
         "rotate_forward: x's scales [1, 3, 2, 1] with strides [0, 2305843009213693952, 1, 1] must span at most 2^58 "
         "elements and 2^62 bytes");
}

TEST_CASE("rotate/memories: a view of large elements spans at most 2^62 bytes") {
    std::vector<q8_0_block> blocks(4);
    const std::vector<std::int32_t> slots{0, 1}, ids{0, 1};
    auto cache = token_major(blocks.data(), {2, 2, 1, 32}, q8_0{});
    cache.batch_stride = index_t{1} << 57;  // of 34 bytes
    CHECK_THROWS_WITH_AS(
        rotate_forward<half_split>(exact_angles(four_pairs, ids), in_place(in_slots(cache, slots.data(), 1, 2))),
        "rotate_forward: x [2, 2, 1, 1] with strides [144115188075855872, 1, 1, 1] must span at most "
        "2^58 elements and 2^62 bytes",
        shape_error);
}

TEST_CASE("rotate/memories: weights of a norm that lie in a written tensor, without any other memory") {
    std::vector<float> x(48, 1.0f);
    const rms_norm<> norm{.weight = x.data() + 40};
    CHECK_THROWS_WITH_AS(
        rotate_forward<half_split>(exact_angles(four_pairs, three),
                                   in_place(token_major(x.data(), shape)).normalized(norm)),
        "rotate_forward: rms_norm's weight [1, 1, 1, 8] must not overlap x [1, 3, 2, 8], as one of them is written",
        shape_error);
}

TEST_CASE("rotate/memories: scales of x and y are the same or apart") {
    std::vector<std::int8_t> codes(96, 1);
    std::vector<float> scales(12, 1.0f);
    const auto with = [&](std::size_t tensor, std::size_t first) {
        return token_major(codes.data() + tensor, shape, scaled_bytes<std::int8_t>{{scales.data() + first, 6, 2, 1}});
    };
    const exact_angles angles(four_pairs, three);
    CHECK_NOTHROW(rotate_forward<half_split>(angles, from_to(with(0, 0), with(48, 0))));
    CHECK_NOTHROW(rotate_forward<half_split>(angles, from_to(with(0, 0), with(48, 6))));
    CHECK_THROWS_WITH_AS(rotate_forward<half_split>(angles, from_to(with(0, 0), with(48, 2))),
                         "rotate_forward: y's scales [1, 3, 2, 1] must not overlap x's scales [1, 3, 2, 1], as one of "
                         "them is written",
                         shape_error);
}

TEST_CASE("rotate/memories: gradients of positions and of weights are not added to one span") {
    const heads_shape eight{1, 8, 1, 8};
    const std::vector<std::int32_t> ids(8, 1);
    std::vector<float> g(64, 1.0f), w(8, 1.0f);
    std::vector<double> sums(8);
    const auto heads = token_major(g.data(), eight);
    CHECK_THROWS_WITH_AS(
        rotate_backward<half_split>(exact_angles(four_pairs, ids), rotation_gradients{.position_ids = sums},
                                    grad_through(heads, heads, heads).normalized(rms_norm<>{.weight = w.data()}, sums)),
        "rotate_backward: grad_weight [1, 1, 1, 8] must not overlap grads.position_ids [1, 1, 1, 8], as one of them is "
        "written",
        shape_error);
}
