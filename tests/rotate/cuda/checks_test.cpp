// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <bit>
#include <vector>

#include "backend/cuda/test_device.hpp"
#include "cordage/rotate/cuda/backward.hpp"

using namespace cordage;
using cordage_test::test_device;

namespace {

// q and k of a batch, and a device on which nothing may be launched.
struct device_case {
    basis b{{1.0, 0.5}};
    std::vector<std::uint64_t> words = device_words(b);
    std::vector<std::int32_t> ids{0, 1, 2};
    device_angles<std::int32_t> angles{device_basis(words.data(), 2), position_view<std::int32_t>(ids)};
    std::vector<float> q = std::vector<float>(48), k = std::vector<float>(24);
    heads_view<float> q_view = token_major(q.data(), {1, 3, 2, 8}), k_view = token_major(k.data(), {1, 3, 1, 8});
    mutable std::vector<backend::launch_size> launches{};

    template <class Error, class Angles, class... Operands>
    void check_throws(const char* text, const Angles& a, const Operands&... operands) const {
        CHECK_THROWS_WITH_AS(rotate_forward<half_split>(test_device{&launches}, a, operands...), text, Error);
        CHECK(launches.empty());
    }
};

}  // namespace

// A device that notes whether a launch is of rotation_kernel, and runs nothing. In an unnamed namespace nvcc 13.0 would
// warn of the launch that only a concept names.
template <class Kernel>
constexpr bool is_rotation_kernel = false;
template <class T, int N, pairing Pairing, class Angles>
constexpr bool is_rotation_kernel<backend::rotation_kernel<T, N, Pairing, Angles>> = true;
struct kernels_named {
    std::vector<bool>* are_small;

    index_t processors(const char*) const noexcept { return 132; }
    template <backend::device_kernel Kernel>
    void launch(const char*, const Kernel&, const backend::launch_size&) const {
        are_small->push_back(is_rotation_kernel<Kernel>);
    }
};

TEST_CASE("rotate/cuda/checks: a device rejects what the host rejects, before a launch") {
    const device_case c;
    c.check_throws<shape_error>(
        "rotate_forward: operands [1, 3, 2, 8] and [1, 3, 2, 8] must not overlap where one of them is written",
        c.angles, in_place(c.q_view), in_place(c.q_view));
    c.check_throws<shape_error>("rotate_forward: first_lane 5 must be 0 to head_dim - rotary_dim = 4", c.angles,
                                in_place(c.q_view, 5));
    c.check_throws<shape_error>(
        "rotate_forward: rotary_dim 4 must be <= head_dim 2; it is twice the number of frequencies", c.angles,
        in_place(heads_view<float>{c.q_view.data, {1, 3, 2, 2}, 0, 16, 8}));
    c.check_throws<shape_error>(
        "rotate_forward: angles [1, 3] must be [1 or batch, tokens] of [1, 2, 2, 8], a position for each token",
        c.angles, in_place(heads_view<float>{c.q_view.data, {1, 2, 2, 8}, 0, 16, 8}));
    c.check_throws<shape_error>("rotate_forward: x.data nullptr must point to [1, 3, 2, 8] elements", c.angles,
                                in_place(heads_view<float>{nullptr, {1, 3, 2, 8}, 0, 16, 8}));
    c.check_throws<shape_error>(
        "rotate_forward: [1, 3, 16777217, 8] must have at most 16777216 heads and 16777216 lanes on a device", c.angles,
        in_place(heads_view<float>{c.q_view.data, {1, 3, (1 << 24) + 1, 8}, 0, index_t{1} << 40, 8}));
    heads_view<float> shifted = c.q_view;
    shifted.data += 1;
    shifted.shape.tokens = 2;
    heads_view<float> shorter = c.q_view;
    shorter.shape.tokens = 2;
    const device_angles<std::int32_t> two(device_basis(c.words.data(), 2), {c.ids.data(), 1, 2, 0});
    c.check_throws<shape_error>("rotate_forward: y must be x itself or not overlap it; it overlaps it partly", two,
                                from_to(shorter, shifted));
}

