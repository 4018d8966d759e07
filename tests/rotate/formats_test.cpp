// SPDX-License-Identifier: MIT
// Formats of a user, operands that change type, and operands of several types in one call.
#include "cordage/rotate/backward.hpp"
#include "rotate/formats_of_a_user.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

constexpr heads_shape shape{1, 3, 2, 46};  // lanes 3 to 40 are rotated: 19 pairs
constexpr index_t rotary_dim = 38, first_lane = 3;
const basis model(frequencies(rotary_dim), 0.75);
const std::vector<std::int32_t> positions{0, 5, 70'001};
const exact_angles angles(model, positions);

std::vector<std::int8_t> random_bytes(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::int8_t> all;
    for (index_t i = 0; i < count(shape); ++i)
        all.push_back(static_cast<std::int8_t>(static_cast<int>(random() % 191) - 95));
    return all;
}
heads_view<std::int8_t, mine::scaled_int8> int8_view(std::vector<std::int8_t>& data, float scale = 0.02f) {
    return with_format(heads_view<std::int8_t, mine::scaled_int8>{data.data(), shape, 3 * 92, 92, 46, {}, {1.0f}},
                       mine::scaled_int8{scale});
}
template <class T>
heads_view<T> view_of(std::vector<T>& data) {
    return token_major(data.data(), shape);
}

// Numbers of any format, and as many rounded to another.
template <class T, class Format>
std::vector<double> values_by(const heads_view<T, Format>& v) {
    std::vector<double> all;
    for (index_t i = 0; i < count(shape); ++i) all.push_back(static_cast<double>(v.format.load(v.data[i])));
    return all;
}
bool is_rotated(std::size_t i) {
    const index_t lane = static_cast<index_t>(i) % shape.head_dim - first_lane;
    return lane >= 0 && lane < rotary_dim;
}

/// The rotation of these numbers in long double; other lanes are unchanged.
template <class Pairing>
std::vector<double> rotated(const std::vector<double>& x) {
    const heads_shape inner{1, 3, 2, rotary_dim};
    std::vector<double> only;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (is_rotated(i)) only.push_back(x[i]);
    }
    const auto y =
        naive_rotation(inner, frequencies(rotary_dim), 0.75, positions, is_interleaved<Pairing>).rotated(only);
    std::vector<double> all = x;
    for (std::size_t i = 0, j = 0; i < x.size(); ++i) {
        if (is_rotated(i)) all[i] = y[j++];
    }
    return all;
}

/// Checks that `found` is `exact` stored in its format: the nearest element to a number within float's rounding of it.
template <class T, class Format>
void check_stored(const heads_view<T, Format>& found, const std::vector<double>& exact) {
    std::size_t wrong = 0, inexact = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const auto stored_as = [&](double x) { return found.format.load(found.format.store(static_cast<float>(x))); };
        const double room = is_rotated(i) ? 2e-6 : 0.0;
        const float number = found.format.load(found.data[i]);
        if (!(number >= stored_as(exact[i] - room) && number <= stored_as(exact[i] + room))) ++wrong;
        if (static_cast<double>(found.format.load(found.data[i])) != exact[i]) ++inexact;
    }
    CHECK(wrong == 0);
    CHECK(inexact > 0);  // something was rounded
}

}  // namespace

TEST_CASE("rotate/formats: an fp8 of one's own, in place and to another tensor") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto before = random_elements<mine::e4m3>(shape, 1);
        auto x = before, y = std::vector<mine::e4m3>(before.size()), from = before;
        const auto exact = rotated<Pairing>(values(before));
        rotate_forward<Pairing, Backend>(angles, in_place(view_of(x), first_lane));
        rotate_forward<Pairing, Backend>(angles, from_to(view_of(from), view_of(y), first_lane));
        check_stored(view_of(x), exact);
        CHECK(same_bits(x, y));
        CHECK(same_bits(from, before));
    });
}

TEST_CASE("rotate/formats: int8 with a scale, in place, and to another scale, whose unrotated lanes are converted") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        auto x = random_bytes(2), in_its_place = x, coarser = std::vector<std::int8_t>(x.size());
        const auto exact = rotated<Pairing>(values_by(int8_view(x)));
        rotate_forward<Pairing, Backend>(angles, in_place(int8_view(in_its_place), first_lane));
        check_stored(int8_view(in_its_place), exact);
        rotate_forward<Pairing, Backend>(angles, from_to(int8_view(x), int8_view(coarser, 0.03f), first_lane));
        check_stored(int8_view(coarser, 0.03f), exact);
        // In place with two scales, every lane is read and stored again.
        rotate_forward<Pairing, Backend>(angles, from_to(int8_view(x), int8_view(x, 0.03f), first_lane));
        CHECK(same_bits(x, coarser));
    });
}

