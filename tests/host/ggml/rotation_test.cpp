// SPDX-License-Identifier: MIT
#include "cordage/host/ggml/rotation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "host/ggml/fake_tensor.hpp"

using namespace cordage;
namespace gg = cordage::ggml;

namespace {

/// x rotated by angle(token, pair) in double; pairs are (pair, pair + offset), or (2 pair, 2 pair + 1) for offset 1.
template <class Angle>
std::vector<double> expected(const std::vector<float>& x, index_t tokens, index_t heads, index_t head_dim,
                             index_t pairs, index_t offset, double factor, const Angle& angle) {
    std::vector<double> y(x.begin(), x.end());
    for (index_t token = 0; token < tokens; ++token) {
        for (index_t head = 0; head < heads; ++head) {
            for (index_t pair = 0; pair < pairs; ++pair) {
                const auto first =
                    static_cast<std::size_t>((token * heads + head) * head_dim + (offset == 1 ? 2 * pair : pair));
                const std::size_t second = first + static_cast<std::size_t>(offset);
                const double a = angle(token, pair), x0 = static_cast<double>(x[first]),
                             x1 = static_cast<double>(x[second]);
                y[first] = factor * (x0 * std::cos(a) - x1 * std::sin(a));
                y[second] = factor * (x0 * std::sin(a) + x1 * std::cos(a));
            }
        }
    }
    return y;
}

double worst(const std::vector<float>& found, const std::vector<double>& wanted) {
    double most = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        most = std::fmax(most, std::fabs(static_cast<double>(found[i]) - wanted[i]));
    }
    return most;
}

/// Runs an operation as a graph would, in nth slices.
std::vector<float> computed(const gg::rotation& rotation, const std::vector<float>& from, fake_tensor x,
                            std::vector<std::int32_t>& ids, int nth) {
    std::vector<float> in = from, out(from.size());
    x.data = in.data();
    fake_tensor positions = dense(ids, static_cast<std::int64_t>(ids.size()));
    fake_tensor dst = x;
    dst.data = out.data();
    dst.src[0] = &x;
    dst.src[1] = &positions;
    void (*const op)(fake_tensor*, int, int, void*) = gg::rotate<fake_tensor>;
    for (int ith = 0; ith < nth; ++ith) op(&dst, ith, nth, const_cast<gg::rotation*>(&rotation));
    CHECK(in == from);
    return out;
}

}  // namespace

TEST_CASE("host/ggml/rotation: ne and nb are a view, permuted tensors too") {
    std::vector<float> x(std::size_t{2} * 3 * 4 * 8);
    fake_tensor t = dense(x, 8, 4, 3, 2);
    CHECK(gg::view<float>(t) == token_major(x.data(), {.batch = 2, .tokens = 3, .heads = 4, .head_dim = 8}));
    std::swap(t.ne[1], t.ne[2]);
    std::swap(t.nb[1], t.nb[2]);
    CHECK(gg::view<float>(t) == head_major(x.data(), {.batch = 2, .tokens = 4, .heads = 3, .head_dim = 8}));
}

TEST_CASE("host/ggml/rotation: a custom operation does what ggml_rope_ext documents, in any number of slices") {
    const std::vector<float> x = drawn(std::size_t{5} * 3 * 12), factors{1.0f, 2.0f, 0.5f, 4.0f};
    std::vector<std::int32_t> ids{0, 1, 900, 70000, -3};
    const auto angle = [&](index_t token, index_t pair) {
        return ids[static_cast<std::size_t>(token)] * std::pow(10000.0, -2.0 * static_cast<double>(pair) / 8) * 0.25 /
               static_cast<double>(factors[static_cast<std::size_t>(pair)]);
    };
    std::vector<float> copy = x;
    const fake_tensor t = dense(copy, 12, 3, 5);
    for (const int mode : {gg::normal, gg::neox}) {
        const gg::rotation rotation(
            gg::rope_arguments{.n_dims = 8, .mode = mode, .freq_scale = 0.25f, .attn_factor = 1.5f}, factors);
        const auto wanted = expected(x, 5, 3, 12, 4, mode == gg::normal ? 1 : 4, 1.5, angle);
        for (const int nth : {1, 2, 3, 8}) CHECK(worst(computed(rotation, x, t, ids, nth), wanted) < 1e-6);
    }
}