TEST_CASE("rotate/cuda/checks: norms and formats of whole heads that are not right, before a launch") {
    const device_case c;
    const float weight = 1.0f;
    c.check_throws<value_error>("rotate_forward: rms_norm's epsilon -1 must be finite and >= 0", c.angles,
                                in_place(c.q_view).normalized(rms_norm<>{.weight = &weight, .epsilon = -1.0}));
    c.check_throws<shape_error>(
        "rotate_forward: rms_norm's weight [1, 1, 1, 8] must not overlap x [1, 3, 2, 8], as one of them is "
        "written",
        c.angles, in_place(c.q_view).normalized(rms_norm<>{.weight = c.q.data() + 40}));
    std::vector<std::int8_t> codes(24);
    float scale = 1.0f;
    const auto keys = [&](const scaled_bytes<std::int8_t>& format) {
        return from_to(c.k_view, token_major(codes.data(), c.k_view.shape, format));
    };
    c.check_throws<shape_error>("rotate_forward: y's scales.data nullptr must point to the scales", c.angles, keys({}));
    c.check_throws<shape_error>("rotate_forward: y's lanes_of_scale 3 must divide head_dim 8, or be 0", c.angles,
                                keys({{&scale, 0, 0, 0}, 3}));
    c.check_throws<shape_error>(
        "rotate_forward: rms_norm's is_over_all_heads must be false where x or y is in a format of whole heads; "
        "normalize in a separate call first",
        c.angles, keys({{&scale, 0, 0, 0}}).normalized(rms_norm<>{.is_over_all_heads = true}));
    std::vector<q4_0_block> blocks(3);
    c.check_throws<shape_error>(
        "rotate_forward: y's head_dim 8 must be a multiple of 32 and at most 2048 in this format", c.angles,
        from_to(c.k_view, token_major(blocks.data(), c.k_view.shape, q4_0{})));
    const std::vector<float> wide(6168);
    std::vector<float> y(wide.size());
    const heads_shape long_heads{1, 3, 1, 2056};
    const auto of_long_heads = from_to(token_major(wide.data(), long_heads), token_major(y.data(), long_heads));
    c.check_throws<shape_error>(
        "rotate_forward: [1, 3, 1, 2056] must have at most 16777216 heads and 2048 lanes on a device with a norm or in "
        "a format of whole heads",
        c.angles, in_place(c.q_view), of_long_heads.normalized(rms_norm<>{}));
    rotate_forward<half_split>(test_device{&c.launches}, c.angles, of_long_heads);  // valid without norms
    CHECK(c.launches.size() == 1);
}

TEST_CASE("rotate/cuda/checks: bases and positions on a device") {
    device_case c;
    CHECK_THROWS_AS(device_basis(nullptr, 2), shape_error);
    CHECK_THROWS_AS(device_basis(c.words.data(), 0), shape_error);
    // A device would fault, and every later CUDA call of the program would report it.
    CHECK_THROWS_WITH_AS(device_basis(std::bit_cast<const void*>(std::uintptr_t{0x1004}), 2),
                         "device_basis: words 0x1004 must be aligned to 8 bytes", shape_error);
    const device_basis three_bases(c.words.data(), 2, 3);
    CHECK_THROWS_AS((device_angles<std::int32_t>(three_bases, {c.ids.data(), 2, 1, 1})), shape_error);
    CHECK_THROWS_AS((device_angles<std::int32_t>(three_bases, {nullptr, 1, 1, 1})), shape_error);
    CHECK((device_angles<std::int32_t>(three_bases, {c.ids.data(), 1, 3, 0})).batch() == 3);
    CHECK_THROWS_AS(three_bases.of(nullptr, 1, 3), shape_error);
    // An empty tensor's pointer is null. This was refused.
    const device_angles<std::int32_t> no_tokens(three_bases.of(nullptr, 1, 0), {nullptr, 1, 0, 0});
    rotate_forward<half_split>(test_device{&c.launches}, no_tokens, in_place(token_major(c.q.data(), {1, 0, 2, 8})));
    CHECK(c.launches.empty());
    CHECK_THROWS_AS(three_bases.of(c.ids.data(), 0, 3), shape_error);
    const device_basis by_token = three_bases.of(c.ids.data(), 1, 3);
    CHECK((device_angles<std::int32_t>(by_token, {c.ids.data(), 1, 3, 0})).batch() == 1);
    CHECK_THROWS_WITH_AS((device_angles<std::int32_t>(by_token, {c.ids.data(), 1, 2, 0})),
                         "device_angles: the basis of each token [1, 3] must be [1 or batch, tokens] of position_ids "
                         "[1, 2]",
                         shape_error);
}