TEST_CASE("rotate/formats: elements wider than their compute type, made by name only") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape one{1, 3, 2, 64};
        std::vector<mine::fixed20> x, y(static_cast<std::size_t>(count(one)), mine::fixed20(0));
        std::vector<float> plain, plain_y(y.size());
        for (std::int64_t i = 0; i < count(one); ++i) {
            x.emplace_back(i * 7919 % 2'000'000 - 1'000'000);
            plain.push_back(element_traits<mine::fixed20>::load(x.back()));
        }
        rotate_forward<Pairing, Backend>(angles,
                                         from_to(token_major(plain.data(), one), token_major(plain_y.data(), one)));
        rotate_forward<Pairing, Backend>(angles, from_to(token_major(x.data(), one), token_major(y.data(), one)));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            if (std::fabs(element_traits<mine::fixed20>::load(y[i]) - plain_y[i]) > 2e-6f) ++wrong;
        }
        CHECK(wrong == 0);
    });
}

TEST_CASE("rotate/formats: rounded between by a format of one's own over float") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto x = random_elements<float>(shape, 21);
        const rms_norm<> norm{.is_rounded_between = true};
        auto source = x, between = x;
        std::vector<float16> once(x.size()), twice(x.size());
        const auto from = with_format(view_of(source), mine::short_float{});
        const auto middle = with_format(view_of(between), mine::short_float{});
        rotate_forward<Pairing, Backend>(angles, from_to(from, view_of(once), first_lane).normalized(norm));
        rotate_forward<Pairing, Backend>(angles, from_to(from, middle).normalized(norm).unrotated());
        rotate_forward<Pairing, Backend>(angles, from_to(middle, view_of(twice), first_lane));
        std::size_t differ = 0;  // but for the last bit of a few
        for (std::size_t i = 0; i < once.size(); ++i) differ += once[i].bits != twice[i].bits;
        CHECK(differ <= once.size() / 50);
    });
}

TEST_CASE("rotate/formats: a norm and a rotation, rounded between as x is stored, not as y") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto x = random_bytes(4);
        const auto weights = random_elements<float>({1, 1, 1, shape.head_dim}, 6);
        for (const bool is_after : {false, true}) {
            const rms_norm<float> norm{
                .weight = weights.data(), .is_after_rotation = is_after, .is_rounded_between = true};
            auto source = x, between = x, once = x, twice = x;
            const auto from = int8_view(source), middle = int8_view(between);
            rotate_forward<Pairing, Backend>(angles,
                                             from_to(from, int8_view(once, 0.05f), first_lane).normalized(norm));
            const auto last = from_to(middle, int8_view(twice, 0.05f), first_lane);
            if (is_after) {
                rotate_forward<Pairing, Backend>(angles, from_to(from, middle, first_lane));
                rotate_forward<Pairing, Backend>(angles, last.normalized(norm).unrotated());
            } else {
                rotate_forward<Pairing, Backend>(angles, from_to(from, middle).normalized(norm).unrotated());
                rotate_forward<Pairing, Backend>(angles, last);
            }
            CHECK(once == twice);
        }
    });
}

TEST_CASE("rotate/formats: from one type to another, and back") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        auto wide = random_elements<float>(shape, 3);
        auto narrow = random_elements<bfloat16>(shape, 4);
        std::vector<bfloat16> to_narrow(wide.size());
        std::vector<float> to_wide(wide.size());
        std::vector<float16> to_half(wide.size());
        std::vector<std::int8_t> to_int8(wide.size());
        rotate_forward<Pairing, Backend>(angles, from_to(view_of(wide), view_of(to_narrow), first_lane));
        check_stored(view_of(to_narrow), rotated<Pairing>(values(wide)));
        rotate_forward<Pairing, Backend>(angles, from_to(view_of(narrow), view_of(to_wide), first_lane));
        const auto exact = rotated<Pairing>(values(narrow));
        for (std::size_t i = 0; i < exact.size(); ++i) {
            REQUIRE(std::fabs(value(to_wide[i]) - exact[i]) <= (is_rotated(i) ? 2e-6 : 0.0));
        }
        rotate_forward<Pairing, Backend>(angles, from_to(view_of(narrow), view_of(to_half), first_lane));
        check_stored(view_of(to_half), exact);
        rotate_forward<Pairing, Backend>(angles, from_to(view_of(wide), int8_view(to_int8, 0.05f), first_lane));
        check_stored(int8_view(to_int8, 0.05f), rotated<Pairing>(values(wide)));
        // A wider element over the memory of a narrower one is not the same view.
        const auto over_itself = token_major(reinterpret_cast<bfloat16*>(wide.data()), shape);
        CHECK_THROWS_AS((rotate_forward<Pairing, Backend>(angles, from_to(view_of(wide), over_itself))), shape_error);
    });
}