TEST_CASE("host/ggml/rotation: any basis takes the place of the arguments") {
    const basis b({1.0, 0.3, 0.02, 1e-4}, 1.25);
    const std::vector<float> x = drawn(std::size_t{4} * 2 * 8);
    std::vector<std::int32_t> ids{3, 4, 5, 6};
    std::vector<float> copy = x;
    const auto angle = [&](index_t token, index_t pair) {
        return ids[static_cast<std::size_t>(token)] * b.inv_freq()[static_cast<std::size_t>(pair)];
    };
    const auto out = computed(gg::rotation(b, gg::neox), x, dense(copy, 8, 2, 4), ids, 2);
    CHECK(worst(out, expected(x, 4, 2, 8, 4, 4, 1.25, angle)) < 1e-6);
}

TEST_CASE("host/ggml/rotation: in place, mapped, in 16 bits and in double") {
    const gg::rotation rotation(basis({1.0, 0.1, 0.01, 0.001}), gg::neox);
    std::vector<std::int32_t> ids{10, 20, 30};
    fake_tensor positions = dense(ids, 3);
    const auto run = [&]<class T>(T) {
        std::vector<T> x = drawn<T>(std::size_t{3} * 2 * 8), alone = x;
        fake_tensor t = dense(x, 8, 2, 3);
        rotation.check(t, positions, t);
        void (*const op)(fake_tensor*, const fake_tensor*, const fake_tensor*, int, int, void*) =
            gg::rotate<fake_tensor>;
        for (int ith = 0; ith < 2; ++ith) op(&t, &t, &positions, ith, 2, const_cast<gg::rotation*>(&rotation));
        rotate_forward<half_split>(exact_angles(rotation.basis(), ids),
                                   in_place(token_major(alone.data(), {1, 3, 2, 8})));
        for (std::size_t i = 0; i < x.size(); ++i) {
            CHECK(element_traits<T>::load(x[i]) == element_traits<T>::load(alone[i]));
        }
    };
    run(float{});
    run(float16{});
    run(bfloat16{});
    run(double{});
}

TEST_CASE("host/ggml/rope_arguments: M-RoPE's sections choose among four positions as ggml does") {
    using bytes = std::vector<std::uint8_t>;
    const auto axes = [](int mode, std::array<int, 4> sections) {
        return gg::axes_of_pairs({.n_dims = 16, .mode = mode, .sections = sections});
    };
    CHECK(axes(gg::mrope, {4, 2, 2, 0}) == bytes{0, 0, 0, 0, 1, 1, 2, 2});
    CHECK(axes(gg::mrope, {1, 1, 1, 1}) == bytes{0, 1, 2, 3, 0, 1, 2, 3});
    CHECK(axes(gg::imrope, {4, 2, 2, 0}) == bytes{0, 1, 2, 0, 1, 2, 0, 3});
    CHECK(axes(gg::vision, {4, 4, 4, 4}) == bytes{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});

    const std::vector<float> x = drawn(std::size_t{3} * 2 * 16);
    std::vector<std::int32_t> ids{0, 1, 2, 10, 11, 12, 200, 201, 202, 7, 7, 7};  // [4, tokens]
    std::vector<float> copy = x;
    for (const int mode : {gg::mrope, gg::imrope}) {
        const gg::rope_arguments a{.n_dims = 16, .mode = mode, .sections = {4, 2, 2, 0}};
        const auto axis = gg::axes_of_pairs(a);
        const auto angle = [&](index_t token, index_t pair) {
            const auto p = static_cast<std::size_t>(pair);
            return ids[std::size_t{3} * axis[p] + static_cast<std::size_t>(token)] *
                   std::pow(10000.0, -static_cast<double>(p) / 8);
        };
        const auto out = computed(gg::rotation(a), x, dense(copy, 16, 2, 3), ids, 2);
        CHECK(worst(out, expected(x, 3, 2, 16, 8, 8, 1.0, angle)) < 1e-6);
    }
}