// Bases of an odd number of words once put the next one at 8 modulo 16; the last operands of a call of two types once
// were a list of several types.
TEST_CASE("rotate/cuda/checks: bases packed in one buffer, and five operands of two types, use the small kernel") {
    std::vector<std::uint64_t> buffer;
    for (const basis& b : {basis({1.0, 0.5}), basis({2.0, 0.25})}) {
        const std::vector<std::uint64_t> words = device_words(b);
        REQUIRE(std::ssize(words) == device_words_size(2));
        CHECK((words.size() == 8 && words[6] == std::bit_cast<std::uint64_t>(1.0) && words[7] == 0));
        buffer.insert(buffer.end(), words.begin(), words.end());
    }
    CHECK(device_words_size(3, 2) == 20);
    const std::vector<std::int32_t> ids{0, 1, 2};
    std::vector<float> x(160);
    std::vector<bfloat16> narrow(32);
    const auto floats = [&](std::size_t i) { return in_place(token_major(x.data() + 32 * i, {1, 3, 1, 8})); };
    for (const index_t skipped : {index_t{0}, device_words_size(2)}) {
        const device_angles<std::int32_t> angles(device_basis(buffer.data() + skipped, 2),
                                                 position_view<std::int32_t>(ids));
        std::vector<bool> are_small;
        rotate_forward<half_split>(kernels_named{&are_small}, angles, floats(0));
        CHECK(are_small == std::vector<bool>{true});
        rotate_forward<half_split>(kernels_named{&are_small}, angles, floats(0), floats(1), floats(2), floats(3),
                                   in_place(token_major(narrow.data(), {1, 3, 1, 8})));
        CHECK(are_small == std::vector<bool>{true, true, true});
    }
}

TEST_CASE("rotate/cuda/checks: the sources of the host on a device_basis lie on the device") {
    const device_case c;
    const device_basis there(c.words.data(), 2);
    const position_view<std::int32_t> ids(c.ids);
    const exact_angles exact(there, ids);
    const axis_angles by_axis(there, std::vector<std::uint8_t>{0, 0}, ids);  // copies the axes
    const summed_axes summed(there, ids);
    static_assert(std::same_as<decltype(exact), const device_angles<std::int32_t>>);
    static_assert(std::same_as<decltype(by_axis), const device_axis_angles<std::int32_t>>);
    static_assert(std::same_as<decltype(summed), const device_summed_axes<std::int32_t>>);
    static_assert(is_device_source<decltype(exact)> && is_device_source<decltype(exact + summed)>);
    static_assert(!is_device_source<decltype(exact_angles(c.b, ids))>);
    CHECK(exact.basis_numbers().fractions == c.words.data());
    CHECK(by_axis.axis(1) == 0);
}

