// SPDX-License-Identifier: MIT
#include "cordage/rotate/checks.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "cordage/angles/axis_angles.hpp"
#include "cordage/basis/basis_list.hpp"
#include "cordage/core/threads.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "cordage/rotate/forward.hpp"
#include "cordage/tensors/group_formats.hpp"
#include "cordage/tensors/lane_groups.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

using view = heads_view<float>;
const basis four_pairs({1.0, 0.5, 0.25, 0.125});
const std::vector<std::int32_t> three{0, 1, 2};

// Two buffers, and calls that must throw without changing either.
struct bench {
    heads_shape shape{1, 3, 2, 8};
    std::vector<float> a = random_elements<float>({1, 1, 40, 10}, 50), b = random_elements<float>({1, 1, 40, 10}, 51);
    std::vector<float> a_before = a, b_before = b;
    exact_angles<std::int32_t> angles{four_pairs, three};

    view in_a() { return token_major(a.data(), shape); }
    view in_b() { return token_major(b.data(), shape); }

    template <class Error = shape_error, class Call>
    void refuses(const char* text, const Call& call) {
        CAPTURE(text);
        try {
            call();
            FAIL_CHECK("nothing was thrown");
        } catch (const Error& error) {
            const std::string found = error.what();
            CAPTURE(found);
            CHECK(found.find(text) != std::string::npos);
        }
        CHECK(same_bits(a, a_before));
        CHECK(same_bits(b, b_before));
    }
};

view with(view v, auto view::*field, auto value) {
    v.*field = value;
    return v;
}
view with_shape(view v, const heads_shape& shape) { return with(v, &view::shape, shape); }

}  // namespace

TEST_CASE("rotate/checks: more rotated lanes than a head has") {
    bench t;
    const heads_shape small{1, 3, 2, 6};
    t.refuses("rotate_forward: rotary_dim 8 must be <= head_dim 6",
              [&] { rotate_forward<half_split>(t.angles, in_place(token_major(t.a.data(), small))); });
    t.refuses("rotate_inverse: rotary_dim 8 must be <= head_dim 6",
              [&] { rotate_inverse<interleaved>(t.angles, in_place(token_major(t.a.data(), small))); });
}

TEST_CASE("rotate/checks: shapes that disagree") {
    bench t;
    t.refuses("rotate_forward: y [1, 3, 1, 8] must have the shape of x, [1, 3, 2, 8]", [&] {
        rotate_forward<half_split>(t.angles, from_to(t.in_a(), with_shape(t.in_b(), {1, 3, 1, 8})));
    });
    t.refuses("rotate_forward: angles [1, 3] must be [1 or batch, tokens] of [1, 2, 2, 8]", [&] {
        rotate_forward<half_split>(t.angles, in_place(with_shape(t.in_a(), {1, 2, 2, 8})));
    });
    t.refuses("rotate_forward: angles [2, 3] must be [1 or batch, tokens] of [1, 3, 2, 8]", [&] {
        const std::vector<std::int32_t> six(6);
        rotate_forward<half_split>(exact_angles(four_pairs, position_view<std::int32_t>(six.data(), 2, 3, 3)),
                                   in_place(t.in_a()));
    });
    t.refuses("rotate_forward: angles [2, 3] must be [1 or batch, tokens] of [3, 3, 1, 8]", [&] {
        const std::vector<std::int32_t> six(6);
        rotate_forward<half_split>(exact_angles(four_pairs, position_view<std::int32_t>(six.data(), 2, 3, 3)),
                                   in_place(token_major(t.a.data(), {3, 3, 1, 8})));
    });
    t.refuses("must have the same batch and tokens", [&] {
        rotate_forward<half_split>(t.angles, in_place(t.in_a()), in_place(with_shape(t.in_b(), {2, 3, 1, 8})));
    });
    t.refuses(
        "rotate_forward: x [1, 3, 2, -8] must be [batch, tokens, heads, head_dim] with head_dim >= 2 and no negative "
        "size",
        [&] {
            rotate_forward<half_split>(t.angles, in_place(with_shape(t.in_a(), {1, 3, 2, -8})));
        });
    t.refuses(
        "rotate_forward: x [1, -3, 2, 8] must be [batch, tokens, heads, head_dim] with head_dim >= 2 and no negative "
        "size",
        [&] {
            rotate_forward<half_split>(t.angles, in_place(with_shape(t.in_a(), {1, -3, 2, 8})));
        });
}