TEST_CASE("rotate/formats: operands of several types in one call have the results of separate calls") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto run = [](bool together) {
            auto q = random_elements<float>(shape, 5);
            auto k = random_elements<bfloat16>(shape, 6);
            auto v = random_elements<float>(shape, 7);
            std::vector<std::int8_t> cache(v.size());
            const auto for_q = in_place(view_of(q));
            const auto for_k = in_place(view_of(k), first_lane);
            const auto for_v = from_to(view_of(v), int8_view(cache, 0.05f), index_t{8});
            if (together) {
                rotate_forward<Pairing, Backend>(angles, for_q, for_k, for_v);
                rotate_inverse<Pairing, Backend>(angles, for_k, for_q);
                rotate_backward<Pairing, Backend>(angles, for_q, for_k);
            } else {
                rotate_forward<Pairing, Backend>(angles, for_q);
                rotate_forward<Pairing, Backend>(angles, for_k);
                rotate_forward<Pairing, Backend>(angles, for_v);
                rotate_inverse<Pairing, Backend>(angles, for_k);
                rotate_inverse<Pairing, Backend>(angles, for_q);
                rotate_backward<Pairing, Backend>(angles, for_q);
                rotate_backward<Pairing, Backend>(angles, for_k);
            }
            std::vector<double> all = values(q);
            for (const double x : values(k)) all.push_back(x);
            for (const std::int8_t x : cache) all.push_back(static_cast<double>(x));
            return all;
        };
        const auto one = run(true), other = run(false);
        std::size_t differ = 0;
        for (std::size_t i = 0; i < one.size(); ++i) {  // each kernel may contract other products
            differ += std::fabs(one[i] - other[i]) > 2e-6;
        }
        CHECK(differ <= 1);  // if a last bit of float decides a tie
    });
}

TEST_CASE("rotate/formats: gradients of operands of several types add up") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        auto g = random_elements<float>(shape, 8), y = random_elements<float>(shape, 9);
        auto g16 = random_elements<bfloat16>(shape, 10), y16 = random_elements<bfloat16>(shape, 11);
        auto g8 = random_bytes(12), y8 = random_bytes(13);
        std::vector<float> gx(g.size()), gx_alone(g.size());
        std::vector<bfloat16> gx16(g.size()), gx16_alone(g.size());
        std::vector<std::int8_t> gx8(g.size()), gx8_alone(g.size());
        std::vector<double> together(19 + 3 + 1), apart(together);
        const auto grads = [](std::vector<double>& all) {
            return rotation_gradients{.inv_freq = std::span(all).first(19),
                                      .position_ids = std::span(all).subspan(19, 3),
                                      .attention_factor = std::span(all).last(1)};
        };
        rotate_backward<Pairing, Backend>(
            angles, grads(together), grad_through(view_of(g), view_of(y), view_of(gx), first_lane),
            grad_through(view_of(g16), view_of(y16), view_of(gx16)),
            grad_through(int8_view(g8), int8_view(y8, 0.01f), int8_view(gx8), first_lane));
        rotate_backward<Pairing, Backend>(angles, grads(apart),
                                          grad_through(view_of(g), view_of(y), view_of(gx_alone), first_lane));
        rotate_backward<Pairing, Backend>(angles, grads(apart),
                                          grad_through(view_of(g16), view_of(y16), view_of(gx16_alone)));
        rotate_backward<Pairing, Backend>(
            angles, grads(apart), grad_through(int8_view(g8), int8_view(y8, 0.01f), int8_view(gx8_alone), first_lane));
        CHECK(nearly_same(gx, gx_alone));
        CHECK(nearly_same(gx16, gx16_alone));
        for (std::size_t i = 0; i < gx8.size(); ++i) CHECK(std::abs(gx8[i] - gx8_alone[i]) <= 1);
        for (std::size_t i = 0; i < apart.size(); ++i) {
            const double size = i < 19 ? 1e5 * 50.0 : 50.0;  // of positions, or of frequencies
            CHECK(std::fabs(together[i] - apart[i]) <= gradient_sum<float> * size);
        }
        CHECK(apart[0] != 0.0);
    });
}

// Sums and differences of float and of double must not meet in one call.
TEST_CASE("rotate/formats: whether x and y are one view is a matter of places and of formats") {
    auto x = random_bytes(14);
    CHECK(in_place(int8_view(x)).is_in_place());
    CHECK(from_to(int8_view(x), int8_view(x)).is_in_place());
    CHECK_FALSE(from_to(int8_view(x), int8_view(x, 0.5f)).is_in_place());
    auto other = x;
    CHECK_FALSE(from_to(int8_view(x), int8_view(other)).is_in_place());
}