TEST_CASE("rotate/cuda/checks: a sum of axes is invalid if the basis of any axis is") {
    const basis first({1.0, 0.5}), second({0.25, 0.125});
    const basis_list both({&first, &second});
    std::vector<std::uint64_t> words = device_words(both.of_rows());
    const std::vector<std::int32_t> ids{0, 1, 2, 3, 4, 5};
    const device_summed_axes<std::int32_t> summed(device_basis(words.data(), 2, 2), axis_major(ids.data(), 2, 1, 3));
    CHECK(summed.is_valid(0, 1, 0));
    words.back() = ~std::uint64_t{0};  // as launch_basis_words writes it for the second basis
    CHECK_FALSE(summed.is_valid(0, 1, 0));
}

TEST_CASE("rotate/cuda/checks: positions of several axes on a device") {
    const device_case c;
    const device_basis b(c.words.data(), 2);
    const std::vector<std::uint8_t> axes{0, 2}, few{0};
    const auto ids = [&](index_t count) { return axis_major(c.ids.data(), count, 1, 1); };
    using angles = device_axis_angles<std::int32_t>;
    CHECK(angles(b, axes, ids(3)).axes() == 3);
    CHECK_THROWS_WITH_AS(angles(b, axes, ids(2)),
                         "device_axis_angles: axis_of_pair[1] 2 must be below position_ids.axes 2", value_error);
    CHECK_THROWS_WITH_AS(angles(b, few, ids(3)),
                         "device_axis_angles: axis_of_pair has 1 entries, must have rotary_dim/2 = 2", shape_error);
    CHECK_THROWS_WITH_AS(angles(b, axes, ids(9)), "device_axis_angles: position_ids has 9 axes, must have at most 8",
                         shape_error);
    CHECK_THROWS_AS(angles(device_basis(c.words.data(), 257), std::vector<std::uint8_t>(257), ids(3)), shape_error);
    CHECK_THROWS_AS(angles(device_basis(c.words.data(), 2, 3), axes, axis_major(c.ids.data(), 3, 2, 1)), shape_error);
}

TEST_CASE("rotate/cuda/checks: axes that rotate every pair together, and angles of their own, on a device") {
    device_case c;
    const std::vector<std::uint64_t> words(static_cast<std::size_t>(device_words_size(257, 4)));
    const auto ids = [&](index_t count) { return axis_major(c.ids.data(), count, 1, 1); };
    using angles = device_summed_axes<std::int32_t>;
    const device_basis six(words.data(), 2, 6);
    CHECK(angles(six, ids(3)).batch() == 2);  // rows of three axes
    CHECK_THROWS_WITH_AS(angles(device_basis(words.data(), 2, 4), ids(3)),
                         "device_summed_axes: 4 bases must be one for each of 3 axes, or for each row and axis",
                         shape_error);
    CHECK_THROWS_AS(angles(six.of(c.ids.data(), 1, 1), ids(3)), shape_error);
    CHECK_THROWS_WITH_AS(angles(six, ids(6)), "device_summed_axes: position_ids has 6 axes, must have at most 4",
                         shape_error);
    // Sums of rows: of each row and both axes.
    const std::vector<std::int32_t> zeros(6);
    const angles two_axes(device_basis(words.data(), 2, 4), axis_major(zeros.data(), 2, 1, 3));
    CHECK(backward_workspace_size(two_axes, {2, 3, 2, 8}, 7) == 2 * (2 * 2 + 1 + 7));
    const std::vector<float> phi(6);
    const free_angles own(phi.data(), 1, 3, 2);
    std::vector<double> numbers(6), rates(2);
    const auto o = grad_through(c.q_view, c.q_view, c.q_view);
    const auto check_throws = [&]<class Error>(const char* text, Error, const auto&... arguments) {
        CHECK_THROWS_WITH_AS(rotate_backward<half_split>(test_device{&c.launches}, arguments...), text, Error);
        CHECK(c.launches.empty());
    };
    check_throws("rotate_backward: grads.angles has 5 entries, must have batch*tokens*rotary_dim/2 = 6",
                 shape_error(""), own, rotation_gradients{.angles = std::span(numbers).first(5)}, o);
    check_throws(
        "rotate_backward: grads.inv_freq, position_ids and attention_factor must be empty with these angles; on a "
        "device they are for device_angles, device_axis_angles and device_summed_axes",
        value_error(""), own, rotation_gradients{.inv_freq = rates, .angles = numbers}, o);
    const cos_sin_view<float> table{phi.data(), phi.data(), 1, 3, 2};
    check_throws(
        "rotate_backward: grads.angles must be empty with these angles; on a device it is for "
        "device_angles, device_axis_angles, device_summed_axes and free_angles",
        value_error(""), table, rotation_gradients{.angles = numbers}, o.normalized(rms_norm<>{}));
    const angles many_pairs(device_basis(words.data(), 257, 4), axis_major(zeros.data(), 4, 1, 1));
    std::vector<float> wide(514);
    const auto wide_view = token_major(wide.data(), {1, 1, 1, 514});
    rotate_backward<half_split>(test_device{&c.launches}, many_pairs, grad_through(wide_view, wide_view, wide_view));
    CHECK_FALSE(c.launches.empty());
    c.launches.clear();
    rotate_backward<half_split>(test_device{&c.launches}, own, rotation_gradients{.angles = numbers}, o);
    CHECK(c.launches.size() == 1);  // no sums that blocks leave
}