TEST_CASE(
    "host/ggml/rope_arguments: a vision encoder's frequencies start anew in each section and rotate the whole head") {
    const gg::rope_arguments a{.n_dims = 8, .mode = gg::vision, .sections = {4, 4, 4, 4}};
    const basis b = gg::make_basis(a);
    REQUIRE(b.rotary_dim() == 16);
    for (std::size_t pair = 0; pair < 8; ++pair) {
        CHECK(b.inv_freq()[pair] == doctest::Approx(std::pow(10000.0, -2.0 * static_cast<double>(pair % 4) / 8)));
    }
}

TEST_CASE("host/ggml/rope_arguments: YaRN keeps fast pairs and stretches the rest") {
    const gg::rope_arguments a{.n_dims = 128,
                               .n_ctx_orig = 4096,
                               .freq_scale = 0.25f,
                               .ext_factor = 1.0f,
                               .beta_fast = 32.0f,
                               .beta_slow = 1.0f};
    const basis b = gg::make_basis(a), plain = gg::make_basis({.n_dims = 128});
    CHECK(b.inv_freq()[0] == plain.inv_freq()[0]);
    CHECK(b.inv_freq()[63] == doctest::Approx(0.25 * plain.inv_freq()[63]));
    const double stretched = (32.0 - 20.0) / (46.0 - 20.0);  // ggml_rope_yarn_corr_dims gives pairs 20 and 46
    CHECK(b.inv_freq()[32] == doctest::Approx(plain.inv_freq()[32] * (0.25 * stretched + 1.0 - stretched)));
    CHECK(b.attention_factor() == doctest::Approx(1.0 + 0.1 * std::log(4.0)));
}