TEST_CASE("rotate/checks: null data, negative strides, and outputs that overlap themselves") {
    bench t;
    t.refuses("rotate_forward: x.data nullptr must point to [1, 3, 2, 8] elements",
              [&] { rotate_forward<half_split>(t.angles, from_to(token_major<float>(nullptr, t.shape), t.in_b())); });
    t.refuses("rotate_forward: y.data nullptr must point to [1, 3, 2, 8] elements",
              [&] { rotate_forward<half_split>(t.angles, from_to(t.in_a(), token_major<float>(nullptr, t.shape))); });
    t.refuses("rotate_forward: x strides [48, -16, 8, 1] must not be negative", [&] {
        rotate_forward<half_split>(t.angles, in_place(with(t.in_a(), &view::token_stride, index_t{-16})));
    });
    for (const auto stride : {&view::batch_stride, &view::head_stride}) {
        t.refuses("must not be negative",
                  [&] { rotate_forward<half_split>(t.angles, in_place(with(t.in_a(), stride, index_t{-64}))); });
    }
    t.refuses("rotate_forward: y [1, 3, 2, 8] with strides [48, 16, 0, 1] must not overlap itself", [&] {
        rotate_forward<half_split>(t.angles, from_to(t.in_a(), with(t.in_b(), &view::head_stride, index_t{0})));
    });
    t.refuses("must not overlap itself", [&] {
        rotate_forward<half_split>(t.angles, in_place(with(t.in_a(), &view::token_stride, index_t{15})));
    });
}

TEST_CASE("rotate/checks: outputs that overlap an input partly") {
    bench t;
    view shifted = t.in_a();
    ++shifted.data;
    t.refuses("rotate_forward: y must be x itself or not overlap it; it overlaps it partly",
              [&] { rotate_forward<half_split>(t.angles, from_to(t.in_a(), shifted)); });
    // Once, two layouts of one buffer were taken for the same view, and x was overwritten before it was read.
    t.refuses("overlaps it partly",
              [&] { rotate_forward<half_split>(t.angles, from_to(t.in_a(), head_major(t.a.data(), t.shape))); });
    t.refuses("rotate_forward: operands [1, 3, 2, 8] and [1, 3, 2, 8] must not overlap where one of them is written",
              [&] { rotate_forward<half_split>(t.angles, in_place(t.in_a()), in_place(t.in_a())); });
    t.refuses("must not overlap where one of them is written",
              [&] { rotate_forward<half_split>(t.angles, from_to(t.in_a(), t.in_b()), in_place(t.in_a())); });
    t.refuses("must not overlap where one of them is written",
              [&] { rotate_forward<half_split>(t.angles, in_place(t.in_a()), from_to(shifted, t.in_b())); });
}

TEST_CASE("rotate/checks: one input may serve two outputs") {
    bench t;
    std::vector<float> first(48), second(48);
    rotate_forward<half_split>(t.angles, from_to(t.in_a(), token_major(first.data(), t.shape)),
                               from_to(t.in_a(), token_major(second.data(), t.shape)));
    CHECK(same_bits(first, second));
}