TEST_CASE("rotate/cuda/checks: a table's attention factors lie on the device and are not read on the host") {
    const device_case c;
    const std::vector<float> cos(6), sin(6);
    cos_sin_view<float> table{cos.data(), sin.data(), 1, 3, 2};
    c.check_throws<value_error>("rotate_forward: table's carried_attention_factor 0 must be 2^-60 to 2^60 in magnitude",
                                cos_sin_view<float>{cos.data(), sin.data(), 1, 3, 2, 0.0}, in_place(c.q_view));
    c.check_throws<shape_error>("rotate_forward: table's cos_data and sin_data must point to the table, not nullptr",
                                cos_sin_view<float>{nullptr, sin.data(), 1, 3, 2}, in_place(c.q_view));
    // An address that the host must not read; only the kernel of the inverse reads it.
    table.token_attention_factors = std::bit_cast<const double*>(std::uintptr_t{8});
    CHECK_NOTHROW(rotate_forward<half_split>(test_device{}, table, in_place(c.q_view)));
    CHECK_NOTHROW(rotate_backward<half_split>(test_device{}, table, in_place(c.q_view)));
    c.check_throws<shape_error>(
        "rotate_forward: rotary_dim 4 must be <= head_dim 2; it is twice the number of frequencies", table,
        in_place(heads_view<float>{c.q_view.data, {1, 3, 2, 2}, 0, 16, 8}));
}

TEST_CASE("rotate/cuda/checks: an empty tensor launches nothing") {
    device_case c;
    const device_angles<std::int32_t> none(device_basis(c.words.data(), 2), {c.ids.data(), 1, 0, 0});
    rotate_forward<half_split>(test_device{&c.launches}, none,
                               in_place(heads_view<float>{c.q.data(), {1, 0, 2, 8}, 0, 16, 8}));
    rotate_forward<half_split>(test_device{&c.launches}, c.angles,
                               in_place(heads_view<float>{c.q.data(), {1, 3, 0, 8}, 0, 16, 8}));
    CHECK(c.launches.empty());
}

TEST_CASE("rotate/cuda/checks: a backward pass needs its workspace and gradients of the right size") {
    device_case c;
    std::vector<double> grad(2), workspace(3);
    CHECK(backward_workspace_size(c.angles, c.q_view.shape) == 3);
    CHECK(backward_workspace_size(c.angles, {1, index_t{1} << 20, 2, 8}) == 3 * 264);
    const auto run = [&](rotation_gradients grads, std::span<double> memory) {
        grads.workspace = memory;
        rotate_backward<half_split>(test_device{&c.launches}, c.angles, grads,
                                    grad_through(c.q_view, c.q_view, c.q_view));
    };
    const std::span<double> all(workspace);
    CHECK_THROWS_WITH_AS(run({.inv_freq = grad}, all.first(2)),
                         "rotate_backward: grads.workspace has 2 entries, must have backward_workspace_size = 3",
                         shape_error);
    CHECK_THROWS_AS(run({.inv_freq = all}, all), shape_error);
    CHECK_THROWS_AS(run({.position_ids = grad}, all), shape_error);
    CHECK_THROWS_AS(run({.attention_factor = grad}, all), shape_error);
    CHECK(c.launches.empty());
    run({.position_ids = all}, {});
    CHECK(c.launches.size() == 1);
}