TEST_CASE("host/ggml/rotation: every invalid argument gives one error that names it") {
    std::vector<float> x = drawn(std::size_t{3} * 2 * 8);
    std::vector<std::int32_t> ids{1, 2, 3};
    const fake_tensor t = dense(x, 8, 2, 3), positions = dense(ids, 3);
    const gg::rotation rotation(basis({1.0, 0.1}), gg::neox);
    const auto with = [&](const char* text, const auto& change) {
        fake_tensor q = t, p = positions;
        change(q, p);
        check_refused(text, [&] { rotation.check(q, p, q); });
    };
    rotation.check(t, positions, t);
    with("ggml: x of type Q8_0 must be F32, F16, BF16 or F64", [](fake_tensor& q, auto&) { q.type = 8; });
    with("ggml: x of type GGML_TYPE 12 must be F32, F16, BF16 or F64", [](fake_tensor& q, auto&) { q.type = 12; });
    with("ggml: x.nb[0] 8 must be 4, the size of an element", [](fake_tensor& q, auto&) { q.nb[0] = 8; });
    with("ggml: x.nb[2] 63 must be a multiple of 4, the size of an element",
         [](fake_tensor& q, auto&) { q.nb[2] = 63; });
    with("ggml: x.ne[1] -2 must not be negative", [](fake_tensor& q, auto&) { q.ne[1] = -2; });
    // Once its offsets, and products of sizes, overflowed.
    with("ggml: x [8, 2, 4611686018427387904, 1] with nb [4, 32, 64, 192] must span at most 2^58 elements",
         [](fake_tensor& q, auto&) { q.ne[2] = index_t{1} << 62; });
    with("ggml: x [8, 2, 3, 1] with nb [4, 32, 9223372036854775808, 192] must span at most 2^58 elements",
         [](fake_tensor& q, auto&) { q.nb[2] = std::size_t{1} << 63; });
    with("ggml: rotary_dim 4 must be <= x.ne[0] 2", [](fake_tensor& q, auto&) { q.ne[0] = 2; });
    with("ggml: position_ids of type F32 must be I32", [](auto&, fake_tensor& p) { p.type = 0; });
    with("ggml: position_ids [2, 1, 1, 1] must be [3, 1, 1, 1]", [](auto&, fake_tensor& p) { p.ne[0] = 2; });
    with("ggml: position_ids [3, 2, 1, 1] must be [3, 1, 1, 1]", [](auto&, fake_tensor& p) { p.ne[1] = 2; });

    check_refused("ggml::rotation: mode 8 must be 0 or 2, or axis_of_pair must be given",
                  [] { gg::rotation(basis({1.0}), gg::mrope); });
    check_refused("axis_angles: axis_of_pair[0] 4 must be below position_ids.axes 4",
                  [] { gg::rotation(basis({1.0}), std::vector<std::uint8_t>{4}); });
    const auto arguments = [](const char* text, const gg::rope_arguments& a, std::span<const float> factors = {}) {
        check_refused(text, [&] { gg::rotation(a, factors); });
    };
    const std::vector<float> two(2, 1.0f);
    arguments("ggml::rope_arguments: n_dims 7 must be even, >= 2 and <= 1048576", {.n_dims = 7});
    arguments("ggml::rope_arguments: n_dims 2147483646 must be even, >= 2 and <= 1048576", {.n_dims = 2147483646});
    arguments("ggml::rope_arguments: mode 1 must be 0, 2, 8, 24 or 40", {.n_dims = 8, .mode = 1});
    arguments("ggml::rope_arguments: freq_base 1 and freq_scale 1 must be finite, freq_base > 1 and freq_scale > 0",
              {.n_dims = 8, .freq_base = 1.0f});
    arguments(
        "ggml::rope_arguments: n_ctx_orig 0, beta_fast 0 and beta_slow 0 must be n_ctx_orig >= 1 and beta_fast >= "
        "beta_slow > 0, as ext_factor is not 0",
        {.n_dims = 8, .ext_factor = 1.0f});
    arguments("ggml::rope_arguments: freq_factors has 2 entries, must have one for each of 4 pairs", {.n_dims = 8},
              two);
    const std::vector<float> zero{1.0f, 0.0f};  // once the error named an inv_freq that was not an argument
    arguments("ggml::rope_arguments: freq_factors[1] 0 must be finite and not 0", {.n_dims = 4}, zero);
    arguments("ggml::rope_arguments: ext_factor inf and attn_factor 1 must be finite, and attn_factor not 0",
              {.n_dims = 4, .n_ctx_orig = 1, .ext_factor = HUGE_VALF, .beta_fast = 2.0f, .beta_slow = 1.0f});
    arguments("ggml::rope_arguments: ext_factor 0 and attn_factor 0 must be finite, and attn_factor not 0",
              {.n_dims = 4, .attn_factor = 0.0f});
    // Once half as many were accepted, and read past their end.
    arguments("ggml::rope_arguments: freq_factors has 2 entries, must have one for each of 4 pairs",
              {.n_dims = 4, .mode = gg::vision, .sections = {2, 2, 0, 0}}, two);
    arguments("ggml::rope_arguments: sections {0, 0, 0, 0} must be 0 to n_dims 8 and not all 0",
              {.n_dims = 8, .mode = gg::mrope});
    // Once their sum, and three times one of them, overflowed.
    arguments("ggml::rope_arguments: sections {2147483647, 1, 0, 0} must be 0 to n_dims 8 and not all 0",
              {.n_dims = 8, .mode = gg::mrope, .sections = {2147483647, 1, 0, 0}});
    arguments("ggml::rope_arguments: sections {1073741824, 0, 0, 0} must be 0 to n_dims 8 and not all 0",
              {.n_dims = 8, .mode = gg::imrope, .sections = {1073741824, 0, 0, 0}});
    // Once their sum overflowed in modes that do not read them.
    const std::array<int, 4> huge{2147483647, 2147483647, -1, 3};
    CHECK(std::ranges::equal(gg::make_basis({.n_dims = 8, .sections = huge}).inv_freq(),
                             gg::make_basis({.n_dims = 8}).inv_freq()));
    check_refused("ggml::axes_of_pairs: mode 2 must be 8, 24 or 40", [] { gg::axes_of_pairs({.n_dims = 8}); });
}