TEST_CASE("rotate/checks: the backward pass, views and sizes of gradients") {
    bench t;
    std::vector<float> y(48);
    std::vector<double> grads(4, 1.5);
    const view of_y = token_major(y.data(), t.shape);
    view shifted = t.in_a();
    ++shifted.data;
    t.refuses("rotate_backward: grads.inv_freq has 3 entries, must have rotary_dim/2 = 4", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = std::span(grads).first(3)},
                                    grad_through(t.in_a(), of_y, t.in_b()));
    });
    t.refuses("rotate_backward: grads.position_ids has 4 entries, must have batch*tokens = 3", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.position_ids = grads},
                                    grad_through(t.in_a(), of_y, t.in_b()));
    });
    t.refuses("rotate_backward: y [1, 3, 2, 6] must have the shape of grad_y, [1, 3, 2, 8]", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(t.in_a(), with_shape(of_y, {1, 3, 2, 6}), t.in_b()));
    });
    t.refuses("rotate_backward: grad_x must be grad_y itself or not overlap it", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(t.in_a(), of_y, shifted));
    });
    t.refuses("rotate_backward: grad_x must be y itself or not overlap it", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(of_y, t.in_a(), shifted));
    });
    t.refuses("rotate_backward: grad_x.data nullptr", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(t.in_a(), of_y, token_major<float>(nullptr, t.shape)));
    });
    t.refuses("must not overlap where one of them is written", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(t.in_a(), of_y, t.in_a()), grad_through(t.in_b(), t.in_a(), t.in_b()));
    });
    t.refuses("must not overlap where one of them is written", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads}, grad_through(of_y, t.in_a(), of_y),
                                    grad_through(t.in_b(), t.in_b(), t.in_a()));
    });
    t.refuses("must not overlap where one of them is written", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(t.in_a(), of_y, t.in_a()), grad_through(t.in_a(), of_y, t.in_b()));
    });
    t.refuses("must not overlap where one of them is written", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(t.in_a(), of_y, t.in_b()), grad_through(of_y, of_y, t.in_b()));
    });
    t.refuses("must not overlap where one of them is written", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads}, grad_through(t.in_a(), of_y, of_y),
                                    grad_through(t.in_b(), t.in_b(), t.in_a()));
    });
    t.refuses("rotate_backward: grad_x [1, 3, 1, 8] must have the shape of grad_y, [1, 3, 2, 8]", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(t.in_a(), of_y, with_shape(t.in_b(), {1, 3, 1, 8})));
    });
    t.refuses("rotate_backward: grad_x [1, 3, 2, 8] with strides [48, 0, 8, 1] must not overlap itself", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(t.in_a(), of_y, with(t.in_b(), &view::token_stride, index_t{0})));
    });
    t.refuses("rotate_backward: grad_y.data nullptr", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(token_major<float>(nullptr, t.shape), of_y, t.in_b()));
    });
    t.refuses("rotate_backward: y.data nullptr", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.inv_freq = grads},
                                    grad_through(t.in_a(), token_major<float>(nullptr, t.shape), t.in_b()));
    });
    CHECK(grads == std::vector<double>(4, 1.5));
    CHECK(same_bits(y, std::vector<float>(48)));
}

TEST_CASE("rotate/checks: gradients of a size that forgets the bases") {
    bench t;
    std::vector<float> y(48);
    std::vector<double> two(2, 1.5), eight(8, 1.5);
    const view of_y = token_major(y.data(), t.shape);
    t.refuses("rotate_backward: grads.attention_factor has 2 entries, must have bases = 1", [&] {
        rotate_backward<half_split>(t.angles, rotation_gradients{.attention_factor = two},
                                    grad_through(t.in_a(), of_y, t.in_b()));
    });
    const basis_list list({&four_pairs, &four_pairs, &four_pairs});
    const std::vector<std::int32_t> of_token{0, 2, 1};
    const exact_angles<std::int32_t> by_token(list.of(of_token), three);
    t.refuses("rotate_backward: grads.attention_factor has 2 entries, must have bases = 3", [&] {
        rotate_backward<half_split>(by_token, rotation_gradients{.attention_factor = two},
                                    grad_through(t.in_a(), of_y, t.in_b()));
    });
    t.refuses("rotate_backward: grads.inv_freq has 8 entries, must have bases*rotary_dim/2 = 12", [&] {
        rotate_backward<half_split>(by_token, rotation_gradients{.inv_freq = eight},
                                    grad_through(t.in_a(), of_y, t.in_b()));
    });
    CHECK(two == std::vector<double>(2, 1.5));
}

