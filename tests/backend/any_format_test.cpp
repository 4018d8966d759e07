// SPDX-License-Identifier: MIT
#include "cordage/backend/any_format.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "cordage/rotate/operand_checks.hpp"
#include "rotate/dense.hpp"

using namespace cordage;
using namespace cordage_test;
using backend::any_format, backend::any_format_of, backend::as_bytes;

namespace {

constexpr index_t lanes = 128;

template <class T>
bool are_same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Formats of a user that begin with one of the library's have functions of their own.
struct saturating : element_traits<float16> {
    static float16 store(float x) noexcept { return element_traits<float16>::store(x > 60000.0f ? 60000.0f : x); }
};
struct other_blocks : q8_0 {};
struct asymmetric : scaled_bytes<std::int8_t> {};
static_assert(backend::known_format<element_traits<float16>, float16> && !backend::known_format<saturating, float16>);
static_assert(backend::known_format<q8_0, q8_0_block> && !backend::known_format<other_blocks, q8_0_block>);
static_assert(backend::known_format<scaled_bytes<std::int8_t>, std::int8_t> &&
              !backend::known_format<asymmetric, std::int8_t>);

// A head stored, read and copied by a format and by its any_format. make(scales) is the format with these scales.
template <class T, class Scale, class Make>
void check_format(const Make& make) {
    const auto x = random_elements<float>({1, 1, 1, lanes}, 7);
    const head_place at{1, 2, 1};
    std::vector<T> elements(256), same = elements, copy = elements;
    std::vector<Scale> scales(112), same_scales = scales, copied_scales = scales;
    const auto table = [](std::vector<Scale>& of) { return scale_table_of<Scale>{of.data(), 48, 16, 8}; };
    const auto format = make(table(scales));
    const any_format any = any_format_of<T>(make(table(same_scales))),
                     other = any_format_of<T>(make(table(copied_scales)));
    const auto bytes_of = [](auto& of) { return reinterpret_cast<std::uint8_t*>(of.data()); };

    format.template store_head<float>(x.data(), lanes, elements.data(), at);
    any.store_head<float>(x.data(), lanes, bytes_of(same), at);
    CHECK(are_same_bytes(same, elements));
    CHECK(are_same_bytes(same_scales, scales));
    CHECK_FALSE(are_same_bytes(scales, copied_scales));

    std::vector<float> back(lanes), same_back(lanes);
    format.template load_head<float>(elements.data(), at, back.data(), lanes);
    any.load_head<float>(bytes_of(same), at, same_back.data(), lanes);
    CHECK(same_back == back);

    CHECK(other.copy_head(any, bytes_of(same), at, bytes_of(copy), at, lanes));
    CHECK(are_same_bytes(copy, elements));
    CHECK(are_same_bytes(copied_scales, scales));
}

}  // namespace

TEST_CASE("backend/any_format: a head is that of the format itself") {
    using powers = scale_table_of<e8m0>;
    using enum scale_rounding;
    check_format<fp8_e4m3, e8m0>([](const powers& s) { return mxfp8_e4m3{s, 32, up, 4.0f}; });
    check_format<fp8_e4m3, e8m0>([](const powers& s) { return mxfp8_e4m3{s, 32, up}; });
    check_format<fp8_e5m2, e8m0>([](const powers& s) { return mxfp8_e5m2{s, 64, down}; });
    check_format<fp4_e2m1_x2, e8m0>([](const powers& s) { return mxfp4{s, 32, down}; });
    check_format<fp4_e2m1_x2, fp8_e4m3>([](const scale_table_of<fp8_e4m3>& s) { return nvfp4{s, 0.01f}; });
    check_format<std::int8_t, float>([](const scale_table& s) { return scaled_bytes<std::int8_t>{s, 32}; });
    check_format<fp8_e4m3, float>([](const scale_table& s) { return scaled_bytes<fp8_e4m3>{s}; });
    check_format<fp8_e4m3, e8m0>([](const powers& s) { return hadamard<mxfp8_e4m3>{64, {s}}; });
    check_format<fp4_e2m1_x2, e8m0>([](const powers& s) { return lane_groups<mxfp4>{8, 20, {s}}; });
}

TEST_CASE("backend/any_format: heads whose formats differ are not copied") {
    std::vector<std::uint8_t> codes(lanes), copy(lanes, 9), powers(4, 127), small(8, 0x38);
    const auto scales = [](std::vector<std::uint8_t>& of) { return of.data(); };
    const any_format of_powers =
                         any_format_of<fp4_e2m1_x2>(mxfp4{{reinterpret_cast<e8m0*>(scales(powers)), 0, 0, 0}, 16}),
                     of_small =
                         any_format_of<fp4_e2m1_x2>(nvfp4{{reinterpret_cast<fp8_e4m3*>(scales(small)), 0, 0, 0}});
    CHECK_FALSE(of_powers.copy_head(of_small, codes.data(), {}, copy.data(), {}, lanes));
    CHECK_FALSE(of_small.copy_head(of_powers, codes.data(), {}, copy.data(), {}, lanes));
    CHECK(copy == std::vector<std::uint8_t>(lanes, 9));
    CHECK(powers == std::vector<std::uint8_t>(4, 127));
}

TEST_CASE("backend/any_format: the memory of heads is that of the format itself") {
    const auto check = []<class T, class Format>(T element, Format format) {
        const heads_view<T, Format> view{&element, {2, 3, 2, lanes}, 900, 300, 150, {}, format};
        CHECK(heads_memory(as_bytes(view)).head_size == rotate_detail::in_bytes(view).head_size);
    };
    check(fp4_e2m1_x2{}, mxfp4{});
    check(fp8_e4m3{}, mxfp8_e4m3{});
    check(q8_0_block{}, q8_0{});
    check(bfloat16{}, element_traits<bfloat16>{});
}

// What a call checks for overlap, in both forms of a view.
TEST_CASE("backend/any_format: the memory of scales is that of the format itself") {
    const auto check = []<class T, class Scale, class Format>(T element, Scale scale, Format format, index_t size) {
        format.scales = {&scale, 48, 16, 8};
        const heads_view<T, Format> view{&element, {2, 3, 2, lanes}, 900, 300, 150, {}, format};
        for (const heads_memory& found :
             {rotate_detail::scales_of(view).view, rotate_detail::scales_of(as_bytes(view)).view}) {
            CHECK(found.data == &scale);
            CHECK(found.element_size == size);
            CHECK(found.batch_stride == 48);
            CHECK(found.token_stride == 16);
            CHECK(found.head_stride == 8);
            CHECK(found.shape.head_dim == lanes / format.lanes_of_scale);
        }
    };
    check(fp8_e4m3{}, e8m0{}, mxfp8_e4m3{}, 1);
    check(fp4_e2m1_x2{}, fp8_e4m3{}, nvfp4{}, 1);
    check(std::int8_t{}, 1.0f, scaled_bytes<std::int8_t>{{}, 32}, 4);
}