TEST_CASE("host/ggml/rotation: a tensor without data is named in every slice") {
    std::vector<float> x = drawn(std::size_t{3} * 2 * 8);
    std::vector<std::int32_t> ids{1, 2, 3};
    fake_tensor t = dense(x, 8, 2, 3), positions = dense(ids, 3), dst = t;
    const gg::rotation rotation(basis({1.0, 0.1}), gg::neox);
    const auto without = [&](const char* text, fake_tensor& one) {
        void* const data = std::exchange(one.data, nullptr);
        for (const int ith : {0, 1}) {  // slices after the first offset the null pointer
            check_refused(text, [&] { rotation.run(t, positions, dst, ith, 2); });
        }
        one.data = data;
    };
    without("ggml: x.data nullptr must point to its elements", t);
    without("ggml: position_ids.data nullptr must point to its elements", positions);
    without("ggml: dst.data nullptr must point to its elements", dst);
}

// Once its sizes were replaced by those of x: a short dst was written past its end, and so was a larger type.
TEST_CASE("host/ggml/rotation: a dst that does not fit x is refused in every slice before anything is written") {
    std::vector<float> x = drawn(std::size_t{3} * 2 * 8), y(x.size(), 7.0f);
    std::vector<std::int32_t> ids{1, 2, 3};
    const fake_tensor t = dense(x, 8, 2, 3), positions = dense(ids, 3);
    const gg::rotation rotation(basis({1.0, 0.1}), gg::neox);
    const auto with = [&](const char* text, const auto& change) {
        fake_tensor q = t, p = positions, dst = dense(y, 8, 2, 3);
        change(dst);
        for (const int ith : {0, 1, 2}) {
            check_refused(text, [&] { rotation.run(q, p, dst, ith, 3); });
        }
        dst.src[0] = &q, dst.src[1] = &p;
        check_refused(text, [&] { rotation.check(dst); });
        CHECK(y == std::vector<float>(x.size(), 7.0f));
    };
    with("ggml: dst [8, 2, 2, 1] must have the sizes of x, [8, 2, 3, 1]", [](fake_tensor& dst) { dst.ne[2] = 2; });
    with("ggml: dst [8, 1, 3, 1] must have the sizes of x, [8, 2, 3, 1]", [](fake_tensor& dst) { dst.ne[1] = 1; });
    with("ggml: dst [4, 2, 3, 1] must have the sizes of x, [8, 2, 3, 1]", [](fake_tensor& dst) { dst.ne[0] = 4; });
    with("ggml: dst [8, 2, 3, 2] must have the sizes of x, [8, 2, 3, 1]", [](fake_tensor& dst) { dst.ne[3] = 2; });
    with("ggml: dst of type F16 must be F32", [](fake_tensor& dst) { dst.type = 1; });
    with("ggml: dst of type Q8_0 must be F32", [](fake_tensor& dst) { dst.type = 8; });
    with("ggml: dst.nb[0] 8 must be 4, the size of an element", [](fake_tensor& dst) { dst.nb[0] = 8; });
    with("ggml: dst.nb[1] 33 must be a multiple of 4, the size of an element",
         [](fake_tensor& dst) { dst.nb[1] = 33; });
    with("ggml: dst [8, 2, 3, 1] with nb [4, 32, 32, 192] must not overlap itself",
         [](fake_tensor& dst) { dst.nb[2] = 32; });
    // Slices of x and dst did not overlap, but one wrote what the next one reads.
    with("ggml: dst must be x itself or not overlap it; it overlaps it partly",
         [&](fake_tensor& dst) { dst.data = x.data() + 16; });
    CHECK_THROWS_AS(
        [&] {
            fake_tensor shifted = t;
            shifted.data = reinterpret_cast<char*>(x.data()) + 2;
            rotation.run(shifted, positions, shifted, 0, 1);
        }(),
        value_error);
}