TEST_CASE("rotate/checks: an invalid basis index is rejected") {
    const basis_list list({&four_pairs, &four_pairs});
    for (const std::int32_t wrong : {2, -1}) {
        bench t;
        const std::vector<std::int32_t> of_token{0, 1, wrong};
        const exact_angles<std::int32_t> angles(list.of(of_token), three);
        const std::string text = "basis index of token [0, 2] " + std::to_string(wrong) + " must be 0 to 1";
        t.refuses<value_error>(("rotate_forward: " + text).c_str(),
                               [&] { rotate_forward<half_split>(angles, in_place(t.in_a())); });
        t.refuses<value_error>(("rebase: " + text).c_str(), [&] {
            const auto& same = angles;
            rebase<half_split>(angles - same, in_place(t.in_a()));
        });
        t.refuses<value_error>(("cos_sin_table: " + text).c_str(), [&] { cos_sin_table<float>{angles}; });
        t.refuses<value_error>(("rotate_backward: " + text).c_str(), [&] {
            rotate_backward<half_split>(angles, rotation_gradients{}, grad_through(t.in_a(), t.in_b(), t.in_a()));
        });
    }
}

TEST_CASE("rotate/checks: a table that a host has filled in wrongly") {
    bench t;
    const std::vector<float> numbers(12, 0.5f);
    const cos_sin_view<float> good{numbers.data(), numbers.data(), 1, 3, 4, 1.0};
    const auto rotate = [&](const cos_sin_view<float>& table) {
        return [&t, table] { rotate_forward<half_split>(table, in_place(t.in_a())); };
    };
    auto bad = good;
    bad.sin_data = nullptr;
    t.refuses("rotate_forward: table's cos_data and sin_data must point to the table, not nullptr", rotate(bad));
    bad = good;
    bad.pair_count = -1;
    t.refuses("rotate_forward: table [1, 3, -1] must have rows >= 1, tokens >= 0 and pairs >= 1", rotate(bad));
    bad.pair_count = 0;
    t.refuses("rotate_forward: table [1, 3, 0] must have rows >= 1, tokens >= 0 and pairs >= 1", rotate(bad));
    bad = good;
    bad.rows = 0;
    t.refuses("rows >= 1", rotate(bad));
    bad = good;
    bad.carried_attention_factor = 0.0;
    t.refuses<value_error>("carried_attention_factor 0 must be 2^-60 to 2^60 in magnitude", rotate(bad));
    bad.carried_attention_factor = std::numeric_limits<double>::quiet_NaN();
    t.refuses<value_error>("carried_attention_factor nan must be 2^-60 to 2^60 in magnitude", rotate(bad));
    const std::vector<double> factors{1.0, 0.0, 1.0};
    bad = good;
    bad.token_attention_factors = factors.data();
    t.refuses<value_error>("rotate_forward: table's token_attention_factors[1] 0 must be 2^-60 to 2^60 in magnitude",
                           rotate(bad));
    bad = good;
    bad.rows = bad.token_count = index_t{1} << 40;
    t.refuses("rotate_forward: table [1099511627776, 1099511627776, 4] must have at most 2^58 entries", rotate(bad));
    CHECK_NOTHROW(rotate(good)());
}

TEST_CASE("rotate/checks: no hands to do the work") {
    bench t;
    t.refuses<value_error>("executor: concurrency 0 must be >= 1",
                           [&] { rotate_forward<half_split>(threads{0}, t.angles, in_place(t.in_a())); });
}