TEST_CASE(
    "rotate/cuda/checks: a norm's backward pass needs workspace for its weights, and invalid arguments launch "
    "nothing") {
    device_case c;
    std::vector<double> grad_weight(8), numbers(2), workspace(11);
    const std::vector<float> weight(8, 1.0f);
    const rms_norm<> norm{.weight = weight.data()};
    const auto o = grad_through(c.q_view, c.q_view, c.q_view);
    const auto of_k = grad_through(c.k_view, c.k_view, c.k_view);
    const auto check_throws = [&]<class Error>(const char* text, Error, const auto&... arguments) {
        CHECK_THROWS_WITH_AS(rotate_backward<half_split>(test_device{&c.launches}, arguments...), text, Error);
        CHECK(c.launches.empty());
    };
    CHECK(backward_workspace_size(c.angles, c.q_view.shape, 8) == 11);
    const std::span<double> all(workspace);
    check_throws("rotate_backward: grads.workspace has 10 entries, must have backward_workspace_size = 11",
                 shape_error(""), c.angles, rotation_gradients{.workspace = all.first(10)}, of_k,
                 o.normalized(norm, grad_weight));
    check_throws("rotate_backward: grads.workspace has 0 entries, must have backward_workspace_size = 11",
                 shape_error(""), c.angles, o.normalized(norm, grad_weight));
    check_throws("rotate_backward: grad_weight has 2 entries, must have head_dim = 8", shape_error(""), c.angles,
                 rotation_gradients{.workspace = all}, o.normalized(norm, numbers));
    const std::vector<float> cos(6), sin(6);
    const cos_sin_view<float> table{cos.data(), sin.data(), 1, 3, 2};
    for (const rotation_gradients& grads :
         {rotation_gradients{.inv_freq = numbers}, rotation_gradients{.position_ids = all.first(3)},
          rotation_gradients{.attention_factor = all.first(1)}}) {
        check_throws(
            "rotate_backward: grads.inv_freq, position_ids and attention_factor must be empty with these angles; on a "
            "device they are for device_angles, device_axis_angles and device_summed_axes",
            value_error(""), table, grads, o.normalized(norm));
    }
    std::vector<float> wide(6168), wide_grad(6168);
    const heads_shape long_heads{1, 3, 1, 2056};
    const auto of_long_heads = grad_through(token_major(wide.data(), long_heads), token_major(wide.data(), long_heads),
                                            token_major(wide_grad.data(), long_heads));
    check_throws(
        "rotate_backward: [1, 3, 1, 2056] must have at most 16777216 heads and 2048 lanes on a device with a norm or "
        "in a format of whole heads",
        shape_error(""), c.angles, of_long_heads.normalized(rms_norm<>{}));
    const heads_view<float> no_heads{nullptr, {1, 3, 0, 8}, 0, 16, 8};
    rotate_backward<half_split>(test_device{&c.launches}, c.angles, rotation_gradients{.workspace = all},
                                grad_through(no_heads, no_heads, no_heads).normalized(norm, grad_weight));
    CHECK(c.launches.empty());
    rotate_backward<half_split>(test_device{&c.launches}, c.angles, of_long_heads);  // valid without a norm
    rotate_backward<half_split>(test_device{&c.launches}, c.angles, rotation_gradients{.workspace = all},
                                o.normalized(norm, grad_weight));
    CHECK(c.launches.size() == 3);
}