TEST_CASE("host/ggml/rotation: a node without its sources and an invalid slice are named") {
    std::vector<float> x = drawn(std::size_t{3} * 2 * 8);
    std::vector<std::int32_t> ids{1, 2, 3};
    fake_tensor t = dense(x, 8, 2, 3), positions = dense(ids, 3), node = t;
    const gg::rotation rotation(basis({1.0, 0.1}), gg::neox);
    check_refused("ggml: dst.src[0] nullptr must be x", [&] { rotation.check(node); });
    node.src[0] = &t;
    check_refused("ggml: dst.src[1] nullptr must be position_ids", [&] { rotation.check(node); });
    node.src[1] = &positions;
    node.data = t.data = positions.data = nullptr;  // as when the graph is built
    rotation.check(node);
    check_refused("ggml: ith 2 must be 0 to nth - 1 = 1", [&] { rotation.run(t, positions, node, 2, 2); });
    check_refused("ggml: ith -1 must be 0 to nth - 1 = 1", [&] { rotation.run(t, positions, node, -1, 2); });
    check_refused("ggml: ith 0 must be 0 to nth - 1 = -1", [&] { rotation.run(t, positions, node, 0, 0); });
    t.ne[1] = node.ne[1] = 0;
    rotation.run(t, positions, node, 0, 1);  // no heads: nothing to read
}

TEST_CASE("host/ggml/rotation: keys go into rows of a cache with the bits of a rotation and a copy, in every type") {
    constexpr index_t tokens = 7, heads = 2, head_dim = 64, cells = 12;
    std::vector<std::int64_t> rows{2, 11, 3, 4, 0, 5, 9};
    std::vector<float> raw = drawn(std::size_t{tokens * heads * head_dim});
    for (const int mode : {gg::normal, gg::neox, gg::mrope}) {
        const gg::rotation rotation(
            gg::rope_arguments{.n_dims = 48, .mode = mode, .attn_factor = 1.25f, .sections = {8, 8, 8, 0}});
        std::vector<std::int32_t> ids(static_cast<std::size_t>(gg::has_axes(mode) ? 4 * tokens : tokens));
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i * 1000);
        const fake_tensor x = dense(raw, head_dim, heads, tokens), at = dense(rows, tokens),
                          position_ids = dense(ids, static_cast<std::int64_t>(ids.size()));
        std::vector<float> rotated = raw;
        const fake_tensor y = dense(rotated, head_dim, heads, tokens);
        rotation.run(y, position_ids, y, 0, 1);
        const auto run = [&]<class T>(T) {
            using format = gg::format_of<T>;
            std::vector<T> wanted(static_cast<std::size_t>(cells * heads * elements_of_head<format>(head_dim)));
            std::memset(static_cast<void*>(wanted.data()), 0x55, wanted.size() * sizeof(T));
            const std::vector<T> before = wanted;
            const auto all = token_major(wanted.data(), {1, cells, heads, head_dim}, format{});
            const std::vector<std::int32_t> none(tokens);
            rotate_forward<half_split>(exact_angles(rotation.basis(), none),
                                       from_to(token_major(std::as_const(rotated).data(), {1, tokens, heads, head_dim}),
                                               in_slots(all, rows.data(), 1, tokens))
                                           .unrotated());
            for (const int nth : {1, 2, 9}) {
                std::vector<T> found = before;
                const fake_tensor cache = dense(found, head_dim * heads, cells);
                for (int ith = 0; ith < nth; ++ith) rotation.run_into_rows(x, position_ids, at, cache, ith, nth);
                const bool is_same = std::memcmp(found.data(), wanted.data(), found.size() * sizeof(T)) == 0;
                CHECK(is_same);
            }
        };
        run(0.0f), run(float16{}), run(bfloat16{}), run(q8_0_block{}), run(q4_0_block{});
    }
}