// Once their products overflowed index_t, so that the checks themselves failed.
TEST_CASE("rotate/checks: sizes and strides that no memory holds") {
    bench t;
    constexpr index_t huge = index_t{1} << 62;
    const auto rotate = [&](const view& x) { return [&t, x] { rotate_forward<half_split>(t.angles, in_place(x)); }; };
    t.refuses(
        "rotate_forward: x [1, 3, 2, 8] with strides [48, 4611686018427387904, 8, 1] must span at most 2^58 elements",
        rotate(with(t.in_a(), &view::token_stride, huge)));
    for (index_t heads_shape::*size : {&heads_shape::batch, &heads_shape::tokens, &heads_shape::heads}) {
        heads_shape wide = t.shape;
        wide.*size = huge;
        t.refuses("must span at most 2^58 elements", rotate(with_shape(t.in_a(), wide)));
        t.refuses("must span at most 2^58 elements", rotate(token_major(t.a.data(), wide)));
        t.refuses("must span at most 2^58 elements", rotate(head_major(t.a.data(), wide)));
        wide.heads = size == &heads_shape::heads ? huge : 0;  // empty, but its tokens overflow
        wide.batch = wide.tokens = huge;
        t.refuses("must span at most 2^58 elements", rotate(with_shape(t.in_a(), wide)));
    }
    CHECK_NOTHROW(rotate(with(t.in_a(), &view::batch_stride, huge))());  // the stride of an axis of size 1 is not used
}

// Once, addresses were computed with these strides and overflowed.
TEST_CASE_TEMPLATE("rotate/checks: strides of axes of size 1 mean nothing, also where long calls prefetch", Backend,
                   backend::scalar, backend::fastest) {
    constexpr index_t largest = std::numeric_limits<index_t>::max();
    const basis many_pairs(std::vector<double>(32, 0.5));
    const rms_norm<> norm{.epsilon = 1e-5};
    for (const heads_shape& shape : {heads_shape{1, 4096, 1, 70}, heads_shape{1, 1, 4096, 70}}) {
        const std::vector<std::int32_t> ids(static_cast<std::size_t>(shape.tokens), 1);
        const exact_angles<std::int32_t> angles(many_pairs, ids);
        const auto x = random_elements<float>(shape, 52);
        const auto turn = [&](bool has_largest_strides) {
            std::vector<std::vector<float>> y(4, x);
            const auto of = [&](std::vector<float>& elements) {
                view v = token_major(elements.data(), shape);
                if (!has_largest_strides) return v;
                v.batch_stride = largest;
                (shape.tokens == 1 ? v.token_stride : v.head_stride) = largest;
                return v;
            };
            rotate_forward<half_split, Backend>(angles, in_place(of(y[0])));
            rotate_forward<half_split, Backend>(angles, in_place(of(y[1])).normalized(norm));
            rotate_backward<half_split, Backend>(angles, rotation_gradients{},
                                                 grad_through(of(y[2]), of(y[0]), of(y[2])));
            rotate_backward<half_split, Backend>(angles, rotation_gradients{},
                                                 grad_through(of(y[3]), of(y[1]), of(y[3])).normalized(norm));
            return y;
        };
        const auto usual = turn(false), largest_strides = turn(true);
        for (std::size_t i = 0; i < usual.size(); ++i) CHECK(same_bits(usual[i], largest_strides[i]));
    }
}

TEST_CASE("rotate/checks: the stride of a single head of groups means nothing, also where lanes have scales") {
    constexpr index_t largest = std::numeric_limits<index_t>::max();
    const heads_shape shape{1, 3, 1, 8};
    const exact_angles<std::int32_t> angles(four_pairs, three);
    const auto x = random_elements<float>(shape, 53);
    std::vector<std::int8_t> codes(24), other_codes(24);
    std::vector<float> scales(3), other_scales(3);
    const auto into = [&](std::vector<std::int8_t>& to, std::vector<float>& scales_of_to, index_t stride) {
        const scaled_bytes<std::int8_t> format{.scales = {scales_of_to.data(), stride, 1, stride}};
        heads_view<std::int8_t, lane_groups<scaled_bytes<std::int8_t>>> y = group_major(to.data(), shape, 8, format);
        y.token_stride = 8;
        if (stride == largest) y.batch_stride = y.head_stride = largest;
        rotate_forward<half_split>(angles, from_to(token_major(x.data(), shape), y));
    };
    into(codes, scales, 1);
    into(other_codes, other_scales, largest);
    CHECK(codes == other_codes);
    CHECK(same_bits(scales, other_scales));
}

TEST_CASE("rotate/checks: a tensor without heads is done at once, however many tokens it has") {
    const heads_shape nobody{index_t{1} << 40, 3, 0, 8};
    const exact_angles<std::int32_t> angles(four_pairs, three);
    const view x{nullptr, nobody, 24, 8, 8};
    CHECK_NOTHROW(rotate_forward<half_split>(angles, in_place(x)));
    CHECK_NOTHROW(rotate_backward<half_split>(angles, rotation_gradients{}, grad_through(x, x, x)));
    // Other operands are rotated with it, in any order.
    const heads_shape shape{1, 3, 2, 8};
    constexpr index_t largest = std::numeric_limits<index_t>::max();
    const view none{nullptr, {1, 3, 0, 8}, largest, 8, largest};
    const auto before = random_elements<float>(shape, 3);
    auto alone = before, first = before, last = before;
    const auto of = [&](std::vector<float>& all) { return in_place(token_major(all.data(), shape)); };
    rotate_forward<half_split>(angles, of(alone));
    rotate_forward<half_split>(angles, of(first), in_place(none));
    rotate_forward<half_split>(angles, in_place(none), of(last));
    CHECK(same_bits(first, alone));
    CHECK(same_bits(last, alone));
    CHECK_FALSE(same_bits(alone, before));
}

TEST_CASE("rotate/checks: invalid positions, NaN or beyond 64 bits, are rejected") {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double bad : {nan, std::numeric_limits<double>::infinity(), -0x1p63, 1e300}) {
        CAPTURE(bad);
        bench t;
        const std::vector<double> ids{0.0, bad, 2.0};
        const std::vector<float> in_float(ids.begin(), ids.end());
        const exact_angles<double> exact(four_pairs, ids);
        const float32_angles<double> common(four_pairs, ids);
        const std::vector<std::uint8_t> axes(4, 0);
        const axis_angles<double> on_axes(four_pairs, axes, axis_major(ids.data(), 1, 1, 3));
        const basis_list list({&four_pairs, &four_pairs});
        const std::vector<std::int32_t> of_token{0, 1, 1};
        const exact_angles<double> by_token(list.of(of_token), ids);
        const auto refused = [&](const char* text, const auto& angles) {
            t.refuses<value_error>(text, [&] { rotate_forward<half_split>(angles, in_place(t.in_a())); });
            t.refuses<value_error>(text, [&] { cos_sin_table<float>{angles}; });
        };
        refused("position_ids[0, 1]", exact);
        refused("must be finite and below 2^63 in magnitude", exact_angles<float>(four_pairs, in_float));
        refused("position_ids[0, 1]", common);
        refused("position_ids[0, 1]", on_axes);
        refused("position_ids[0, 1]", by_token);
        refused("position_ids[0, 1]", exact - common);
        refused("position_ids[0, 1]", exact_angles(four_pairs, three) - exact);
        t.refuses<value_error>("rebase: position_ids[0, 1]", [&] {
            const auto& same = exact;
            rebase<half_split>(exact - same, in_place(t.in_a()));
        });
        t.refuses<value_error>("rotate_backward: position_ids[0, 1]", [&] {
            rotate_backward<half_split>(exact, rotation_gradients{}, grad_through(t.in_a(), t.in_b(), t.in_a()));
        });
    }
}

TEST_CASE("rotate/checks: the farthest positions are positions") {
    bench t;
    const std::vector<std::int64_t> whole{0, std::numeric_limits<std::int64_t>::min(),
                                          std::numeric_limits<std::int64_t>::max()};
    CHECK_NOTHROW(rotate_forward<half_split>(exact_angles(four_pairs, whole), in_place(t.in_a())));
    const std::vector<double> real{0.0, -0x1.fffffffffffffp62, 1e-320};
    CHECK_NOTHROW(rotate_forward<half_split>(exact_angles(four_pairs, real), in_place(t.in_a())));
    const basis fast({4.0, 1.0, 1.0, 1.0});
    t.b = t.a, t.a_before = t.a, t.b_before = t.b;
    t.refuses<value_error>(
        "rotate_forward: position_ids[0, 1] -9.223372036854776e+18 must be such that its angles are at "
        "most 2^62",
        [&] { rotate_forward<half_split>(float32_angles(fast, whole), in_place(t.in_a())); });
}