TEST_CASE("host/ggml/rotation: what does not fit a cache gets one error that names it, and nothing is written") {
    std::vector<float> raw = drawn(std::size_t{3} * 4 * 32), cache = drawn(std::size_t{5} * 64);
    const std::vector<float> before = cache;
    std::vector<std::int32_t> ids{0, 1, 2};
    std::vector<std::int64_t> rows{0, 4, 1};
    const gg::rotation rotation(gg::rope_arguments{.n_dims = 32});
    const auto with = [&](const char* text, const auto& change) {
        fake_tensor x = dense(raw, 32, 2, 3), position_ids = dense(ids, 3), at = dense(rows, 3),
                    to = dense(cache, 64, 5);
        change(x, position_ids, at, to);
        check_refused(text, [&] { rotation.run_into_rows(x, position_ids, at, to, 0, 1); });
        CHECK(cache == before);
    };
    using t = fake_tensor&;
    with("ggml: x of type F16 must be F32", [](t x, t, t, t) { x.type = 1; });
    with("ggml: x [32, 2, 3, 2] must be [32, 2, 3, 1]", [](t x, t, t, t) { x.ne[3] = 2; });
    with("ggml: position_ids [2, 1, 1, 1] must be [3, 1, 1, 1]", [](t, t positions, t, t) { positions.ne[0] = 2; });
    with("ggml: rows of type I32 must be I64", [](t, t, t at, t) { at.type = 26; });
    with("ggml: rows [3, 2, 1, 1] must be [3, 1, 1, 1]", [](t, t, t at, t) { at.ne[1] = 2; });
    with("ggml: cache [32, 5, 1, 1] must be [64, 5, 1, 1]", [](t, t, t, t to) { to.ne[0] = 32; });
    with("ggml: cache [64, 5, 2, 1] must be [64, 5, 1, 1]", [](t, t, t, t to) { to.ne[2] = 2; });
    with("ggml: cache of type F64 must be F32, F16, BF16, Q8_0 or Q4_0", [](t, t, t, t to) { to.type = 28; });
    with("ggml: rows.data nullptr must point to its elements", [](t, t, t at, t) { at.data = nullptr; });
    with("rotate_forward: rotary_dim 32 must be <= head_dim 16; it is twice the number of frequencies",
         [](t x, t, t, t) { x.ne[0] = 16, x.ne[1] = 4; });
    rows[1] = 5;
    with("ggml: rows[1] 5 must be 0 to cache.ne[1] - 1 = 4", [](t, t, t, t) {});
    // Once, a token of a negative row was not stored.
    rows[1] = -5;
    with("ggml: rows[1] -5 must be 0 to cache.ne[1] - 1 = 4", [](t, t, t, t) {});
    rows = {0, 1, -1};
    const fake_tensor x = dense(raw, 32, 2, 3), position_ids = dense(ids, 3), at = dense(rows, 3),
                      to = dense(cache, 64, 5);
    check_refused("ggml: rows[2] -1 must be 0 to cache.ne[1] - 1 = 4",
                  [&] { rotation.run_into_rows(x, position_ids, at, to, 1, 2); });
    CHECK(cache == before);
    rotation.run_into_rows(x, position_ids, at, to, 0, 2);  // each slice checks its own tokens
    CHECK(cache != before);
}
